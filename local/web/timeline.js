// The home timeline. Below, it grows by cursor (feed.js). Above, nothing is put in while one reads: the bar says how much is
// new, and a click fills upwards from the newest position that is here until both ends meet. If more than a hundred are
// missing, the newest page comes first, and a row in between loads what is left out.

import { call, get, placeOf, position } from "./api.js";
import { composer } from "./compose.js";
import { bus, complain, h, make, many, say } from "./dom.js";
import { Feed } from "./feed.js";

const FILL = 100;
const SETTLE_MS = 1500;

export class Home {
  order = "latest";
  newestId = undefined;
  marker = undefined;
  read = 0n;

  /** `live()` gives the connection that is to know what was loaded. */
  constructor(live) {
    this.live = live;
    Object.assign(this, make("home"));
    this.feed.replaceWith((this.list = new Feed({
      name: "Home timeline",
      path: () => `/v1/home_timeline?${this.parameters(this.activity.checked)}`,
      empty: "Nothing here yet. Follow people, or post something yourself.",
      loaded: (page, cards, first) => this.loaded(page, cards, first),
    })).root);
    this.composer.append(composer({ posted: (tweet) => this.posted(tweet) }));
    this.bar.addEventListener("click", () => this.fill(true));
    for (const radio of this.root.querySelectorAll("[name=order]")) {
      radio.addEventListener("change", () => {
        this.order = radio.value;
        this.reload();
      });
    }
    for (const box of [this.activity, this.explain]) box.addEventListener("change", () => this.reload());

    // What has been on the screen has been read. The marker moves when scrolling stops, and when the tab is left.
    this.eyes = new IntersectionObserver((seen) => seen.forEach((entry) => entry.isIntersecting && this.saw(entry.target)), { threshold: 0.5 });
    addEventListener("visibilitychange", () => document.hidden && this.mark());
    // Whom one follows, mutes or blocks decides what is on the page.
    bus.addEventListener("people", () => (this.stale = true));
    this.reload();
  }

  parameters(activity) {
    const wanted = [];
    if (this.order === "ranked") wanted.push("order=ranked");
    if (activity) wanted.push("include=activity");
    if (this.explain.checked) wanted.push("explain=true");
    return wanted.join("&");
  }

  async reload() {
    this.stale = false;
    this.bar.hidden = true;
    this.eyes.disconnect();
    this.line = undefined;
    this.lineDrawn = false;
    this.marker = await get("/v1/home_timeline/marker").catch(() => this.marker);
    return this.list.reset();
  }

  loaded(page, cards, first) {
    const { meta } = page;
    if (first) this.begin(page, cards[0]);
    if (this.order !== "latest") return;
    cards.forEach((card) => this.eyes.observe(card));
    const read = this.marker?.last_read_id && BigInt(this.marker.last_read_id);
    if (!read || this.lineDrawn || !meta.caught_up) return;
    // What is here by activity stands at the time of a deed, not at its own.
    const seen = cards.find(({ tweet }) => (!tweet.reason || tweet.reason.type === "missed") && position(tweet) <= read);
    this.drawLine(seen);
  }

  /** From where on tweets are new. A ranked page does not begin with the newest, so that is asked for. */
  async begin({ meta }, top) {
    this.top = top;
    if (this.order === "ranked") ({ meta } = await get("/v1/home_timeline?limit=1").catch(() => ({ meta: {} })));
    this.newestId = meta.newest_id ?? this.newestId;
    this.live()?.loaded(this.newestId);
  }

  /** "You are caught up", above `card`; at the end of the list without one. */
  drawLine(card) {
    this.line?.remove();
    this.lineDrawn = true;
    this.line = h("div", { class: "line" }, h("span", {}, "You are caught up"));
    if (card?.isConnected || card?.parentNode) card.before(this.line);
    else this.list.list.append(this.line);
  }

  news(count, capped) {
    this.bar.textContent = capped ? "99+ new tweets" : many(count, "new tweet");
    this.bar.hidden = false;
  }

  /** Adds what is new on top. */
  async fill(byHand) {
    if (this.filling) return;
    if (this.order !== "latest" || this.activity.checked || !this.newestId) {
      scrollTo({ top: 0 });
      return this.reload();
    }
    this.filling = true;
    this.bar.disabled = true;
    try {
      const walk = this.list.walk;
      const pages = [];
      let since = this.newestId;
      let newest;
      for (let found = 0; since && found < FILL; ) {
        const page = await get(`/v1/home_timeline?since_id=${since}&limit=${FILL}&${this.parameters(false)}`);
        pages.unshift(page);
        found += page.data.length;
        newest = page.meta.newest_id ?? newest;
        since = page.meta.next_since_id;
      }
      let head;
      if (since) head = await get(`/v1/home_timeline?${this.parameters(false)}`);
      if (walk !== this.list.walk) return;
      if (pages.some((page) => page.data.length)) this.put(pages, head, since);
      this.newestId = head?.meta.newest_id ?? newest ?? this.newestId;
      this.bar.hidden = true;
      this.live()?.loaded(this.newestId);
      if (byHand) {
        scrollTo({ top: 0 });
        this.list.list.querySelector("article")?.focus({ preventScroll: true });
      }
    } catch (problem) {
      complain(problem);
    } finally {
      this.filling = this.bar.disabled = false;
    }
  }

  /** Pages that reach down to what is here; and `head`, the newest page, if what is right above `since` is still missing. */
  put(pages, head, since) {
    const { list } = this;
    const old = list.list.firstElementChild;
    const take = (page) => {
      // A tweet of one's own was put on top before its page came. The page knows its place.
      for (const tweet of page.data) if (list.cards.get(placeOf(tweet))?.own) list.drop(placeOf(tweet));
      return list.take(page);
    };
    const below = pages.flatMap(take);
    const above = head ? take({ ...head, data: head.data.filter((tweet) => position(tweet) > BigInt(since)) }) : [];
    const gap = head?.meta.next_cursor && BigInt(head.meta.oldest_id ?? 0) > BigInt(since) ? [this.gap(head.meta.next_cursor, since)] : [];
    const anchor = old?.isConnected ? old : list.list.firstElementChild;
    const rows = [...above, ...gap, ...below];
    if (anchor) anchor.before(...rows);
    else list.list.append(...rows);
    [...above, ...below].forEach((card) => this.eyes.observe(card));
    if (below.length && anchor?.matches("article")) this.drawLine(anchor);
    for (const page of [...pages, head]) if (page) list.doubt(page.meta);
    list.end.textContent = list.ended ? "That is everything" : "";
  }

  /** A row that loads what lies between `cursor`, above, and `since`, below. */
  gap(cursor, since) {
    const button = h("button", { type: "button" }, "Load what is between");
    const row = h("article", { class: "gap", "aria-label": "A gap" }, button);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const page = await get(`/v1/home_timeline?limit=${FILL}&cursor=${cursor}&${this.parameters(false)}`);
        const between = page.data.filter((tweet) => position(tweet) > BigInt(since));
        const cards = this.list.take({ ...page, data: between });
        row.before(...cards);
        cards.forEach((card) => this.eyes.observe(card));
        cursor = page.meta.next_cursor;
        const met = !cursor || BigInt(cursor) <= BigInt(since);
        (cards[0] ?? button).focus();
        if (met) row.remove();
      } catch (problem) {
        complain(problem);
      } finally {
        button.disabled = false;
      }
    });
    return row;
  }

  async posted(tweet) {
    say("Your tweet is posted.");
    // It comes with the page above, at its place. If it is late, it is shown on top until then.
    await this.fill(false);
    if (this.list.cards.has(placeOf(tweet))) return;
    const { session } = await import("./session.js");
    const [card] = this.list.take({ data: [tweet], includes: { users: [session.me] } });
    card.own = true;
    this.list.list.prepend(card);
  }

  // ---- How far one has read

  saw(card) {
    const { tweet } = card;
    if (tweet.reason && tweet.reason.type !== "missed") return;
    const place = card === this.top && this.newestId ? BigInt(this.newestId) : position(tweet);
    if (place <= this.read) return;
    this.read = place;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.mark(), SETTLE_MS);
  }

  async mark() {
    const known = this.marker;
    if (!known || this.marking || this.read <= BigInt(known.last_read_id ?? 0)) return;
    this.marking = true;
    try {
      this.marker = await call("PUT", "/v1/home_timeline/marker", { body: { last_read_id: String(this.read), version: known.version }, quiet: true });
    } catch (problem) {
      // Another device was faster. Its marker stands, unless this one has read further: then the next move names its version.
      if (problem.body?.marker) this.marker = problem.body.marker;
    } finally {
      this.marking = false;
    }
  }
}
