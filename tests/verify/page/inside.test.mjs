// The inside view: what the pipeline does, and buttons that make things happen. Nothing gets lost.

import assert from "node:assert/strict";
import { dev, until } from "./cloud.mjs";
import { given, then, when } from "./steps.mjs";
import { scenario } from "./world.mjs";

/** A button does something, waits until it is on somebody's page, and says so then. */
const SETTLED_WITHIN = 45;
const said = ({ page }, words) =>
  page
    .locator("main")
    .getByRole("status")
    .filter({ hasText: words })
    .first()
    .waitFor({ timeout: 1000 * SETTLED_WITHIN });

scenario(
  "after Redis was flushed by the button, reading goes on",
  async (world) => {
    const { reader } = await given.aReaderOf(30);
    const celebrity = await given.aCelebrity();
    await reader.follows(celebrity);
    const famous = await celebrity.posts("Said before the flush");
    await reader.hasAtHome([famous]);
    const expected = await reader.homeIds();
    const window = await when.reads(world, reader);
    await when.goesTo(window, "#/inside", /inside/i);
    await when.presses(window, "Flush Redis");
    await said(window, /\d+ keys.*Nothing is lost/s);
    await when.goesTo(window, "#/", "Home");
    await then.shows(window, expected.slice(0, 20));
    assert.deepEqual(await when.scrolls(window, 1000), expected);
  },
  { seconds: 90 },
);

scenario("after a function was killed by the button, reading goes on", async (world) => {
  const { reader } = await given.aReaderOf(5);
  const window = await when.reads(world, reader);
  const { page } = window;
  await when.goesTo(window, "#/inside", /inside/i);
  await page.locator("main").getByRole("combobox").selectOption("home-timeline");
  await when.presses(window, "Kill a function");
  await said(window, /home-timeline \(process \d+\) was killed.*Nothing is lost/s);
  await when.goesTo(window, "#/", "Home");
  await then.shows(window, await reader.homeIds(5));
});

scenario(
  "somebody becomes a celebrity before one's eyes",
  async (world) => {
    const { reader } = await given.aReaderOf(5);
    const celebrities = async () =>
      (await dev("/dev/people?limit=200")).data.filter((person) => person.is_celebrity).length;
    const before = await celebrities();
    const window = await when.reads(world, reader);
    await when.goesTo(window, "#/inside", /inside/i);
    await when.presses(window, "Make someone a celebrity");
    await until("there is one celebrity more", celebrities, (now) => now > before, 60);
    await said(window, /is a celebrity now.*Nothing is lost/s);
  },
  { seconds: 120 },
);

scenario(
  "a post can be followed through the pipeline",
  async (world) => {
    const { reader } = await given.aReaderOf(5);
    const window = await when.reads(world, reader);
    const { page } = window;
    await when.goesTo(window, "#/inside", /inside/i);
    const view = page.locator("main");
    const picture = view.locator("svg").first();
    await picture.waitFor();
    for (const word of ["publish-tweets", "Kinesis", "fan-out-tweets", "fan-out-pages", "Redis", "home-timeline"])
      await picture.filter({ hasText: word }).waitFor();
    await when.presses(window, "Post as an ordinary author");
    await said(window, /delivered to each of them.*pushed/s);
    await when.presses(window, "Post as a celebrity");
    await said(window, /one write.*pulled/s);
  },
  { seconds: 90 },
);

scenario("where there is no local cloud, the inside view says so", async (world) => {
  const { reader } = await given.aReaderOf(2);
  const window = await when.reads(world, reader);
  window.expects(/status of 404/);
  await window.page.route("**/dev/**", (route) => route.fulfill({ status: 404, json: { message: "Not Found" } }));
  await when.goesTo(window, "#/inside", /inside/i);
  await then.says(window, /local cloud/i);
  assert.equal(await window.page.getByRole("button", { name: "Flush Redis" }).count(), 0);
});
