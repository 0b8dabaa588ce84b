// Everybody can use it: by keyboard, with a screen reader, in the dark, without motion. And it is small.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { API, until } from "./cloud.mjs";
import { button, given, then, tweets, when } from "./steps.mjs";
import { NARROW, RESULTS, WIDE, scenario } from "./world.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const KILOBYTES = 60;

/** What axe finds of some consequence. */
async function violations({ page }, rules) {
  await page.evaluate(AXE);
  const found = await page.evaluate((runOnly) => axe.run(document, { runOnly, resultTypes: ["violations"] }), rules);
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.slice(0, 5).map((node) => `${id}: ${node.html.slice(0, 200)} · ${said(node)}`));
}

const said = (node) => node.failureSummary.replace(/\s+/g, " ");

/** A theme changes colours and nothing else. */
const THEMES = { light: { type: "tag", values: RULES }, dark: { type: "rule", values: ["color-contrast"] } };

for (const [size, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
  const look = async (window, view) => {
    await then.nothingSticksOut(window);
    for (const [theme, rules] of Object.entries(THEMES)) {
      await window.page.emulateMedia({ colorScheme: theme });
      await window.page.screenshot({ path: join(RESULTS, `${view}-${size}-${theme}.png`) });
      const found = await violations(window, rules);
      assert.deepEqual(found, [], `${view} in the ${theme} theme`);
    }
  };

  const views = async (world) => {
    // Somebody of the seed, whose timeline has some of everything.
    const reader = await given.somebody(({ handle }) => handle === "alice");
    const celebrity = await given.somebody(({ handle, is_celebrity }) => is_celebrity && handle !== "alice");
    const home = await reader.home(100);
    const discussed = home.find((tweet) => tweet.reply_count) ?? home[0];
    await reader.call("PUT", `/v1/tweets/${discussed.id}/like`);
    await until("the like is listed", async () => (await reader.call("GET", "/v1/users/me/likes")).data.length);

    // Without motion, a theme is there at once.
    const window = await world.opens({ size: viewport, motion: "reduce" });
    const { page } = window;
    await button(window, /Sign in as @/)
      .first()
      .waitFor();
    await look(window, "signin");
    await when.signsIn(window, reader);
    for (const [view, route, heading] of [
      ["home", "#/", "Home"],
      ["profile", `#/u/${celebrity.handle}`, celebrity.name],
      ["tweet", `#/t/${discussed.id}`],
      ["likes", "#/likes", /likes|liked/i],
      ["inside", "#/inside", /inside/i],
    ]) {
      await when.goesTo(window, route, heading);
      if (view !== "inside") await tweets(window).first().waitFor();
      await look(window, view);
    }
    await when.goesTo(window, "#/", "Home");
    await page.getByRole("checkbox", { name: "Show how it came" }).check();
    await when.chooses(window, "Ranked");
    await tweets(window)
      .filter({ hasText: /recency/i })
      .first()
      .waitFor();
    await look(window, "explained");
  };

  scenario(`axe finds nothing serious on any view in both themes, on a ${size} screen`, views, { seconds: 90 });
}

/** Presses Tab until this is focused, and looks whether one can see that it is. */
async function tabsTo({ page }, goal) {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press("Tab");
    if (!(await goal.count())) continue;
    const visible = await goal.first().evaluate((element) => {
      if (element !== document.activeElement) return undefined;
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
      return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
    });
    if (visible === undefined) continue;
    assert.ok(visible, `one cannot see that ${goal} has the focus`);
    return;
  }
  assert.fail(`${goal} was not reached by Tab`);
}

scenario("with the keyboard alone, one signs in, posts and likes", async (world) => {
  const { reader, tweets: posted } = await given.aReaderOf(3);
  const window = await world.opens();
  const { page } = window;
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await tabsTo(window, page.getByLabel("Your handle"));
  await page.keyboard.type(reader.handle);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Home", exact: true }).waitFor();
  await tweets(window).nth(2).waitFor();

  await tabsTo(window, page.getByLabel("What is happening?"));
  await page.keyboard.type("Typed and posted without a mouse");
  await tabsTo(window, page.getByRole("button", { name: "Post", exact: true }));
  await page.keyboard.press("Enter");
  await tweets(window).filter({ hasText: "Typed and posted without a mouse" }).waitFor();

  const like = button(page.locator(`article[data-tweet-id="${posted[2].id}"]`), /^Like/);
  await tabsTo(window, like);
  await page.keyboard.press("Space");
  await then.isPressed(like);
  await until("the API knows of the like", async () => (await reader.tweet(posted[2].id)).liked);
  assert.ok(await like.evaluate((element) => element === document.activeElement), "the focus stays on the button");
});

scenario("the skip link leads to the content, and the landmarks are there", async (world) => {
  const { reader } = await given.aReaderOf(3);
  const window = await when.reads(world, reader);
  const { page } = window;
  for (const landmark of ["banner", "main", "complementary"])
    assert.ok(await page.getByRole(landmark).count(), landmark);
  assert.equal(await page.getByRole("navigation", { name: "Main" }).count(), 1);
  await page.reload();
  await tweets(window).first().waitFor();
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  assert.ok(
    await skip.evaluate((element) => element === document.activeElement),
    "it is the first thing that Tab reaches",
  );
  await page.keyboard.press("Enter");
  const isInMain = () => page.evaluate(() => document.querySelector("main").contains(document.activeElement));
  await until("the focus is in the content", isInMain);
  await page.getByRole("heading", { name: "Home", exact: true }).waitFor();
});

scenario("what happens is told to a screen reader", async (world) => {
  const { reader, author } = await given.aReaderOf(3);
  const window = await when.reads(world, reader);
  await author.posts("Told, not only shown");
  const live = window.page.locator("[role=status], [aria-live=polite]");
  await live
    .filter({ hasText: /1 new tweet/ })
    .first()
    .waitFor({ state: "attached" });
});

scenario("nothing moves for people who asked for no motion", async (world) => {
  const { reader } = await given.aReaderOf(3);
  const window = await when.reads(world, reader, { motion: "reduce" });
  for (const [route, heading] of [
    ["#/", "Home"],
    ["#/inside", /inside/i],
  ]) {
    await when.goesTo(window, route, heading);
    const moving = await window.page.evaluate(() => {
      const long = (times) => times.split(",").some((time) => parseFloat(time) * (time.includes("ms") ? 1 : 1000) > 20);
      return [document.documentElement, ...document.querySelectorAll("body, body *")]
        .filter((element) => {
          const style = getComputedStyle(element);
          const moves = style.animationName !== "none" && long(style.animationDuration);
          return moves || long(style.transitionDuration) || style.scrollBehavior === "smooth";
        })
        .map((element) => element.outerHTML.slice(0, 100));
    });
    assert.deepEqual(moving.slice(0, 5), []);
  }
});

scenario("script and styles are small", async (world) => {
  const folder = process.env.ROOST_WEB_DIR;
  const files = readdirSync(folder, { recursive: true }).filter((name) => /\.(m?js|css)$/.test(name));
  const bytes = files.reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0);
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const inline = [...page.matchAll(/<(script|style)\b[^>]*>([^]*?)<\/\1>/g)].reduce(
    (sum, found) => sum + found[2].length,
    0,
  );
  world.measured(`${files.length} files of script and styles: ${((bytes + inline) / 1024).toFixed(1)} KB`);
  assert.ok(files.length && bytes + inline < 1024 * KILOBYTES, `${bytes + inline} bytes`);

  // What is not in the folder must not be loaded either.
  const window = await world.opens();
  await window.page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  const loaded = await window.page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
  const foreign = loaded.filter(
    (url) => /\.(m?js|css)(\?|$)/.test(url) && !files.some((file) => url === `${API}/${file}`),
  );
  assert.deepEqual(foreign, []);
});
