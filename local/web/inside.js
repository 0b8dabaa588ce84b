// The inside view: the pipeline of the local cloud, lit by what its functions say while they work (/dev/events), and buttons
// that make something happen. index.html says what an event lights up (data-on) and where it counts (data-count).

import { call, config, get, pause } from "./api.js";
import { $, h, make, many, number, words } from "./dom.js";
import { demoPeople, localToken, session } from "./session.js";

const GLOW_MS = 900;
const LINES = 80;
const MOST_FANS = 200;
const PATIENCE_MS = 30_000;

export async function insideView() {
	const view = make("inside");
	// A deployment has no /dev.
	const settings = !config.oidc?.issuer && (await get("/dev/settings").catch(() => {}));
	const inside = settings && new Inside(view, settings);
	(settings ? view.away : view.here).remove();
	return { node: view.root, title: "Inside", close: () => inside?.source.close() };
}

/** Acts for one of the local cloud's people, through the public API. */
const as = async ({ sub }, method, path, body) =>
	call(method, path, { body, quiet: true, token: await localToken(sub), key: body?.text && crypto.randomUUID() });

/** What a page did, as far as there is room for it. */
const label = (x, y, room, followers, delivered) => [
	...(room > 20 ? [h("svg:text", { x, y: y + 5 }, `${followers}`)] : []),
	...(room > 44 ? [h("svg:text", { class: "sub", x, y: y + 32 }, many(delivered, "list"))] : []),
];

const post = (person, name) => as(person, "POST", "/v1/tweets", { text: words(name) });

/** Does it for all of them, a few at a time. */
function each(items, work) {
	const left = [...items];
	const worker = async () => {
		while (left.length) await work(left.shift());
	};
	return Promise.all([1, 2, 3, 4, 5, 6].map(worker));
}

/** Waits until the tweet is on the reader's page: after how many milliseconds, and how it came. */
async function arrival(tweet, reader) {
	for (const started = Date.now(); Date.now() - started < PATIENCE_MS; await pause(0.2)) {
		const { data } = await as(reader, "GET", "/v1/home_timeline?limit=50&explain=true");
		const found = data.find(({ id }) => id === tweet.id);
		if (found) return { reader: reader.handle, ms: number(Date.now() - started), via: found.explain.via };
	}
	throw new Error(words("not-there"));
}

class Inside {
	lights = {};
	names = {};
	pages = [];
	newest = 0n;
	settled = new Set();
	warm = new Set();

	constructor(view, settings) {
		Object.assign(this, view, { settings });
		this.here.hidden = false;
		this.rules.textContent = words("rules", settings);
		this.functions.append(...settings.functions.map((name) => h("option", {}, name)));
		this.functions.value = "fan-out-pages";
		for (const part of this.root.querySelectorAll("[data-on]")) {
			for (const key of part.dataset.on.split("|")) (this.lights[key] ??= []).push(part);
		}
		this.buttons.onclick = async ({ target: button }) => {
			const { do: name, as: kind } = button.dataset;
			if (!name) return;
			this.buttons.disabled = true;
			this.tell("working");
			await this[name](kind).catch((problem) => (this.outcome.textContent = problem.message));
			this.buttons.disabled = false;
			this.progress.hidden = true;
			button.focus();
		};
		this.people();
		this.source = new EventSource(`${config.api}/dev/events`);
		this.source.onmessage = ({ data }) => this.hear(JSON.parse(data));
	}

	/** Everybody, the most followed first. Their names are for the log. */
	async people() {
		const people = await demoPeople();
		// Some functions log an id as a number, which is too large for JavaScript and comes rounded.
		for (const { id, sub, handle } of people) this.names[id] = this.names[Number(id)] = this.names[sub] = `@${handle}`;
		return people;
	}

	tell(name, values) {
		this.outcome.textContent = words(name, values);
	}

	hear(event) {
		const { type, at, fields = {} } = event;
		this.light(event.route ?? (type === "invocation" && event.function));
		if (event.route === "POST /v1/tweets" && event.status === 201) this.posted(event.caller);
		if (type === "metrics") this.count(event.metrics);
		if (type === "log") this.follow(event.message, fields);
		const name = type === "log" ? event.message : event.cold ? "cold" : type;
		const who = this.names[fields.user_id ?? event.caller] ?? "somebody";
		const line = words(`event ${name}`, { ...event, ...fields, who });
		if (!line) return;
		this.log.prepend(h("li", {}, h("span", { class: "quiet" }, new Date(at).toTimeString().slice(0, 8)), ` ${line}`));
		this.log.children[LINES]?.remove();
	}

	light(key) {
		for (const part of this.lights[key] ?? []) {
			part.classList.add("on");
			clearTimeout(part.glow);
			part.glow = setTimeout(() => part.classList.remove("on"), GLOW_MS);
			const count = $(".n", part);
			if (count) count.textContent = Number(count.textContent) + 1;
		}
	}

	count(metrics) {
		for (const [name, value] of Object.entries(metrics)) {
			if (value) this.light(name);
			const shown = $(`[data-count="${name}"]`, this.root);
			if (!shown) continue;
			// Durations come as lists. The worst is shown.
			const worst = Array.isArray(value);
			shown.total = worst ? Math.max(shown.total ?? 0, ...value) : (shown.total ?? 0) + value;
			shown.textContent = number(shown.total) + (worst ? " ms" : "");
		}
	}

	follow(message, page) {
		if (message === "tier settles") this.settled.add(Number(page.user_id));
		if (message !== "fan-out page delivered") return;
		const first = page.depth === 0;
		this.light(first ? "first page" : "later page");
		if (page.handed_over) this.light(first ? "handed over" : "cut again");
		// The newest tweet is drawn.
		const id = BigInt(page.tweet_id);
		if (id < this.newest) return;
		if (id > this.newest) this.pages = [];
		this.newest = id;
		this.pages.push(page);
		this.drawTree();
	}

	/** Of a celebrity's tweet no delivery is said, because there is none. */
	async posted(caller) {
		this.count({ posts: 1 });
		const author = (await this.people()).find(({ sub }) => sub === caller);
		if (!author?.is_celebrity) return;
		this.light("feed");
		this.pulled.textContent = words("one-write", author);
		this.single.classList.remove("faint");
	}

	/** A row for each depth, the pieces below the page that handed them over: in the order in which they came. */
	drawTree() {
		const levels = [];
		for (const page of this.pages) (levels[page.depth] ??= []).push(page);
		const links = [];
		const circles = [];
		let places = [[0, 480]];
		levels.forEach((level, row) => {
			const below = [];
			const y = 24 + row * 58;
			level.slice(0, places.length).forEach(({ followers, delivered, handed_over: pieces }, index) => {
				const [from, to, above] = places[index];
				const x = (from + to) / 2;
				const step = (to - from) / pieces;
				if (above) links.push(h("svg:path", { d: `M${above}L${x} ${y}` }));
				circles.push(h("svg:circle", { cx: x, cy: y, r: Math.min(19, (to - from) / 2.2) }), ...label(x, y, to - from, followers, delivered));
				for (let n = 0; n < pieces; n++) below.push([from + n * step, from + (n + 1) * step, `${x} ${y}`]);
			});
			places = below;
		});
		this.tree.replaceChildren(...links, ...circles);
		const sum = (field) => this.pages.reduce((total, page) => total + page[field], 0);
		const ms = number(Math.max(...this.pages.map((page) => page.age_ms)));
		this.pushed.textContent = words("served", { followers: sum("followers"), lists: sum("delivered"), pages: this.pages.length, rounds: levels.length, ms });
	}

	/** Somebody with many followers, and those of them for whom we can act. */
	async author(isCelebrity) {
		const people = await this.people();
		const author = people.find((person) => person.is_celebrity === isCelebrity && person.follower_count);
		if (!author) throw new Error(words("nobody"));
		const { data: followers } = await as(author, "GET", "/v1/users/me/followers?limit=100");
		const readers = people.filter(({ id }) => followers.some((follower) => follower.id === id));
		return { people, author, followers, readers };
	}

	async post(kind) {
		const { author, readers } = await this.author(kind === "celebrity");
		// A list in Redis begins with a read.
		const cold = kind === "ordinary" ? readers.filter(({ id }) => !this.warm.has(id)) : [];
		await each(cold, (reader) => this.warm.add(reader.id) && as(reader, "GET", "/v1/home_timeline?limit=1"));
		const tweet = await post(author, `tweet-${kind}`);
		this.tell(`done-${kind}`, { ...author, ...(await arrival(tweet, readers[0])) });
	}

	async promote() {
		const { people, author, followers, readers: [reader, ...readers] } = await this.author(false);
		const goal = this.settings.celebrity_threshold;
		const missing = goal - followers.length;
		if (missing > MOST_FANS) throw new Error(words("too-far", this.settings));
		const read = () => as(reader, "GET", "/v1/home_timeline?limit=50");
		const tweets = [];
		const came = [];
		const next = async (name) => {
			tweets.push(await post(author, name));
			came.push((await arrival(tweets.at(-1), reader)).via);
		};
		await read();
		await next("tweet-before");
		const fans = people.filter((person) => ![author, reader, ...readers].includes(person)).slice(0, missing);
		while (fans.length < missing) fans.push({ sub: `fan_${crypto.randomUUID().slice(0, 8)}`, isNew: true });
		Object.assign(this.progress, { hidden: false, max: goal, value: followers.length });
		await each(fans, async (fan) => {
			if (fan.isNew) await as(fan, "POST", "/v1/users", { handle: fan.sub, name: "A fan" });
			await as(fan, "POST", `/v1/users/${author.id}/follow`);
			this.tell("promoting", { ...author, count: ++this.progress.value, goal });
		});
		await next("tweet-during");
		for (let tries = 0; tries < 90 && !this.settled.has(Number(author.id)); tries++) await pause(0.3);
		await next("tweet-after");
		const { data } = await read();
		const once = tweets.every((tweet) => data.filter(({ id }) => id === tweet.id).length === 1);
		this.tell(once ? "done-promote" : "differs", { ...author, goal, reader: reader.handle, via: came.join(", ") });
	}

	async flush() {
		const read = async () => (await get("/v1/home_timeline?limit=50")).data.map(({ id }) => id);
		const before = session.me ? await read() : [];
		const { keys } = await call("POST", "/dev/flush");
		this.warm.clear();
		const started = Date.now();
		const after = session.me ? await read() : [];
		const same = before.every((id) => after.includes(id));
		this.tell(same ? "done-flush" : "differs", { keys: number(keys), ms: Date.now() - started, count: before.length });
	}

	async kill() {
		const { author, readers } = await this.author(false);
		const name = this.functions.value;
		const killing = call("POST", "/dev/kill", { body: { function: name } }).catch(() => ({}));
		const [tweet, { pid }] = await Promise.all([post(author, "tweet-kill"), killing]);
		this.tell(pid ? "done-kill" : "no-kill", { ...author, ...(await arrival(tweet, readers[0])), name, pid });
	}
}
