// Signing in and out, and people: follow, mute, block.

import assert from "node:assert/strict";
import { until } from "./cloud.mjs";
import { button, given, then, tweets, when } from "./steps.mjs";
import { scenario } from "./world.mjs";

scenario("a newcomer signs up, and signs out again", async (world) => {
  const window = await world.opens();
  const { page } = window;
  // The browser shows the answer to "who am I" in the console.
  window.expects(/status of (403|404)/);
  const handle = `new_${Math.random().toString(36).slice(2, 8)}`;
  await page.getByLabel("Your handle").fill(handle);
  await when.presses(window, "Sign in");
  await page.getByRole("heading", { name: "Create your profile" }).waitFor();
  assert.equal(await page.getByRole("textbox", { name: "Handle", exact: true }).inputValue(), handle);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Somebody New");
  await when.presses(window, "Create profile");
  await page.getByRole("heading", { name: "Home", exact: true }).waitFor();
  await when.presses(window, "Sign out");
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
});

scenario("a demo person signs in with one press, and stays so after a reload", async (world) => {
  const window = await world.opens();
  const { handle } = await given.aCelebrity();
  await button(window, new RegExp(`Sign in as @${handle}\\b`)).click();
  await window.page.getByRole("heading", { name: "Home", exact: true }).waitFor();
  await window.page.reload();
  await window.page.getByRole("heading", { name: "Home", exact: true }).waitFor();
});

scenario("people are followed, and followed no more", async (world) => {
  const [reader, author] = await given.people("Reader", "Author");
  await author.posts("Follow me and see");
  const window = await world.opens();
  await when.signsIn(window, reader);
  await when.goesTo(window, `#/u/${author.handle}`, "Author");
  await then.says(window, `@${author.handle}`);
  await tweets(window).filter({ hasText: "Follow me and see" }).waitFor();
  const follow = button(window, /^Follow(ing)?$/);
  await then.isPressed(follow, false);
  await follow.click();
  await then.isPressed(follow);
  await until("the tweet is at home", async () => (await reader.homeIds()).length === 1);
  await follow.click();
  await then.isPressed(follow, false);
  await until("the tweet is gone", async () => (await reader.homeIds()).length === 0);
});

for (const [does, name] of [
  ["muted", /^Muted?$/],
  ["blocked", /^Block(ed)?$/],
]) {
  scenario(`an author who is ${does} leaves the home timeline`, async (world) => {
    const { reader, author } = await given.aReaderOf(3);
    const [other] = await given.people("Other");
    await reader.follows(other);
    const kept = await other.posts("I stay");
    await reader.hasAtHome([kept]);
    const window = await when.reads(world, reader);
    assert.equal(await tweets(window).count(), 4);
    await when.goesTo(window, `#/u/${author.handle}`, "Author");
    await button(window, name).click();
    await then.isPressed(button(window, name));
    await when.goesTo(window, "#/", "Home");
    await then.shows(window, [kept.id]);
    await until(
      "only one tweet is left",
      () => tweets(window).count(),
      (count) => count === 1,
    );
  });
}

scenario("a celebrity has a badge", async (world) => {
  const [reader] = await given.people("Reader");
  const celebrity = await given.aCelebrity();
  const window = await world.opens();
  await when.signsIn(window, reader);
  await when.goesTo(window, `#/u/${celebrity.handle}`, celebrity.name);
  await window.page
    .locator("main")
    .getByLabel("Celebrity")
    .or(window.page.locator("main").getByText("Celebrity", { exact: true }))
    .first()
    .waitFor();
});

scenario("somebody who does not exist is said not to exist", async (world) => {
  const [reader] = await given.people("Reader");
  const window = await world.opens();
  window.expects(/status of 404/);
  await when.signsIn(window, reader);
  await when.goesTo(window, "#/u/nobody_at_all");
  await then.says(window, /no such|not found|nobody|does not exist|there is no/i);
});
