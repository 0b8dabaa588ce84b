// The inside view: the pipeline of the local cloud, drawn from what its functions say while they work (/dev/events), and
// buttons that make something happen. Which part of the picture an event lights up, and in which number it counts, stands in
// index.html: data-on, data-sum, data-most and data-count.

import { call, config, get, pause } from "./api.js";
import { $, h, make, number, words } from "./dom.js";
import { demoPeople, localToken, session } from "./session.js";

const GLOW_MS = 900;
const LINES = 80;
const AT_ONCE = 6;
const PATIENCE_MS = 30_000;

export async function insideView() {
  const view = make("inside");
  // A deployment has no /dev.
  const settings = config.oidc?.issuer ? undefined : await get("/dev/settings").catch(() => undefined);
  const inside = settings && new Inside(view, settings);
  (settings ? view.away : view.here).remove();
  if (session.me) explainPage(view);
  return { node: view.root, title: "Inside", close: () => inside?.source.close() };
}

async function explainPage({ mine, rows }) {
  const { data } = await get("/v1/home_timeline?order=ranked&explain=true&limit=8").catch(() => ({ data: [] }));
  mine.hidden = !data.length;
  for (const { text, reposted_by: by, explain: { via, visible_after_ms: late, score } } of data) {
    const numbers = ["total", "recency", "engagement", "affinity", "content"].map((part) => score[part].toFixed(2));
    const cells = [`${text.slice(0, 44)}${text.length > 44 ? "…" : ""}`, h("b", { "data-via": via }, by ? `reposted, ${via}` : via), late == null ? "–" : `${number(late)} ms`, ...numbers];
    rows.append(h("tr", {}, ...cells.map((cell) => h("td", {}, cell))));
  }
}

/** Acts for one of the local cloud's people, through the public API. */
const as = async ({ sub }, method, path, body) =>
  call(method, path, { body, quiet: true, token: await localToken(sub), ...(body?.text && { key: crypto.randomUUID() }) });

const post = (person, text) => as(person, "POST", "/v1/tweets", { text });

/** Does it for all of them, a few at a time. */
async function each(items, work) {
  const left = [...items];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left.length) await work(left.shift());
  }));
}

/** Waits until the tweet is on the reader's page, and says after how many milliseconds, and how it came. */
async function arrives(tweet, reader) {
  for (const started = Date.now(); Date.now() - started < PATIENCE_MS; await pause(0.2)) {
    const { data } = await as(reader, "GET", "/v1/home_timeline?limit=50&explain=true");
    const found = data.filter(({ id }) => id === tweet.id);
    if (found.length) return { ms: number(Date.now() - started), via: found[0].explain.via, times: found.length };
  }
  throw new Error(words("not-there", { seconds: PATIENCE_MS / 1000 }));
}

class Inside {
  lights = new Map();
  pages = [];
  newest = 0n;

  constructor(view, settings) {
    Object.assign(this, view, { settings });
    this.here.hidden = false;
    this.rules.textContent = words("rules", settings);
    this.functions.append(...settings.functions.map((name) => h("option", {}, name)));
    this.functions.value = "fan-out-pages";
    for (const part of this.root.querySelectorAll("[data-on]")) {
      for (const key of part.dataset.on.split("|")) this.lights.set(key, [...(this.lights.get(key) ?? []), part]);
    }
    const buttons = this.root.querySelectorAll("[data-do]");
    for (const button of buttons) {
      button.onclick = async () => {
        buttons.forEach((other) => (other.disabled = true));
        this.tell("working");
        await this[button.dataset.do]().catch((problem) => (this.outcome.textContent = problem.message));
        buttons.forEach((other) => (other.disabled = false));
        this.progress.hidden = true;
        button.focus();
      };
    }
    this.source = new EventSource(`${config.api}/dev/events`);
    this.source.onmessage = ({ data }) => this.hear(JSON.parse(data));
  }

  tell(name, values) {
    this.outcome.textContent = words(name, values);
  }

  // ---- What the functions say

  hear(event) {
    const { type, function: name, metrics, fields = {} } = event;
    if (type === "request") this.light(event.route);
    if (type === "invocation") this.light(name);
    if (type === "metrics") this.count(metrics);
    if (type === "log") this.follow(event.message, fields);
    const key = type === "log" ? event.message : type === "invocation" && event.cold ? "cold" : type;
    const line = words(`event ${key}`, { ...event, ...fields });
    if (!line) return;
    this.log.prepend(h("li", {}, h("span", { class: "quiet" }, new Date(event.at).toLocaleTimeString("en", { hour12: false })), ` ${line}`));
    this.log.children[LINES]?.remove();
  }

  light(key) {
    for (const part of this.lights.get(key) ?? []) {
      part.classList.add("on");
      clearTimeout(part.glow);
      part.glow = setTimeout(() => part.classList.remove("on"), GLOW_MS);
      part.times = (part.times ?? 0) + 1;
      const count = $(".n", part);
      if (count) count.textContent = number(part.times);
    }
  }

  count(metrics) {
    for (const [name, value] of Object.entries(metrics)) {
      const [sum, most] = [$(`[data-sum="${name}"]`, this.root), $(`[data-most="${name}"]`, this.root)];
      if (sum) sum.textContent = number((sum.total = (sum.total ?? 0) + value));
      if (most) most.textContent = `${number((most.total = Math.max(most.total ?? 0, ...value)))} ms`;
      if (value) this.light(name);
    }
  }

  /** One tweet through the pipeline; the newest is drawn. */
  follow(message, fields) {
    if (message === "tweet posted") {
      this.count({ posts: 1 });
      this.author(fields.tweet_id);
    }
    if (message !== "fan-out page delivered") return;
    const first = fields.depth === 0;
    this.light(first ? "first page" : "later page");
    if (fields.handed_over) this.light(first ? "handed over" : "halved");
    const id = BigInt(fields.tweet_id);
    if (id < this.newest) return;
    if (id > this.newest) this.pages = [];
    this.newest = id;
    this.pages.push(fields);
    this.drawTree();
  }

  async author(id) {
    const [person] = await demoPeople();
    const { includes, author_id: author } = await as(person, "GET", `/v1/tweets/${id}`);
    const user = includes.users.find((user) => user.id === author);
    if (!user.is_celebrity) return;
    this.light("feed");
    this.pulled.textContent = words("one-write", user);
    const dots = Math.min(user.follower_count, 90);
    const at = (index) => [20 + (index % 30) * 15.2, 150 + Math.floor(index / 30) * 22];
    this.single.replaceChildren(
      ...Array.from({ length: dots }, (_, index) => h("svg:path", { d: `M240 60L${at(index).join(" ")}`, opacity: 0.12 })),
      ...Array.from({ length: dots }, (_, index) => h("svg:circle", { cx: at(index)[0], cy: at(index)[1], r: 4 })),
      h("svg:circle", { cx: 240, cy: 40, r: 30 }), h("svg:text", { x: 240, y: 45 }, "1 write"),
    );
  }

  /** A row for each depth. Which page came from which is not said; they are joined in the order in which they came. */
  drawTree() {
    const levels = Object.values(Object.groupBy(this.pages, ({ depth }) => depth));
    const step = 180 / Math.max(3, levels.length - 1);
    const place = (row, index) => [(480 * (index + 0.5)) / levels[row].length, 24 + row * step];
    const links = [];
    const circles = [];
    levels.forEach((level, row) => {
      const parents = row ? levels[row - 1].flatMap(({ handed_over: halves }, index) => Array(halves).fill(index)) : [];
      level.forEach(({ followers, delivered }, index) => {
        const [x, y] = place(row, index);
        const r = Math.min(19, 210 / level.length);
        if (index in parents) links.push(h("svg:path", { d: `M${place(row - 1, parents[index]).join(" ")}L${x} ${y}` }));
        circles.push(h("svg:circle", { cx: x, cy: y, r }), h("svg:text", { x, y: y + 5 }, String(followers)));
        if (r > 18) circles.push(h("svg:text", { class: "sub", x, y: y + 33 }, `${delivered} lists`));
      });
    });
    this.tree.replaceChildren(...links, ...circles);
    const sum = (field) => number(this.pages.reduce((total, page) => total + page[field], 0));
    const ms = number(Math.max(...this.pages.map((page) => page.age_ms)));
    this.pushed.textContent = words("served", { followers: sum("followers"), lists: sum("delivered"), pages: this.pages.length, rounds: levels.length, ms });
  }

  // ---- The buttons

  /** Somebody with many followers, and those of them whom we can speak for. Their lists begin with a read. */
  async somebody(isCelebrity) {
    const people = await demoPeople();
    const author = people.find((person) => person.is_celebrity === isCelebrity && person.follower_count);
    if (!author) throw new Error(words("nobody"));
    const { data } = await as(author, "GET", "/v1/users/me/followers?limit=100");
    const readers = people.filter(({ id }) => data.some((follower) => follower.id === id));
    return { people, author, readers, followers: data };
  }

  async ordinary() {
    const { author, readers } = await this.somebody(false);
    await each(readers, (reader) => as(reader, "GET", "/v1/home_timeline?limit=1"));
    const tweet = await post(author, words("tweet-ordinary"));
    const { ms, via } = await arrives(tweet, readers[0]);
    this.tell("done-ordinary", { ...author, reader: readers[0].handle, ms, via });
  }

  async celebrity() {
    const { author, readers } = await this.somebody(true);
    const tweet = await post(author, words("tweet-celebrity"));
    const { ms, via } = await arrives(tweet, readers[0]);
    this.tell("done-celebrity", { ...author, reader: readers[0].handle, ms, via });
  }

  async promote() {
    const { people, author, readers, followers } = await this.somebody(false);
    const goal = this.settings.celebrity_threshold;
    Object.assign(this.progress, { hidden: false, max: goal, value: followers.length });
    const tweets = [await post(author, words("tweet-before"))];
    const fans = people.filter(({ id }) => id !== author.id && !readers.some((reader) => reader.id === id)).slice(0, goal - followers.length);
    while (fans.length < goal - followers.length) fans.push({ sub: `fan_${crypto.randomUUID().slice(0, 8)}`, isNew: true });
    await each(fans, async (fan) => {
      if (fan.isNew) await as(fan, "POST", "/v1/users", { handle: fan.sub, name: "A fan" });
      await as(fan, "POST", `/v1/users/${author.id}/follow`);
      this.progress.value++;
      this.tell("promoting", { ...author, count: this.progress.value, goal });
    });
    tweets.push(await post(author, words("tweet-during")));
    for (let tries = 0; tries < 60 && !(await as(author, "GET", "/v1/users/me")).is_celebrity; tries++) await pause(0.5);
    await pause(1);
    tweets.push(await post(author, words("tweet-after")));
    const seen = [];
    for (const tweet of tweets) seen.push(await arrives(tweet, readers[0]));
    this.tell("done-promote", { ...author, reader: readers[0].handle, goal, via: seen.map(({ via }) => via).join(", ") });
  }

  async flush() {
    const me = session.me ? undefined : (await demoPeople())[0];
    const read = async () => (await (me ? as(me, "GET", "/v1/home_timeline?limit=50") : get("/v1/home_timeline?limit=50"))).data.map(({ id }) => id);
    const before = await read();
    const { keys } = await call("POST", "/dev/flush");
    const started = Date.now();
    const after = await read();
    const same = before.every((id) => after.includes(id));
    this.tell(same ? "done-flush" : "differs", { keys: number(keys), ms: Date.now() - started, count: before.length });
  }

  async kill() {
    const { author, readers } = await this.somebody(false);
    const name = this.functions.value;
    const [tweet, killed] = await Promise.all([post(author, words("tweet-kill")), call("POST", "/dev/kill", { body: { function: name } }).catch((problem) => problem)]);
    const { ms } = await arrives(tweet, readers[0]);
    this.tell(killed.pid ? "done-kill" : "no-kill", { ...author, name, pid: killed.pid, reader: readers[0].handle, ms });
  }
}
