// A list of tweets that grows as one scrolls down. It asks with the cursor of the page before until there is none, so a short
// or empty page does not end it, and it knows which places it has, so nothing is shown twice.

import { get, placeOf } from "./api.js";
import { complain, make, words } from "./dom.js";
import { tweetCard } from "./tweet.js";

const LIMIT = 20;

export class Feed {
	cards = new Map();
	people = new Map();
	walk = 0;

	/** `path()` ends with ? or &, `empty` names words, `loaded(page, cards, first)` is told what each page brought. */
	constructor(name, path, empty, loaded) {
		Object.assign(this, { path, empty, loaded }, make("feed"));
		this.list.ariaLabel = name;
		this.more.onclick = () => this.next(true);
		this.again.onclick = () => this.reset();
		// Well before the end is reached, so that the reader does not wait.
		this.observer = new IntersectionObserver(([seen]) => seen.isIntersecting && this.next(), { rootMargin: "900px" });
	}

	reset() {
		this.walk++;
		this.cards.clear();
		this.list.replaceChildren();
		this.notice.hidden = true;
		this.cursor = undefined;
		this.ended = this.loading = false;
		return this.next();
	}

	async next(byHand) {
		if (this.loading || this.ended) return;
		const { walk } = this;
		this.loading = true;
		this.more.hidden = true;
		this.observer.disconnect();
		this.list.ariaBusy = true;
		this.end.textContent = this.cards.size ? "" : "Loading…";
		this.failed = false;
		try {
			const from = this.cursor ? `&cursor=${encodeURIComponent(this.cursor)}` : "";
			const page = await get(`${this.path()}limit=${LIMIT}${from}`);
			if (walk !== this.walk) return;
			const cards = this.take(page);
			this.list.append(...cards);
			this.loaded?.(page, cards, !this.cursor);
			this.doubt(page.meta);
			this.cursor = page.meta.next_cursor;
			this.ended = !this.cursor;
			if (byHand) cards[0]?.focus();
		} catch (problem) {
			if (walk !== this.walk) return;
			this.failed = true;
			complain(problem);
		}
		this.loading = this.list.ariaBusy = false;
		this.more.hidden = this.ended;
		this.more.textContent = this.failed ? "Try again" : "Load more";
		this.end.textContent = !this.ended ? "" : words(this.cards.size ? "end" : this.empty);
		// What failed is repeated by the button, or when the network is back; not in a circle.
		if (this.failed) addEventListener("online", () => walk === this.walk && this.next(), { once: true });
		else if (!this.ended) this.observer.observe(this.more);
	}

	/** Cards for what is not here yet. */
	take({ data, includes }) {
		for (const user of includes.users) this.people.set(user.id, user);
		const fresh = data.filter((tweet) => !this.cards.has(placeOf(tweet)));
		const cards = fresh.map((tweet) => tweetCard(tweet, this.people, { removed: () => this.cards.delete(placeOf(tweet)) }));
		for (const card of cards) this.cards.set(placeOf(card.tweet), card);
		// A feed without articles is none.
		this.list.hidden = !this.cards.size;
		return cards;
	}

	doubt({ complete, reasons = [] }) {
		if (complete !== false) return;
		this.notice.hidden = false;
		this.trouble.textContent = words("incomplete", { why: reasons.map((reason) => words(reason)).join(", and ") });
	}
}
