// The home timeline. Below, it grows by cursor (feed.js). Above, nothing is put in while one reads: the bar says how much is
// new, and a click fills upwards from the newest position that is here until both ends meet. If very much is missing, the
// newest page comes first, and a row in between loads what is left out.

import { call, get, position } from "./api.js";
import { composer } from "./compose.js";
import { complain, make, many, say, watch } from "./dom.js";
import { Feed } from "./feed.js";

const FILL = 100;
const READ_MS = 1500;

export class Home {
	order = "latest";
	marker = {};
	line = make("line").root;

	/** `live()` gives the connection, which is to know what was loaded. */
	constructor(live) {
		this.live = live;
		Object.assign(this, make("home"));
		this.list = new Feed("Home timeline", () => this.path(this.activity.checked), "empty-home", (...page) => this.loaded(...page));
		this.feed.replaceWith(this.list.root);
		this.composer.append(composer(() => {
			say("Your tweet is posted.");
			// Its author has it at once, at its place on the page above.
			this.fill();
		}));
		this.bar.onclick = () => this.fill(true);
		this.tools.onchange = ({ target }) => {
			if (target.name === "order") this.order = target.value;
			this.reload();
		};
		addEventListener("visibilitychange", () => this.mark());
		watch.tweet = (id, changes) => {
			for (const [place, card] of this.list.cards) {
				if (card.tweet.id !== id) continue;
				if (changes) card.update(changes);
				else card.remove(), this.list.cards.delete(place);
			}
		};
		// Whom one follows, mutes or blocks decides what is on the page.
		watch.people = () => (this.root.isConnected ? this.reload() : (this.stale = true));
		this.reload();
	}

	path(activity) {
		return `/v1/home_timeline?order=${this.order}&explain=${this.explain.checked}&${activity ? "include=activity&" : ""}`;
	}

	async reload() {
		this.stale = false;
		this.bar.hidden = true;
		this.line.remove();
		this.marker = await get("/v1/home_timeline/marker").catch(() => this.marker);
		this.known = BigInt(this.marker.last_read_id ?? 0);
		return this.list.reset();
	}

	loaded({ meta }, cards, first) {
		if (first) this.begin(meta);
		// What is here by activity stands at the time of a deed, not at its own.
		const seen = cards.find(({ tweet }) => !tweet.reason && position(tweet) <= this.known);
		if (seen && this.order === "latest" && !this.line.parentNode) seen.before(this.line);
	}

	/** From where on tweets are new. A ranked page does not begin with the newest, so that is asked for. */
	async begin(meta) {
		if (this.order === "ranked") ({ meta } = await get("/v1/home_timeline?limit=1").catch(() => ({ meta: {} })));
		this.has(meta.newest_id ?? this.newestId);
	}

	has(newestId) {
		this.newestId = newestId;
		this.live()?.loaded(newestId);
		clearTimeout(this.reading);
		this.reading = setTimeout(() => this.mark(), READ_MS);
	}

	news(count, capped) {
		this.bar.textContent = capped ? "99+ new tweets" : many(count, "new tweet");
		// Not over "Try again". What the first page brings is not new.
		this.bar.hidden = this.list.failed || (this.list.loading && !this.list.cards.size);
	}

	async fill(byHand) {
		if (this.filling) return;
		if (byHand) scrollTo({ top: 0 });
		if (this.order !== "latest" || this.activity.checked || !this.newestId) return this.reload();
		const { walk } = this.list;
		this.filling = this.bar.disabled = true;
		try {
			const pages = [];
			let since = this.newestId;
			let newest = since;
			for (let found = 0; since && found < FILL; ) {
				const page = await get(`${this.path()}since_id=${since}&limit=${FILL}`);
				pages.unshift(page);
				found += page.data.length;
				newest = page.meta.newest_id ?? newest;
				since = page.meta.next_since_id;
			}
			const head = since && (await get(this.path()));
			if (walk !== this.list.walk) return;
			this.put(pages, head, since);
			this.has(head?.meta.newest_id ?? newest);
			this.bar.hidden = true;
			if (byHand) this.list.list.querySelector("article")?.focus({ preventScroll: true });
		} catch (problem) {
			complain(problem);
		} finally {
			this.filling = this.bar.disabled = false;
		}
	}

	/** Pages that reach down to what is here; and `head`, the newest page, if what is right above `since` is still missing. */
	put(pages, head, since) {
		const top = this.list.list;
		const rows = pages.flatMap((page) => this.take(page, 0));
		const old = top.querySelector("article");
		if (rows.length && old) old.before(this.line);
		top.prepend(...rows);
		if (head) {
			const above = this.take(head, since);
			top.prepend(...above, ...(head.meta.next_cursor && BigInt(head.meta.oldest_id) > BigInt(since) ? [this.gap(head.meta.next_cursor, since)] : []));
		}
		for (const { meta } of pages) this.list.doubt(meta);
	}

	/** Cards of a page for what is newer than `since`. */
	take(page, since) {
		return this.list.take({ ...page, data: page.data.filter((tweet) => position(tweet) > BigInt(since)) });
	}

	/** A row that loads what lies between `cursor`, above, and `since`, below. */
	gap(cursor, since) {
		const { root, fill } = make("gap");
		const load = async () => {
			const page = await get(`${this.path()}limit=${FILL}&cursor=${cursor}`);
			const cards = this.take(page, since);
			root.before(...cards);
			cards[0]?.focus();
			cursor = page.meta.next_cursor;
			if (!cursor || BigInt(cursor) <= BigInt(since)) root.remove();
		};
		fill.onclick = async () => {
			fill.disabled = true;
			await load().catch(complain);
			fill.disabled = false;
		};
		return root;
	}

	/** The newest is on top: who sees the page has read up to there. */
	async mark() {
		const { version, last_read_id: last = 0 } = this.marker;
		const isSeen = !document.hidden && this.root.isConnected && this.order === "latest";
		if (!isSeen || version == null || !this.newestId || BigInt(this.newestId) <= BigInt(last)) return;
		const body = { last_read_id: this.newestId, version };
		// If another device was faster, its marker stands; the next move names its version.
		this.marker = await call("PUT", "/v1/home_timeline/marker", { body, quiet: true }).catch(({ marker }) => marker ?? this.marker);
	}
}
