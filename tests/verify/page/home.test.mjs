// The home timeline: what is new, what is below, and in which order.

import assert from "node:assert/strict";
import { pause, until } from "./cloud.mjs";
import { bar, button, feed, given, shown, then, tweet, tweets, when } from "./steps.mjs";
import { scenario } from "./world.mjs";

/** Promised are about five seconds; a machine that is busy may take longer. */
const ANNOUNCED_WITHIN = 15;

scenario("a tweet is announced to a reader without a reload, and what they read stays where it is", async (world) => {
  const { reader, author } = await given.aReaderOf(30);
  const readers = await when.reads(world, reader);
  const authors = await world.opens();
  await when.signsIn(authors, author);

  const { page } = readers;
  await page.evaluate(() => (window.sameDocument = true));
  await tweets(readers)
    .nth(6)
    .evaluate((article) => article.scrollIntoView());
  await pause(0.5);
  const before = await shown(readers);
  const place = await tweets(readers).nth(6).boundingBox();

  const started = Date.now();
  await when.posts(authors, "Something new for the reader");
  await bar(readers)
    .filter({ hasText: "1 new tweet" })
    .waitFor({ timeout: 1000 * ANNOUNCED_WITHIN });
  world.measured(`the bar came ${((Date.now() - started) / 1000).toFixed(1)} s after the post`);

  assert.deepEqual((await shown(readers)).slice(0, before.length), before, "nothing is put above what one reads");
  const now = await tweets(readers).nth(6).boundingBox();
  assert.ok(Math.abs(now.y - place.y) < 2, `what one reads moved from ${place.y} to ${now.y}`);

  await bar(readers).click();
  const announced = tweets(readers).first();
  await announced.filter({ hasText: "Something new for the reader" }).waitFor();
  await until("the new tweet is on the screen", () =>
    announced.evaluate((article) => article.getBoundingClientRect().bottom > 0),
  );
  await bar(readers).waitFor({ state: "hidden" });
  await then.shows(readers, await reader.homeIds(20));
  assert.ok(await page.evaluate(() => window.sameDocument), "the page was loaded again");
});

scenario(
  "300 tweets scroll by without a double or a hole, while new ones arrive",
  async (world) => {
    const [reader, ...authors] = await given.people("Scroller", "One", "Two", "Three", "Four");
    const celebrity = await given.aCelebrity();
    await reader.follows(...authors, celebrity);
    const posted = await Promise.all(
      [...authors, celebrity].map((author) => author.postsMany(64, `From ${author.name},`)),
    );
    await authors[0].call("PUT", `/v1/tweets/${posted[1][3].id}/repost`);
    await reader.hasAtHome(posted.flat());
    const expected = await reader.homeIds();

    const window = await when.reads(world, reader);
    const started = Date.now();
    const first = await when.scrolls(window, 120);
    const late = await authors[1].postsMany(3, "While you scroll,");
    const ids = await when.scrolls(window, 300);
    world.measured(`${ids.length} tweets scrolled by in ${((Date.now() - started) / 1000).toFixed(1)} s`);

    assert.ok(first.length >= 120 && ids.length >= 300, `only ${ids.length} tweets came`);
    assert.deepEqual(ids, expected.slice(0, ids.length), "the page and the API have the same tweets in the same order");
    await then.nothingJumped(window, world, "scrolling");

    await bar(window)
      .filter({ hasText: "3 new tweets" })
      .waitFor({ timeout: 1000 * ANNOUNCED_WITHIN });
    await bar(window).click();
    await reader.hasAtHome(late);
    await then.shows(window, await reader.homeIds(ids.length));
  },
  { seconds: 120 },
);

scenario("the last page says that it is the last", async (world) => {
  const { reader } = await given.aReaderOf(45);
  const window = await when.reads(world, reader);
  const ids = await when.scrolls(window, 1000);
  assert.deepEqual(ids, await reader.homeIds());
  await then.says(window, "That is everything");
});

scenario("somebody who follows nobody is told what to do", async (world) => {
  const [newcomer] = await given.people("Newcomer");
  const window = await world.opens();
  await when.signsIn(window, newcomer);
  await then.says(window, /follow/i);
  assert.equal(await tweets(window).count(), 0);
});

scenario("the order is the reader's choice", async (world) => {
  const { reader, tweets: posted } = await given.aReaderOf(12);
  await reader.call("PUT", `/v1/tweets/${posted[2].id}/like`);
  const window = await when.reads(world, reader);
  const { page } = window;
  const latest = await reader.homeIds(12);
  await then.shows(window, latest);

  const answer = page.waitForResponse((response) => response.url().includes("order=ranked") && response.ok());
  await when.chooses(window, "Ranked");
  const ranked = (await (await answer).json()).data.map(({ id }) => id);
  await then.shows(window, ranked);
  assert.deepEqual([...ranked].sort(), [...latest].sort());

  await when.chooses(window, "Latest");
  await then.shows(window, latest);
});

scenario("each tweet says how it came, and a ranked one why it stands there", async (world) => {
  const { reader } = await given.aReaderOf(3);
  const celebrity = await given.aCelebrity();
  await reader.follows(celebrity);
  const famous = await celebrity.posts("Said by a celebrity");
  await reader.hasAtHome([famous]);
  const window = await when.reads(world, reader);
  const { page } = window;
  await page.getByRole("checkbox", { name: "Show how it came" }).check();
  await tweet(window, famous.id)
    .filter({ hasText: /pulled/i })
    .waitFor();
  await tweets(window)
    .filter({ hasText: /pushed|backfilled/i })
    .filter({ hasText: /\d ?m?s\b/ })
    .first()
    .waitFor();

  await when.chooses(window, "Ranked");
  for (const part of [/recency/i, /engagement/i, /affinity/i, /content/i])
    await tweets(window).first().filter({ hasText: part }).waitFor();
});

scenario("activity brings tweets of strangers, and says who brought them", async (world) => {
  const [reader, friend, stranger] = await given.people("Curious", "Friend", "Stranger");
  await reader.follows(friend);
  const own = await friend.postsMany(8, "A friend's tweet");
  const found = await stranger.posts("A stranger's tweet");
  await friend.call("PUT", `/v1/tweets/${found.id}/like`);
  await reader.hasAtHome(own);
  await until("the activity is there", async () => {
    const page = await reader.call("GET", "/v1/home_timeline?include=activity&limit=20");
    return page.data.some(({ id }) => id === found.id);
  });
  const window = await when.reads(world, reader);
  assert.equal(await tweet(window, found.id).count(), 0);
  await window.page.getByRole("checkbox", { name: "Activity" }).check();
  await tweet(window, found.id)
    .filter({ hasText: /Friend.*liked/ })
    .waitFor();
});

scenario("a reader sees how far they have read, and the page remembers it", async (world) => {
  const { reader, tweets: posted } = await given.aReaderOf(15);
  const read = posted[9].id;
  await reader.call("PUT", "/v1/home_timeline/marker", { last_read_id: read, version: 0 });
  const window = await when.reads(world, reader);
  const line = window.page.getByText("You are caught up").first();
  await line.waitFor();
  const isBetween = (element, ids) => {
    const [above, below] = ids.map((id) => document.querySelector(`article[data-tweet-id="${id}"]`));
    const follows = (a, b) => Boolean(a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING);
    return follows(above, element) && (follows(element, below) || below.contains(element));
  };
  assert.ok(await line.evaluate(isBetween, [posted[10].id, read]), "the line is right above what was read");

  await when.scrolls(window, 15);
  await window.page.mouse.wheel(0, -20_000);
  await until(
    "the marker is the newest tweet",
    async () => (await reader.call("GET", "/v1/home_timeline/marker")).last_read_id,
    (id) => id === posted.at(-1).id,
  );
});

scenario("the timeline is a feed, and a button loads more for those who do not scroll", async (world) => {
  const { reader } = await given.aReaderOf(45);
  const window = await when.reads(world, reader);
  await feed(window).waitFor();
  const before = await tweets(window).count();
  const more = button(window, "Load more");
  await more.focus();
  await window.page.keyboard.press("Enter");
  await until(
    "there are more tweets",
    () => tweets(window).count(),
    (count) => count > before,
  );
});
