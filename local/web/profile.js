// Everything that is about one person or one tweet: profiles, lists of people, one's likes, and a tweet with its replies.

import { call, get } from "./api.js";
import { avatar, badge, bus, complain, h, make, number, tell } from "./dom.js";
import { Feed } from "./feed.js";
import { session } from "./session.js";
import { toggle, tweetCard } from "./tweet.js";

export const title = (text) => h("div", { class: "top" }, h("h1", { tabindex: "-1" }, text));

function relation(user, field, verbs, path, method = "PUT") {
  return toggle({
    on: user.relationship[field],
    paint(button, on) {
      button.textContent = verbs[on ? 1 : 0];
      button.className = field === "following" && !on ? "primary" : "";
    },
    async change(on) {
      await call(on ? method : "DELETE", `/v1/users/${user.id}/${path}`);
      tell("people");
    },
    done: () => tell("person", user.id),
  });
}

export async function profileView(handle) {
  const { root, face, name, handle: at, buttons, bio, counts, feed } = make("profile");
  const read = () => get(`/v1/users/by/handle/${encodeURIComponent(handle)}?expand=relationship`);
  let user = await read();
  const mine = user.id === session.me.id;
  face.replaceWith(avatar(user));
  if (!mine) {
    const mute = relation(user, "muting", ["Mute", "Muted"], "mute");
    const block = relation(user, "blocking", ["Block", "Blocked"], "block");
    const follow = relation(user, "following", ["Follow", "Following"], "follow", "POST");
    buttons.append(follow, mute, block);
    bus.addEventListener("person", ({ detail }) => {
      // Counts follow from the stream of follows, a moment behind; a block takes the follow away.
      if (detail !== user.id || !root.isConnected) return;
      setTimeout(async () => {
        user = await read().catch(() => user);
        follow.set(user.relationship.following);
        paint();
      }, 700);
    });
  }
  const count = (value, word, path) => h("a", { href: `#/u/${user.handle}/${path}` }, h("b", {}, number(value)), ` ${word}`);
  function paint() {
    name.replaceChildren(user.name, badge(user) || "");
    at.replaceChildren(`@${user.handle}`, user.relationship.followed_by ? h("span", { class: "tag" }, "Follows you") : "");
    bio.textContent = user.bio ?? "";
    counts.replaceChildren(count(user.following_count, "following", "following"), " ", count(user.follower_count, user.follower_count === 1 ? "follower" : "followers", "followers"));
  }
  user.relationship ??= {};
  paint();
  const list = new Feed({
    name: `Tweets of ${user.name}`,
    path: () => `/v1/users/${user.id}/tweets?include=replies`,
    empty: mine ? "You have not posted anything yet." : `@${user.handle} has not posted anything yet.`,
  });
  feed.replaceWith(list.root);
  list.reset();
  return { node: root, title: `${user.name} (@${user.handle})` };
}

export const personRow = (user) =>
  h("li", {}, h("a", { class: "person", href: `#/u/${user.handle}` }, avatar(user),
    h("span", { class: "grow" }, h("b", {}, user.name, badge(user)), h("small", {}, `@${user.handle}`))));

/** Followers, or the people whom somebody follows. */
export async function peopleView(handle, which) {
  const user = await get(`/v1/users/by/handle/${encodeURIComponent(handle)}`);
  const list = h("ul", { class: "people" });
  const more = h("button", { type: "button" }, "Load more");
  let cursor;
  async function next() {
    more.disabled = true;
    try {
      const page = await get(`/v1/users/${user.id}/${which}?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      list.append(...page.data.map(personRow));
      cursor = page.meta.next_cursor;
      more.hidden = !cursor;
    } catch (problem) {
      complain(problem);
    }
    more.disabled = false;
  }
  more.addEventListener("click", next);
  await next();
  const text = which === "followers" ? `Followers of ${user.name}` : `Followed by ${user.name}`;
  return { node: h("section", {}, title(text), list, h("div", { class: "end" }, more)), title: text };
}

export function likesView() {
  const list = new Feed({ name: "Tweets that you like", path: () => "/v1/users/me/likes", empty: "You have not liked anything yet." });
  list.reset();
  return { node: h("section", {}, title("Likes"), list.root), title: "Likes" };
}

export async function threadView(id) {
  const { includes, ...tweet } = await get(`/v1/tweets/${id}`);
  const people = new Map(includes.users.map((user) => [user.id, user]));
  const parent = h("div");
  const card = tweetCard(tweet, people, { main: true, removed: () => history.back() });
  const list = new Feed({ name: "Replies", path: () => `/v1/tweets/${id}/replies`, empty: "No replies yet." });
  list.reset();
  bus.addEventListener("tweet", ({ detail: { id: changed, deleted, ...changes } }) => changed === tweet.id && !deleted && card.update(changes));
  // A reply is in the list a moment after its answer; its author sees it at once.
  bus.addEventListener("reply", ({ detail }) => {
    if (detail.to !== tweet.id || !list.root.isConnected) return;
    list.list.prepend(...list.take({ data: [detail.tweet], includes: { users: [session.me] } }));
    list.end.textContent = "That is everything";
  });
  if (tweet.in_reply_to) {
    get(`/v1/tweets/${tweet.in_reply_to.tweet_id}`).then(
      ({ includes: { users }, ...above }) => parent.append(tweetCard(above, new Map(users.map((user) => [user.id, user])))),
      () => parent.append(h("p", { class: "quiet pad" }, "The tweet above is not there any more.")),
    );
  }
  const author = people.get(tweet.author_id);
  return { node: h("section", {}, title("Tweet"), parent, card, h("h2", { class: "pad" }, "Replies"), list.root), title: `${author?.name}: ${tweet.text.slice(0, 40)}` };
}
