// The home timeline. Below, it grows by cursor (feed.js). Above, nothing is put in while one reads: the bar says how much is
// new, and a click fills upwards from the newest position that is here until both ends meet. If more than a hundred are
// missing, the newest page comes first, and a row in between loads what is left out.

import { call, get, placeOf, position } from "./api.js";
import { composer } from "./compose.js";
import { complain, make, many, say, watch } from "./dom.js";
import { Feed } from "./feed.js";
import { session } from "./session.js";

const FILL = 100;
const SETTLE_MS = 1500;

// What is here by activity stands at the time of a deed, not at its own.
const byTime = ({ reason }) => !reason || reason.type === "missed";

export class Home {
  order = "latest";
  read = 0n;
  marker = {};
  line = make("line").root;

  /** `live()` gives the connection, which is to know what was loaded. */
  constructor(live) {
    this.live = live;
    Object.assign(this, make("home"));
    this.list = new Feed("Home timeline", () => this.path(this.activity.checked), "empty-home", (...page) => this.loaded(...page));
    this.feed.replaceWith(this.list.root);
    this.composer.append(composer((tweet) => this.posted(tweet)));
    this.bar.onclick = () => this.fill(true);
    this.tools.onchange = ({ target }) => {
      if (target.name === "order") this.order = target.value;
      this.reload();
    };
    // What has been on the screen has been read. The marker moves when scrolling stops, and when the tab is left.
    this.eyes = new IntersectionObserver((seen) => seen.forEach(({ isIntersecting, target }) => isIntersecting && this.saw(target)), { threshold: 0.5 });
    addEventListener("visibilitychange", () => document.hidden && this.mark());
    watch.tweet = (id, changes) => {
      for (const [place, card] of this.list.cards) {
        if (card.tweet.id !== id) continue;
        if (changes) card.update(changes);
        else this.drop(place);
      }
    };
    // Whom one follows, mutes or blocks decides what is on the page.
    watch.people = () => (this.root.isConnected ? this.reload() : (this.stale = true));
    this.reload();
  }

  path(activity) {
    return `/v1/home_timeline?order=${this.order}${activity ? "&include=activity" : ""}${this.explain.checked ? "&explain=true" : ""}`;
  }

  async reload() {
    this.stale = false;
    this.bar.hidden = true;
    this.eyes.disconnect();
    this.line.remove();
    this.marker = await get("/v1/home_timeline/marker").catch(() => this.marker);
    return this.list.reset();
  }

  loaded({ meta }, cards, first) {
    if (first) this.begin(meta);
    if (this.order !== "latest") return;
    cards.forEach((card) => this.eyes.observe(card));
    if (!meta.caught_up || !this.marker.last_read_id) return;
    const seen = cards.find(({ tweet }) => byTime(tweet) && position(tweet) <= BigInt(this.marker.last_read_id));
    if (seen) seen.before(this.line);
    else this.list.list.append(this.line);
  }

  /** From where on tweets are new. A ranked page does not begin with the newest, so that is asked for. */
  async begin(meta) {
    if (this.order === "ranked") ({ meta } = await get("/v1/home_timeline?limit=1").catch(() => ({ meta: {} })));
    this.newestId = meta.newest_id ?? this.newestId;
    this.live()?.loaded(this.newestId);
  }

  news(count, capped) {
    this.bar.textContent = capped ? "99+ new tweets" : many(count, "new tweet");
    this.bar.hidden = false;
  }

  /** Adds what is new on top. */
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
        const page = await get(`${this.path()}&since_id=${since}&limit=${FILL}`);
        pages.unshift(page);
        found += page.data.length;
        newest = page.meta.newest_id ?? newest;
        since = page.meta.next_since_id;
      }
      const head = since && (await get(this.path()));
      if (walk !== this.list.walk) return;
      this.put(pages, head, since);
      this.newestId = head?.meta.newest_id ?? newest;
      this.bar.hidden = true;
      this.live()?.loaded(this.newestId);
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
    // A tweet of one's own may be here before its page came. The page knows its place.
    for (const page of pages) for (const tweet of page.data) if (this.list.cards.get(placeOf(tweet))?.own) this.drop(placeOf(tweet));
    const rows = pages.flatMap((page) => this.take(page, 0));
    const old = top.querySelector("article");
    if (rows.length && old) old.before(this.line);
    top.prepend(...rows);
    if (head) {
      const above = this.take(head, since);
      top.prepend(...above, ...(BigInt(head.meta.oldest_id) > BigInt(since) ? [this.gap(head.meta.next_cursor, since)] : []));
    }
    for (const { meta } of pages) this.list.doubt(meta);
  }

  /** Cards of a page for what is newer than `since`. */
  take(page, since) {
    const cards = this.list.take({ ...page, data: page.data.filter((tweet) => position(tweet) > BigInt(since)) });
    cards.forEach((card) => this.eyes.observe(card));
    return cards;
  }

  drop(place) {
    this.list.cards.get(place).remove();
    this.list.cards.delete(place);
  }

  /** A row that loads what lies between `cursor`, above, and `since`, below. */
  gap(cursor, since) {
    const { root, fill } = make("gap");
    fill.onclick = async () => {
      fill.disabled = true;
      try {
        const page = await get(`${this.path()}&limit=${FILL}&cursor=${cursor}`);
        const cards = this.take(page, since);
        root.before(...cards);
        cards[0]?.focus();
        cursor = page.meta.next_cursor;
        if (!cursor || BigInt(cursor) <= BigInt(since)) root.remove();
      } catch (problem) {
        complain(problem);
      }
      fill.disabled = false;
    };
    return root;
  }

  async posted(tweet) {
    say("Your tweet is posted.");
    // It comes with the page above, at its place. If it is late, it is on top until then.
    await this.fill();
    if (this.list.cards.has(placeOf(tweet))) return;
    const [card] = this.list.take({ data: [tweet], includes: { users: [session.me] } });
    card.own = true;
    this.list.list.prepend(card);
  }

  saw(card) {
    if (!byTime(card.tweet)) return;
    const place = this.newestId && card === this.list.list.querySelector("article") ? BigInt(this.newestId) : position(card.tweet);
    if (place <= this.read) return;
    this.read = place;
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.mark(), SETTLE_MS);
  }

  async mark() {
    const { version, last_read_id: last = 0 } = this.marker;
    if (version == null || this.read <= BigInt(last)) return;
    const body = { last_read_id: String(this.read), version };
    // If another device was faster, its marker stands, unless this one has read further: then the next move names its version.
    this.marker = await call("PUT", "/v1/home_timeline/marker", { body, quiet: true }).catch(({ marker }) => marker ?? this.marker);
  }
}
