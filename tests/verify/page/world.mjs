// A scenario and the browser windows in it. Each window is somebody's own: it shares nothing with the others.
//
// A scenario fails if a console shows an error that it did not expect, or if a page asks a host that is not on
// this machine for anything but a picture.
// What was on the screens of a failed scenario, and in their consoles, is kept in .verify/page/.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { API } from "./cloud.mjs";

export const RESULTS = process.env.ROOST_RESULTS;
/** How long a step may take before it has failed, in seconds. A machine that is busy needs it. */
export const PATIENCE = 15;
export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 390, height: 844 };

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const PICTURE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let browser;
before(async () => {
  mkdirSync(RESULTS, { recursive: true });
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS, timeout: 60_000 });
});
after(() => browser?.close());

/** A test, named by a sentence, that takes at most `seconds`. */
export function scenario(sentence, play, { seconds = 60 } = {}) {
  test(sentence, async (context) => {
    const world = new World(context);
    let alarm;
    const late = new Promise((_, reject) => {
      alarm = setTimeout(() => reject(new Error(`it has not ended after ${seconds} s`)), 1000 * seconds);
    });
    const played = play(world);
    // If it was too late already, nobody waits for how it ends.
    played.catch(() => {});
    try {
      await Promise.race([played, late]);
      for (const window of world.windows) window.hadNoErrors();
    } catch (failure) {
      await world.keepEvidence(sentence, failure);
      throw failure;
    } finally {
      clearTimeout(alarm);
      await world.close();
    }
  });
}

class World {
  windows = [];
  folders = [];
  servers = [];

  constructor(context) {
    this.context = context;
  }

  /** Says a figure that was measured. */
  measured(figure) {
    this.context.diagnostic(figure);
  }

  /** Opens a window of a person without any past. */
  async opens({ at = API, size = WIDE, theme = "light", motion = "no-preference", before } = {}) {
    const context = await browser.newContext({ viewport: size, colorScheme: theme, reducedMotion: motion });
    context.setDefaultTimeout(1000 * PATIENCE);
    await context.addInitScript(watchLayoutShifts);
    // The pictures of tweets are anywhere, and no test needs a network.
    await context.route(/^https:/, (route) => route.fulfill({ contentType: "image/png", body: PICTURE }));
    const window = new Window(context, await context.newPage(), at);
    this.windows.push(window);
    await before?.(window);
    await window.page.goto(`${at}/`);
    return window;
  }

  async folder() {
    this.folders.push(await mkdtemp(join(tmpdir(), "roost-page-")));
    return this.folders.at(-1);
  }

  /** Ends with the scenario. */
  serves(server) {
    this.servers.push(server);
    return server;
  }

  async keepEvidence(sentence, failure) {
    const name = sentence.replace(/\W+/g, "-").slice(0, 80);
    const said = [String(failure.stack ?? failure)];
    for (const [n, window] of this.windows.entries()) {
      said.push(`── window ${n + 1} at ${window.page.url()}`, ...window.console);
      await window.page
        .screenshot({ path: join(RESULTS, `failed-${name}-${n + 1}.png`), timeout: 5000 })
        .catch(() => {});
    }
    writeFileSync(join(RESULTS, `failed-${name}.log`), said.join("\n"));
  }

  async close() {
    await Promise.allSettled(this.windows.map((window) => window.context.close()));
    for (const server of this.servers) server.close();
    for (const folder of this.folders) await rm(folder, { recursive: true, force: true });
  }
}

class Window {
  console = [];
  errors = [];
  strangers = new Set();
  expected = [];
  sockets = new Set();
  isCut = false;

  constructor(context, page, at) {
    Object.assign(this, { context, page, at });
    page.on("console", (message) => {
      const line = `${message.type()}: ${message.text()} (${message.location().url})`;
      this.console.push(line);
      if (message.type() === "error") this.errors.push(line);
    });
    page.on("pageerror", (error) => {
      this.console.push(`thrown: ${error.stack}`);
      this.errors.push(`thrown: ${error.message}`);
    });
    page.on("request", (request) => {
      const { protocol, hostname } = new URL(request.url());
      const isHere = !protocol.startsWith("http") || ["localhost", "127.0.0.1"].includes(hostname);
      const isPicture = ["image", "media"].includes(request.resourceType());
      if (!isHere && !isPicture) this.strangers.add(hostname);
    });
  }

  /** Browsers write every request that fails into the console. A scenario that makes them fail says which. */
  expects(pattern) {
    this.expected.push(pattern);
  }

  hadNoErrors() {
    const wrong = this.errors.filter((line) => !this.expected.some((pattern) => pattern.test(line)));
    assert.deepEqual(wrong, [], "the console shows errors");
    assert.deepEqual([...this.strangers], [], "the page asked other hosts");
  }

  /** WebSockets do not notice that Playwright is offline, so they go through here. Before the page is opened. */
  async holdsItsWebSockets() {
    await this.page.routeWebSocket(/.*/, (socket) => {
      if (this.isCut) return void socket.close({ code: 1001 });
      this.sockets.add(socket);
      socket.connectToServer();
    });
  }

  async cutsWebSockets() {
    this.isCut = true;
    const open = [...this.sockets];
    this.sockets.clear();
    await Promise.allSettled(open.map((socket) => socket.close({ code: 1001 })));
  }

  /** Cuts the network: every request fails, and the WebSockets are gone. */
  async goesOffline() {
    this.expects(/Failed to load resource: net::ERR_INTERNET_DISCONNECTED/);
    await this.context.setOffline(true);
    await this.cutsWebSockets();
  }

  async comesBack() {
    this.isCut = false;
    await this.context.setOffline(false);
  }

  /** How much things on the screen have jumped at worst (CLS), without what followed a key or a click. */
  layoutShift() {
    return this.page.evaluate(() => window.roostShift);
  }
}

/** Adds shifts up as browsers' makers do: the worst burst of them, of at most 5 s, with less than 1 s between two. */
function watchLayoutShifts() {
  window.roostShift = { worst: 0, what: [] };
  let burst = { start: 0, end: 0, sum: 0, what: [] };
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, startTime, value, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      const goesOn = startTime - burst.end < 1000 && startTime - burst.start < 5000;
      if (!goesOn) burst = { start: startTime, sum: 0, what: [] };
      burst.end = startTime;
      burst.sum += value;
      burst.what.push(
        `${value.toFixed(4)} ${[...(sources ?? [])].map(({ node }) => `${node?.nodeName}.${node?.className ?? ""}`).join(" ")}`,
      );
      if (burst.sum > window.roostShift.worst) window.roostShift = { worst: burst.sum, what: burst.what };
    }
  }).observe({ type: "layout-shift", buffered: true });
}
