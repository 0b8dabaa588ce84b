// One call of the API: where it is, with which token, and what is done if it fails. Everything that this page asks for may be
// asked for again: reads, PUT and DELETE by what they are, posts by their Idempotency-Key (docs/CLIENTS.md, "Errors").

import { say } from "./dom.js";

export const config = await fetch("config.json").then((answer) => answer.json());

const MOST_FAILURES = 4;
const MOST_REFUSALS = 8;
const TIMEOUT_MS = 20_000;

export const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What went wrong, in words that a reader understands. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? body?.message ?? `status ${status}`);
    this.status = status;
    this.type = (body?.type ?? "").replace("urn:roost:problem:", "");
    this.body = body;
  }

  get words() {
    if (this.status === 0) return navigator.onLine ? "Roost does not answer. Try again in a moment." : "You are offline.";
    if (this.body?.errors) return this.body.errors.map((error) => error.detail).join("; ");
    const known = {
      blocked: "Not possible: one of you has blocked the other.",
      "tweet-not-found": "This tweet is not there any more.",
      "user-not-found": "There is nobody with this name.",
      "handle-taken": "Somebody has this handle. Choose another one.",
    };
    if (this.status >= 500) return "Something went wrong on the other side. Try again in a moment.";
    return known[this.type] ?? this.message;
  }
}

// Set by session.js: the token, how to get a new one, and what to do if that does not help.
export const access = { token: undefined, renew: async () => false, end: () => {} };

export async function call(method, path, { body, key, token, quiet } = {}) {
  const headers = { "content-type": "application/json" };
  if (key) headers["idempotency-key"] = key;
  let failures = 0;
  let refusals = 0;
  for (;;) {
    const used = token ?? access.token;
    if (used) headers.authorization = `Bearer ${used}`;
    const answer = await send(method, path, headers, body);
    if (answer.ok) return answer.said;
    const problem = new Problem(answer.status, answer.said);
    if (answer.status === 429 && ++refusals < MOST_REFUSALS) {
      // Nothing of a refused request was done. The random part keeps calls apart that were refused together.
      const seconds = Math.max(1, Number(answer.retryAfter) || 1);
      if (!quiet) say(`Too many requests; trying again in ${seconds} s`);
      await pause(seconds + Math.random());
    } else if (answer.status === 401 && !token && !failures++ && (await access.renew())) {
      continue;
    } else if ((answer.status === 0 || answer.status >= 500) && navigator.onLine && ++failures < MOST_FAILURES) {
      await pause(Math.random() * 2 ** failures * 0.4);
    } else {
      if (answer.status === 401 && !token) access.end();
      throw problem;
    }
  }
}

async function send(method, path, headers, body) {
  try {
    const answer = await fetch(config.api + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await answer.text();
    let said;
    try {
      said = text ? JSON.parse(text) : undefined;
    } catch {
      // Not from Roost: the status says enough.
    }
    return { ok: answer.ok, status: answer.status, retryAfter: answer.headers.get("retry-after"), said };
  } catch {
    return { ok: false, status: 0 };
  }
}

export const get = (path, options) => call("GET", path, options);

// Ids are texts: JavaScript's numbers are too small for them.
const EPOCH_MS = 1_767_225_600_000;
const TIME_SHIFT = 22n;

/**
 * Where a tweet stands in time. The API does not tell the id of a repost, but its time: the smallest id of that millisecond
 * is close enough to compare, and never too new.
 */
export const position = (tweet) =>
  tweet.reposted_by ? BigInt(Date.parse(tweet.reposted_by.at) - EPOCH_MS) << TIME_SHIFT : BigInt(tweet.id);

/** What is the same on two pages is the same place in the timeline. A tweet and its repost are two. */
export const placeOf = ({ id, reposted_by: by }) => (by ? `${id}:${by.user_id}:${Date.parse(by.at)}` : id);
