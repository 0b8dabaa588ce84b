// What the scenarios are made of: what is given, what people do in their windows, and what is to be seen then.

import assert from "node:assert/strict";
import { Person, dev, until } from "./cloud.mjs";

export const given = {
  /** People with profiles, one for each name. */
  people: (...names) => Promise.all(names.map((name) => Person.signsUp(name))),

  /** Somebody who follows an author who has posted that many tweets. */
  async aReaderOf(count) {
    const [reader, author] = await given.people("Reader", "Author");
    await reader.follows(author);
    // From the first read on, the reader has a list that tweets are pushed to.
    await reader.home();
    const tweets = await author.postsMany(count, "A tweet to read, number");
    await reader.hasAtHome(tweets);
    return { reader, author, tweets };
  },

  /** The first whom this is true of. People with many followers come first, and the seed has made some. */
  async somebody(isMeant) {
    const { data } = await dev("/dev/people?limit=200");
    const person = data.find(isMeant);
    assert.ok(person, "the seed has made nobody like that");
    return Person.who(person);
  },

  /** Somebody whose tweets are pulled. */
  aCelebrity: () => given.somebody((person) => person.is_celebrity),
};

export const when = {
  async signsIn(window, person, lands = "Home") {
    const { page } = window;
    await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
    await page.getByLabel("Your handle").fill(person.handle);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: lands, exact: true }).waitFor();
  },

  /** Opens a window, signs in, and waits for the first tweets. */
  async reads(world, person, options) {
    const window = await world.opens(options);
    await when.signsIn(window, person);
    await tweets(window).first().waitFor();
    return window;
  },

  async goesTo({ page }, route, heading) {
    await page.evaluate((hash) => (location.hash = hash), route);
    if (heading) await page.getByRole("heading", { name: heading }).first().waitFor();
  },

  /** Key by key, as people do. */
  async posts({ page }, text) {
    await page.getByLabel("What is happening?").pressSequentially(text);
    await page.getByRole("button", { name: "Post", exact: true }).click();
  },

  async presses({ page }, name, within) {
    await (within ?? page).getByRole("button", { name, exact: typeof name === "string" }).click();
  },

  /** An order of the home timeline. What people press is the label. */
  async chooses({ page }, order) {
    const radio = page.getByRole("radio", { name: order });
    await page.locator("label").filter({ has: radio }).click();
    await until(`${order} is chosen`, () => radio.isChecked());
  },

  /** Scrolls down until so many tweets were on the page, or the end is reached. Gives their ids. */
  async scrolls(window, count) {
    const seen = new Map();
    for (let turn = 0; turn < 400 && seen.size < count; turn++) {
      const isEnd = await window.page.getByText("That is everything").isVisible();
      const there = await shown(window);
      then.noneIsThereTwice(there);
      for (const { position, id } of there) seen.set(position, id);
      if (isEnd) break;
      await window.page.mouse.wheel(0, 800);
      await window.page.waitForTimeout(60);
    }
    return [...seen.values()];
  },

  /** Presses whatever brings more tweets on top, as often as it is there, until the page shows these. */
  async fillsUpTo(window, ids, seconds = 30) {
    const { page } = window;
    const more = page.getByRole("button", { name: /new tweets?$|^Load what is between/ });
    await until(
      `the page shows the ${ids.length} tweets that the API has`,
      async () => {
        if (await more.first().isVisible())
          await more
            .first()
            .click({ timeout: 2000 })
            .catch(() => {});
        return (await shown(window)).map(({ id }) => id).slice(0, ids.length);
      },
      (there) => String(there) === String(ids),
      seconds,
    );
  },
};

export const then = {
  async says({ page }, words, role) {
    const place = role ? page.getByRole(role).filter({ hasText: words }) : page.getByText(words);
    await place.filter({ visible: true }).first().waitFor();
  },

  async isPressed(button, pressed = true) {
    const is = () => button.getAttribute("aria-pressed");
    await until(`the button is ${pressed ? "" : "not "}pressed`, is, (value) => value === String(pressed));
  },

  async shows(window, ids) {
    const there = async () => (await shown(window)).map(({ id }) => id).slice(0, ids.length);
    await until("the page shows these tweets", there, (now) => String(now) === String(ids));
  },

  /** A tweet and a repost of it may both be there, far from each other: two positions. */
  noneIsThereTwice(there) {
    assert.equal(new Set(there.map(({ position }) => position)).size, there.length, "a tweet is there twice");
  },

  async nothingJumped(window, world, doing) {
    const { worst, what } = await window.layoutShift();
    world.measured(`layout shift while ${doing}: ${worst.toFixed(3)}`);
    assert.ok(worst < 0.1, `things jumped by ${worst}: ${what.slice(0, 10).join("; ")}`);
  },

  async nothingSticksOut({ page }) {
    const [wide, screen] = await page.evaluate(() => [document.scrollingElement.scrollWidth, window.innerWidth]);
    assert.ok(wide <= screen, `the page is ${wide} px wide on a screen of ${screen} px`);
  },
};

export const feed = ({ page }) => page.getByRole("feed", { name: "Home timeline" });
/** The tweets of the view, from top to bottom. */
export const tweets = ({ page }) => page.locator("main article[data-tweet-id]");
export const tweet = ({ page }, id) => page.locator(`main article[data-tweet-id="${id}"]`).first();
export const bar = ({ page }) => page.getByRole("button", { name: /^(\d+|99\+) new tweets?$/ });
/** A button of a window, or of a part of its page. */
export const button = (place, name) => (place.getByRole ? place : place.page).getByRole("button", { name });

/** Id and position of each tweet on the page. */
export const shown = (window) =>
  tweets(window).evaluateAll((articles) =>
    articles.map(({ dataset }) => ({ id: dataset.tweetId, position: dataset.position })),
  );
