// A list of tweets that grows as one scrolls down. It asks with the cursor of the page before until there is none, so a short
// or empty page does not end it, and it knows which places it has, so nothing is shown twice.

import { get, placeOf } from "./api.js";
import { bus, complain, h, make } from "./dom.js";
import { tweetCard } from "./tweet.js";

const LIMIT = 20;
const EMPTY_PAGES = 5;

const TROUBLES = {
  cache_unavailable: "the cache does not answer",
  tables_unavailable: "the tables do not answer",
  celebrities_unavailable: "tweets of celebrities could not be read",
};

export class Feed {
  cards = new Map();
  people = new Map();
  cursor = undefined;
  ended = false;
  walk = 0;

  /** `path()` is asked for each page, `loaded(page, cards)` is called with what each brought. */
  constructor({ name, path, empty, loaded }) {
    Object.assign(this, { path, empty, loaded }, make("feed"));
    this.list.setAttribute("role", "feed");
    this.list.setAttribute("aria-label", name);
    this.more.addEventListener("click", () => this.next(true));
    // Well before the end is reached, so that the reader does not wait.
    this.observer = new IntersectionObserver(([seen]) => seen.isIntersecting && this.next(), { rootMargin: "900px" });
    bus.addEventListener("tweet", ({ detail: { id, deleted, ...changes } }) => {
      for (const [place, card] of this.cards) {
        if (card.tweet.id !== id) continue;
        if (deleted) this.drop(place);
        else card.update(changes);
      }
    });
  }

  /** Begins again at the top. */
  reset() {
    this.walk++;
    this.cards.clear();
    this.list.replaceChildren();
    this.notice.hidden = true;
    this.end.textContent = "";
    this.cursor = undefined;
    this.ended = this.loading = false;
    this.observer.disconnect();
    return this.next();
  }

  async next(byHand) {
    if (this.loading || this.ended) return;
    const { walk } = this;
    this.loading = true;
    this.list.setAttribute("aria-busy", "true");
    this.more.hidden = true;
    this.observer.disconnect();
    if (!this.cards.size) this.end.textContent = "Loading…";
    let failed;
    try {
      for (let tries = 0, brought = 0; !brought && !this.ended && tries < EMPTY_PAGES; tries++) {
        const path = this.path();
        const from = this.cursor ? `&cursor=${encodeURIComponent(this.cursor)}` : "";
        const page = await get(`${path}${path.includes("?") ? "&" : "?"}limit=${LIMIT}${from}`);
        if (walk !== this.walk) return;
        const cards = this.take(page);
        const first = !this.cursor && !this.list.children.length;
        this.list.append(...cards);
        this.cursor = page.meta.next_cursor;
        this.ended = !this.cursor;
        brought = cards.length;
        this.doubt(page.meta);
        this.loaded?.(page, cards, first);
        if (byHand && cards[0]) cards[0].focus();
        byHand = false;
      }
    } catch (problem) {
      if (walk !== this.walk) return;
      failed = problem;
      complain(problem);
    }
    this.loading = false;
    this.list.removeAttribute("aria-busy");
    this.more.hidden = this.ended;
    this.more.textContent = failed ? "Try again" : "Load more";
    this.end.textContent = !this.ended ? "" : this.cards.size ? "That is everything" : this.empty;
    // A failed load is repeated by the button, or when the network is back; not in a circle.
    if (failed) addEventListener("online", () => walk === this.walk && this.next(), { once: true });
    else if (!this.ended) this.observer.observe(this.more);
  }

  /** Cards for what is not here yet. */
  take(page, options) {
    for (const user of page.includes.users) this.people.set(user.id, user);
    const fresh = [];
    for (const tweet of page.data) {
      const place = placeOf(tweet);
      if (this.cards.has(place)) continue;
      const card = tweetCard(tweet, this.people, { removed: () => this.cards.delete(place), ...options });
      this.cards.set(place, card);
      fresh.push(card);
    }
    return fresh;
  }

  drop(place) {
    this.cards.get(place)?.remove();
    this.cards.delete(place);
  }

  doubt({ complete, reasons = [] }) {
    if (complete !== false) return;
    const why = reasons.map((reason) => TROUBLES[reason] ?? reason).join(", and ");
    this.notice.hidden = false;
    this.notice.replaceChildren(
      h("span", { class: "grow" }, `Parts of this page are missing: ${why || "a part of Roost does not answer"}. Nothing is lost; they are back when it answers again.`),
      h("button", { type: "button", class: "plain", onclick: () => this.reset() }, "Load again"));
  }
}
