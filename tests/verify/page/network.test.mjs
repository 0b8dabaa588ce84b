// What the page does and says if something does not answer.

import assert from "node:assert/strict";
import { until } from "./cloud.mjs";
import { bar, given, shown, then, tweets, when } from "./steps.mjs";
import { scenario } from "./world.mjs";

const HOME = /\/v1\/home_timeline(\?|$)/;
const held = { before: (window) => window.holdsItsWebSockets() };

scenario(
  "somebody who was offline comes back without a hole",
  async (world) => {
    const { reader, author } = await given.aReaderOf(30);
    const window = await when.reads(world, reader, held);
    await window.goesOffline();
    await then.says(window, /You are offline/, "status");
    const missed = await author.postsMany(25, "While you were away,");
    await reader.hasAtHome(missed);
    const before = await shown(window);
    await window.comesBack();
    await window.page
      .getByText(/You are offline/)
      .filter({ visible: true })
      .first()
      .waitFor({ state: "hidden" });
    const started = Date.now();
    await bar(window).filter({ hasText: "25 new tweets" }).waitFor({ timeout: 40_000 });
    world.measured(`back online, the bar came after ${((Date.now() - started) / 1000).toFixed(1)} s`);
    assert.deepEqual((await shown(window)).slice(0, before.length), before, "nothing is put above what one reads");
    const expected = await reader.homeIds(before.length + 25);
    await when.fillsUpTo(window, expected);
    then.noneIsThereTwice(await shown(window));

    // The line is alive again.
    await author.posts("And this one comes live");
    await bar(window).filter({ hasText: "1 new tweet" }).waitFor({ timeout: 40_000 });
  },
  { seconds: 120 },
);

scenario(
  "a long absence leaves a gap that can be filled",
  async (world) => {
    const { reader, author } = await given.aReaderOf(25);
    const [stranger] = await given.people("Stranger");
    const found = await stranger.postsMany(10, "Reposted,");
    const window = await when.reads(world, reader, held);
    await window.goesOffline();
    await then.says(window, /You are offline/, "status");
    const missed = [...found];
    // A repost stands at a place of its own, which pages do not tell.
    for (const { id } of found) {
      missed.push(...(await author.postsMany(14, "While you were away for long,")));
      await author.call("PUT", `/v1/tweets/${id}/repost`);
    }
    await reader.hasAtHome(missed);
    await window.comesBack();
    await bar(window).waitFor({ timeout: 40_000 });
    await bar(window).click();
    const gap = window.page.getByRole("button", { name: /^Load what is between/ });
    await gap.waitFor();
    const expected = await reader.homeIds(missed.length + 20);
    await when.fillsUpTo(window, expected);
    await gap.waitFor({ state: "detached" });
    then.noneIsThereTwice(await shown(window));
  },
  { seconds: 120 },
);

scenario("without WebSockets, the page asks every half minute", async (world) => {
  const { reader, author } = await given.aReaderOf(5);
  const window = await when.reads(world, reader, {
    async before(window) {
      await window.holdsItsWebSockets();
      await window.cutsWebSockets();
      await window.page.clock.install();
    },
  });
  await author.posts("Found by asking");
  await until("the bar is there", async () => {
    await window.page.clock.fastForward(31_000);
    await window.page.waitForTimeout(500);
    return bar(window).isVisible();
  });
  await bar(window).click();
  await tweets(window).first().filter({ hasText: "Found by asking" }).waitFor();
});

scenario("a connection that breaks is made again, and nothing is missed", async (world) => {
  const { reader, author } = await given.aReaderOf(5);
  const window = await when.reads(world, reader, held);
  await until("the page is connected", () => window.sockets.size > 0);
  await window.cutsWebSockets();
  await author.posts("Posted while the line was dead");
  window.isCut = false;
  await until("the page is connected again", () => window.sockets.size > 0);
  await bar(window).filter({ hasText: "1 new tweet" }).waitFor({ timeout: 40_000 });
});

scenario("too many requests: the page says so, waits, and goes on by itself", async (world) => {
  const { reader } = await given.aReaderOf(5);
  const window = await world.opens();
  window.expects(/status of 429/);
  let refused = 0;
  const problem = { type: "urn:roost:problem:too-many", title: "Too many requests", status: 429, detail: "wait" };
  await window.page.route(HOME, (route) => {
    if (refused++ > 0) return route.continue();
    return route.fulfill({
      status: 429,
      headers: { "retry-after": "3" },
      contentType: "application/problem+json",
      json: problem,
    });
  });
  await when.signsIn(window, reader);
  await then.says(window, /Too many requests; trying again in \d+ s/);
  await tweets(window).nth(4).waitFor();
  await window.page
    .getByText(/Too many requests/)
    .filter({ visible: true })
    .first()
    .waitFor({ state: "hidden" });
});

scenario("a page with missing parts says so", async (world) => {
  const { reader } = await given.aReaderOf(5);
  const window = await world.opens();
  await window.page.route(HOME, async (route) => {
    const answer = await route.fetch();
    const page = await answer.json();
    page.meta = { ...page.meta, complete: false, reasons: ["cache_unavailable"] };
    await route.fulfill({ response: answer, json: page });
  });
  await when.signsIn(window, reader);
  await then.says(window, /Parts of this page are missing: the cache does not answer/);
  await tweets(window).first().waitFor();
});

scenario("an error of the system is said in words, and can be tried again", async (world) => {
  const { reader } = await given.aReaderOf(5);
  const window = await world.opens();
  window.expects(/status of 500/);
  let works = false;
  const problem = {
    type: "urn:roost:problem:internal",
    title: "Something went wrong",
    status: 500,
    detail: "an error of ours",
    request_id: "r-1",
  };
  await window.page.route(HOME, (route) =>
    works ? route.continue() : route.fulfill({ status: 500, contentType: "application/problem+json", json: problem }),
  );
  await when.signsIn(window, reader);
  await then.says(window, /\w+ \w+ \w+/, "alert");
  works = true;
  const again = window.page.getByRole("button", { name: /again/i }).first();
  await until("the tweets are there", async () => {
    if (await again.isVisible()) await again.click({ timeout: 2000 }).catch(() => {});
    return (await tweets(window).count()) === 5;
  });
});

scenario("a session that has ended leads back to the sign-in", async (world) => {
  const { reader } = await given.aReaderOf(5);
  const window = await when.reads(world, reader);
  window.expects(/status of 401/);
  await window.page.route("**/v1/**", (route) => route.fulfill({ status: 401, json: { message: "Unauthorized" } }));
  await when.goesTo(window, "#/likes");
  await window.page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
});
