// What people do with tweets: post, like, repost, reply, hide, delete.

import assert from "node:assert/strict";
import { until } from "./cloud.mjs";
import { button, given, then, tweet, tweets, when } from "./steps.mjs";
import { scenario } from "./world.mjs";

const gone = (window, id) => tweet(window, id).waitFor({ state: "detached" });

scenario("a tweet is liked and not liked any more", async (world) => {
  const {
    reader,
    tweets: [liked],
  } = await given.aReaderOf(3);
  const window = await when.reads(world, reader);
  const like = button(tweet(window, liked.id), /^Like/);
  await then.isPressed(like, false);
  await like.click();
  await then.isPressed(like);
  await button(tweet(window, liked.id), /^Like.*\b1\b/).waitFor();
  await until("the API knows of the like", async () => (await reader.tweet(liked.id)).liked);

  await until("the like is listed", async () => (await reader.call("GET", "/v1/users/me/likes")).data.length);
  await when.goesTo(window, "#/likes", /likes|liked/i);
  await tweet(window, liked.id).waitFor();

  await when.goesTo(window, "#/", "Home");
  await like.click();
  await then.isPressed(like, false);
  await until("the API knows that it was taken back", async () => !(await reader.tweet(liked.id)).liked);
});

scenario("a like that is refused is taken back with a message", async (world) => {
  const {
    reader,
    tweets: [liked],
  } = await given.aReaderOf(3);
  const window = await when.reads(world, reader);
  window.expects(/status of 500/);
  const problem = {
    type: "urn:roost:problem:internal",
    title: "Something went wrong",
    status: 500,
    detail: "try again",
  };
  await window.page.route("**/like", (route) =>
    route.fulfill({ status: 500, contentType: "application/problem+json", json: problem }),
  );
  const like = button(tweet(window, liked.id), /^Like/);
  await like.click();
  await then.says(window, /\w+/, "alert");
  await then.isPressed(like, false);
});

scenario("a repost reaches the followers of the person who reposts", async (world) => {
  const {
    reader,
    tweets: [reposted],
  } = await given.aReaderOf(3);
  const [friend] = await given.people("Friend");
  await friend.follows(reader);
  const window = await when.reads(world, reader);
  const repost = button(tweet(window, reposted.id), /^Repost/);
  await repost.click();
  await then.isPressed(repost);
  await friend.hasAtHome([reposted]);
  const friends = await when.reads(world, friend);
  await tweet(friends, reposted.id)
    .filter({ hasText: /Reader.*reposted|reposted.*Reader/is })
    .waitFor();

  await repost.click();
  await then.isPressed(repost, false);
  await until("the repost is gone", async () => (await friend.homeIds()).length === 0);
});

scenario("a tweet that was hidden stays away, and comes back if it was a mistake", async (world) => {
  const {
    reader,
    tweets: [hidden],
  } = await given.aReaderOf(3);
  const window = await when.reads(world, reader);
  await button(tweet(window, hidden.id), /^Hide/).click();
  await gone(window, hidden.id);
  await until("the API has hidden it", async () => !(await reader.homeIds()).includes(hidden.id));
  await button(window, "Undo").click();
  await tweet(window, hidden.id).waitFor();
  await until("the API has it again", async () => (await reader.homeIds()).includes(hidden.id));
});

scenario("one's own tweet is posted, and deleted after a second thought", async (world) => {
  const [author] = await given.people("Author");
  const window = await world.opens();
  await when.signsIn(window, author);
  const text = "I will think about it";
  await when.posts(window, text);
  const own = tweets(window).filter({ hasText: text });
  await own.waitFor();
  assert.equal(await window.page.getByLabel("What is happening?").inputValue(), "", "the composer is empty again");
  const id = await own.getAttribute("data-tweet-id");
  await button(own, /^Delete/).click();
  assert.equal((await author.tweet(id)).text, text, "it is still there");
  await button(window, "Really delete?").click();
  await gone(window, id);
  await until("the API has deleted it", () =>
    author.tweet(id).then(
      () => false,
      (problem) => /404/.test(problem.message),
    ),
  );
});

scenario("a reply stands under its tweet", async (world) => {
  const {
    reader,
    tweets: [asked],
  } = await given.aReaderOf(3);
  const window = await when.reads(world, reader);
  await button(tweet(window, asked.id), /^Reply/).click();
  await window.page.getByLabel("Your reply").fill("An answer to it");
  await when.presses(window, "Post reply");
  await until(
    "the reply is listed",
    async () => (await reader.call("GET", `/v1/tweets/${asked.id}/replies`)).data.length,
  );
  await when.goesTo(window, `#/t/${asked.id}`);
  await tweet(window, asked.id).waitFor();
  await tweets(window).filter({ hasText: "An answer to it" }).waitFor();
});

scenario("the composer counts characters as a reader does, and refuses what is too long", async (world) => {
  const [author] = await given.people("Author");
  const window = await world.opens();
  await when.signsIn(window, author);
  const text = window.page.getByLabel("What is happening?");
  await text.fill("👨‍👩‍👧‍👦");
  await then.says(window, "279 left");
  await text.fill("é".normalize("NFD").repeat(281));
  const post = button(window, /^Post$/);
  await then.says(window, /-1 left|1 too many|−1 left/);
  assert.ok((await post.isDisabled()) || (await post.getAttribute("aria-disabled")) === "true", "it cannot be posted");
  await text.fill("é".normalize("NFD").repeat(280));
  await then.says(window, "0 left");
  await post.click();
  await tweets(window).first().waitFor();
});

scenario("a picture comes with its description", async (world) => {
  const [author] = await given.people("Author");
  const window = await world.opens();
  const { page } = window;
  await when.signsIn(window, author);
  await page.getByLabel("What is happening?").fill("Look at this");
  await when.presses(window, "Add a picture or video");
  await page.getByLabel("Media URL").fill("https://pictures.test/owl.png");
  await page.getByLabel("Description").fill("An owl on a roost");
  await when.presses(window, "Post");
  const posted = tweets(window).filter({ hasText: "Look at this" });
  await posted.getByRole("img", { name: "An owl on a roost" }).waitFor();
  const id = await posted.getAttribute("data-tweet-id");
  assert.deepEqual((await author.tweet(id)).media, [
    { type: "image", url: "https://pictures.test/owl.png", alt: "An owl on a roost" },
  ]);
});

scenario("a post whose answer was lost is posted once, also if its author presses again", async (world) => {
  const [author] = await given.people("Author");
  const window = await world.opens();
  window.expects(/Failed to load resource: net::ERR_/);
  await when.signsIn(window, author);
  const keys = [];
  let isBroken = true;
  await window.page.route("**/v1/tweets", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.push(route.request().headers()["idempotency-key"]);
    if (!isBroken) return route.continue();
    // The first one arrives, but nobody hears of it.
    if (keys.length === 1) await route.fetch();
    await route.abort("connectionreset");
  });
  await when.posts(window, "Once and not twice");
  await then.says(window, /not posted/i);
  isBroken = false;
  await when.presses(window, "Post");
  await tweets(window).filter({ hasText: "Once and not twice" }).waitFor();
  assert.ok(keys.length > 1 && keys[0], "each attempt has a key");
  assert.equal(new Set(keys).size, 1, "each attempt has the same key");
  const { data } = await author.call("GET", `/v1/users/${author.id}/tweets`);
  assert.equal(data.length, 1);
});
