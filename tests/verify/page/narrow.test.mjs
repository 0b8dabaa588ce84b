// The essentials on the screen of a phone.

import assert from "node:assert/strict";
import { bar, button, given, then, tweet, tweets, when } from "./steps.mjs";
import { NARROW, scenario } from "./world.mjs";

scenario(
  "on a phone, one signs in, reads, posts, likes, and hears of what is new",
  async (world) => {
    const { reader, author, tweets: posted } = await given.aReaderOf(45);
    const window = await when.reads(world, reader, { size: NARROW });
    await then.nothingSticksOut(window);
    const ids = await when.scrolls(window, 45);
    assert.deepEqual(ids, await reader.homeIds(ids.length));
    assert.equal(ids.length, 45);
    await then.nothingJumped(window, world, "scrolling on a phone");

    const like = button(tweet(window, posted[0].id), /^Like/);
    await like.click();
    await then.isPressed(like);

    await author.posts("New on the phone");
    await bar(window).filter({ hasText: "1 new tweet" }).waitFor();
    await bar(window).click();
    await tweets(window).first().filter({ hasText: "New on the phone" }).waitFor();

    await when.posts(window, "Posted from a phone");
    await tweets(window).filter({ hasText: "Posted from a phone" }).waitFor();
    await then.nothingSticksOut(window);

    await when.chooses(window, "Ranked");
    await tweets(window).first().waitFor();
    for (const [route, heading] of [
      [`#/u/${author.handle}`, "Author"],
      ["#/inside", /inside/i],
      ["#/likes", /likes|liked/i],
    ]) {
      await when.goesTo(window, route, heading);
      await then.nothingSticksOut(window);
      const box = await window.page.getByRole("heading", { name: heading }).first().boundingBox();
      assert.ok(box.height < 70, `the heading of ${route} has one letter in a line: it is ${box.height} px high`);
    }
  },
  { seconds: 90 },
);

scenario("a long word does not widen the page", async (world) => {
  const { reader, author } = await given.aReaderOf(1);
  const long = await author.posts("w".repeat(280));
  await reader.hasAtHome([long]);
  const window = await when.reads(world, reader, { size: NARROW });
  await tweet(window, long.id).waitFor();
  await then.nothingSticksOut(window);
});
