// One tweet as a card: who, what, why it is here, and what one can do with it. Buttons answer at once and are put back if the
// API refuses; clicks that come while a request is under way end with what was wanted last.

import { call, placeOf } from "./api.js";
import { composer } from "./compose.js";
import { avatar, badge, complain, h, httpsUrl, icon, number, say, tell, when } from "./dom.js";
import { session } from "./session.js";

let made = 0;

const VIA = {
  pushed: "delivered to your list when it was posted",
  pulled: "read from the celebrity’s feed when you loaded this page",
  backfilled: "came with your follow",
  rebuilt: "your list was made anew from the tables",
  deep: "read from the tables, below what the cache keeps",
  reposted: "somebody whom you follow reposted it",
  activity: "people whom you follow did something with it",
};

/** A button that is on or off, and asks the API for what it shows. */
export function toggle({ on, paint, change, done }) {
  let has = on;
  let wants = on;
  let busy = false;
  const button = h("button", { type: "button" });
  const show = () => {
    button.setAttribute("aria-pressed", String(wants));
    paint(button, wants);
  };
  button.addEventListener("click", async () => {
    wants = !wants;
    show();
    if (busy) return;
    busy = true;
    try {
      while (has !== wants) {
        const next = wants;
        await change(next);
        has = next;
      }
      done?.(has);
    } catch (problem) {
      wants = has;
      show();
      complain(problem);
    } finally {
      busy = false;
    }
  });
  button.set = (value) => {
    if (!busy) has = wants = value;
    show();
  };
  show();
  return button;
}

const link = (user) => h("a", { href: `#/u/${user.handle}` }, user.name);

/** "Ada, Bo and 2 others liked" */
function contextLine(tweet, people) {
  const { reason, reposted_by: by } = tweet;
  if (by) return [icon("repost"), h("span", {}, person(people, by.user_id), " reposted")];
  if (reason?.type === "missed") return [icon("star"), h("span", {}, "You may have missed this")];
  if (!reason) return undefined;
  const names = reason.user_ids.map((id) => person(people, id));
  if (reason.others) names.push(`${reason.others} other${reason.others > 1 ? "s" : ""}`);
  const listed = names.flatMap((name, index) => (index ? [index === names.length - 1 ? " and " : ", ", name] : [name]));
  return [icon({ liked: "like", replied: "reply", reposted: "repost" }[reason.type]), h("span", {}, listed, ` ${reason.type}`)];
}

function person(people, id) {
  if (id === session.me?.id) return "You";
  const user = people.get(id);
  return user ? link(user) : "Somebody";
}

function mediaGrid(media) {
  const shown = media.map(({ type, url, alt }) => {
    const safe = httpsUrl(url);
    if (!safe) return undefined;
    // One that cannot be loaded says what it would have shown; its place stays as large.
    const failed = (event) => event.target.replaceWith(h("span", { class: "failed" }, alt ?? `This ${type} cannot be shown`));
    return type === "video"
      ? h("video", { src: safe, controls: true, preload: "none", "aria-label": alt ?? "Video", onerror: failed })
      : h("img", { src: safe, alt: alt ?? "Picture without a description", loading: "lazy", referrerpolicy: "no-referrer", onerror: failed });
  });
  return h("div", { class: "pictures" }, shown);
}

export function explanation(tweet) {
  const { via: path, visible_after_ms: late, score } = tweet.explain;
  const via = tweet.reposted_by && path !== "activity" ? `reposted, ${path}` : path;
  const part = (name) => h("span", { class: "part" }, `${name} ${score[name].toFixed(2)}`, h("meter", { min: 0, max: 1, value: score[name], "aria-label": name }));
  return h("div", { class: "explain" },
    h("p", {}, h("span", { class: `via ${path}`, "data-via": path }, via), " ", VIA[path], late != null && `; everybody had it ${number(late)} ms after it was posted`),
    score && h("p", { class: "score" }, h("b", {}, `score ${score.total.toFixed(3)}`), ["recency", "engagement", "affinity", "content"].map(part)));
}

/**
 * The card's element. `card.update(changes)` paints what a reaction elsewhere has changed. `removed(why)` is called when the
 * tweet should leave the list.
 */
export function tweetCard(tweet, people, { main = false, removed = () => {} } = {}) {
  const author = people.get(tweet.author_id) ?? { id: tweet.author_id, handle: "", name: "Somebody" };
  const id = `t${++made}`;
  const path = `/v1/tweets/${tweet.id}`;
  const mine = tweet.author_id === session.me?.id;

  const reaction = (name, word, field, counted) =>
    toggle({
      on: tweet[field],
      paint(button, on) {
        const count = tweet[counted] + (on ? 1 : 0) - (tweet[field] ? 1 : 0);
        button.className = `act ${name}`;
        button.setAttribute("aria-label", `${word}, ${count}`);
        button.title = word;
        button.replaceChildren(icon(name), count ? number(count) : "");
      },
      change: (on) => call(on ? "PUT" : "DELETE", `${path}/${name}`),
      done(on) {
        tweet[counted] += (on ? 1 : 0) - (tweet[field] ? 1 : 0);
        tweet[field] = on;
        tell("tweet", { id: tweet.id, [field]: on, [counted]: tweet[counted] });
      },
    });
  const like = reaction("like", "Like", "liked", "like_count");
  const repost = reaction("repost", "Repost", "reposted", "repost_count");

  const reply = h("button", { type: "button", class: "act", title: "Reply", onclick: () => openReply() });
  const paintReply = () => {
    reply.setAttribute("aria-label", `Reply, ${tweet.reply_count}`);
    reply.replaceChildren(icon("reply"), tweet.reply_count ? number(tweet.reply_count) : "");
  };
  paintReply();

  const hide = h("button", { type: "button", class: "act", "aria-label": "Hide", title: "Hide", onclick: onHide }, icon("hide"));
  const remove = mine && h("button", { type: "button", class: "act", "aria-label": "Delete", title: "Delete", onclick: onDelete, onblur: calm }, icon("delete"));

  const context = contextLine(tweet, people);
  const body = h("div", { class: "body" },
    context && h("p", { class: "context" }, context),
    h("p", { class: "who" },
      h("a", { href: `#/u/${author.handle}`, id, class: "name" }, author.name), badge(author),
      h("span", { class: "quiet handle" }, `@${author.handle}`),
      h("a", { href: `#/t/${tweet.id}`, class: "quiet when", "aria-label": `Posted ${new Date(tweet.created_at).toLocaleString("en")}` }, when(tweet.created_at))),
    tweet.in_reply_to && h("p", { class: "context" }, h("a", { href: `#/t/${tweet.in_reply_to.tweet_id}` }, tweet.in_reply_to.author_id === tweet.author_id ? "Goes on with a thread" : "A reply")),
    h("p", { class: "text", dir: "auto" }, tweet.text),
    tweet.media && mediaGrid(tweet.media),
    tweet.explain && explanation(tweet),
    h("div", { class: "acts" }, reply, repost, like, hide, remove));

  const card = h("article", { class: main ? "tweet main" : "tweet", tabindex: "0", "aria-labelledby": id, "data-tweet-id": tweet.id, "data-position": placeOf(tweet) }, avatar(author), body);
  card.tweet = tweet;
  card.update = (changes) => {
    Object.assign(tweet, changes);
    like.set(tweet.liked);
    repost.set(tweet.reposted);
    paintReply();
  };

  function openReply() {
    const open = body.querySelector(".compose");
    if (open) return open.remove();
    const form = composer({
      replyTo: tweet.id,
      posted(answer) {
        form.remove();
        reply.focus();
        tweet.reply_count += 1;
        paintReply();
        say("Your reply is posted.");
        tell("tweet", { id: tweet.id, reply_count: tweet.reply_count });
        tell("reply", { to: tweet.id, tweet: answer });
      },
    });
    body.append(form);
    form.querySelector("textarea").focus();
  }

  async function onHide() {
    try {
      await call("PUT", `${path}/hide`);
    } catch (problem) {
      return complain(problem);
    }
    const undo = h("button", { type: "button", class: "plain", async onclick() {
      try {
        await call("DELETE", `${path}/hide`);
        row.replaceWith(card);
        card.focus();
      } catch (problem) {
        complain(problem);
      }
    } }, "Undo");
    const row = h("article", { class: "tweet row", "aria-label": "A hidden tweet" }, h("p", { class: "quiet grow" }, "Hidden from your home timeline."), undo);
    card.replaceWith(row);
    undo.focus();
    say("The tweet is hidden.");
  }

  let sure;
  function calm() {
    if (!sure) return;
    sure = false;
    remove.setAttribute("aria-label", "Delete");
    remove.classList.remove("sure");
    remove.replaceChildren(icon("delete"));
  }
  async function onDelete() {
    if (!sure) {
      sure = true;
      remove.setAttribute("aria-label", "Really delete?");
      remove.classList.add("sure");
      return remove.replaceChildren("Really delete?");
    }
    try {
      await call("DELETE", path);
      card.remove();
      removed("deleted");
      tell("tweet", { id: tweet.id, deleted: true });
      say("The tweet is deleted.");
    } catch (problem) {
      calm();
      complain(problem);
    }
  }
  return card;
}
