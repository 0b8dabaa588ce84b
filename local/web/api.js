// One call of the API: where it is, with which token, and what is done if it fails. All that this page asks for may be asked
// for again: reads, PUT and DELETE by what they are, posts by their Idempotency-Key (docs/CLIENTS.md, "Errors").

import { say, words } from "./dom.js";

export const config = await (await fetch("config.json")).json();

const MOST_FAILURES = 4;
const MOST_REFUSALS = 8;
const TIMEOUT_MS = 20_000;

export const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What went wrong; its message is for readers. Without a status, there was no answer. */
export class Problem extends Error {
  constructor(status, body = {}) {
    const type = body.type?.split(":").pop();
    const known = status >= 500 ? "failed" : status ? type : navigator.onLine ? "silent" : "offline";
    const details = body.errors?.map((error) => error.detail).join("; ");
    super(words(known) ?? details ?? body.detail ?? body.message ?? `The answer was ${status}.`);
    Object.assign(this, { status, type, marker: body.marker });
  }
}

// Set by session.js: the token, how to get a new one, and what to do if that does not help.
export const access = {};

export async function call(method, path, { body, key, token, quiet } = {}) {
  const headers = { "content-type": "application/json", ...(key && { "idempotency-key": key }) };
  let failures = 0;
  let refusals = 0;
  for (;;) {
    if (token ?? access.token) headers.authorization = `Bearer ${token ?? access.token}`;
    const { ok, status, said, retryAfter } = await send(method, path, headers, body);
    if (ok) return said;
    if (status === 429 && ++refusals < MOST_REFUSALS) {
      // Nothing was done. The random part keeps calls apart that were refused together.
      const seconds = Math.max(1, Number(retryAfter));
      if (!quiet) say(`Too many requests; trying again in ${seconds} s`);
      await pause(seconds + Math.random());
    } else if (status === 401 && !token) {
      if (failures++ || !(await access.renew())) {
        access.end();
        throw new Problem(status, said);
      }
    } else if ((!status || status >= 500) && navigator.onLine && ++failures < MOST_FAILURES) {
      await pause(Math.random() * 2 ** failures * 0.4);
    } else {
      throw new Problem(status, said);
    }
  }
}

async function send(method, path, headers, body) {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetch(config.api + path, { method, headers, body: body && JSON.stringify(body), signal });
    const { ok, status } = answer;
    const text = await answer.text();
    // What is not JSON is not from Roost: the status says enough.
    const said = /^[{[]/.test(text) ? JSON.parse(text) : undefined;
    return { ok, status, said, retryAfter: answer.headers.get("retry-after") };
  } catch {
    return { ok: false, status: 0 };
  }
}

export const get = (path, options) => call("GET", path, options);

// Ids are texts, because JavaScript's numbers are too small for them.
const EPOCH_MS = 1_767_225_600_000;
const TIME_BITS = 22n;

/**
 * Where a tweet stands in time. The API does not tell the id of a repost, but its time: the smallest id of that millisecond
 * is close enough to compare, and never too new.
 */
export const position = ({ id, reposted_by: by }) => (by ? BigInt(Date.parse(by.at) - EPOCH_MS) << TIME_BITS : BigInt(id));

/** The name of its place in a list. A tweet and its repost have two. */
export const placeOf = ({ id, reposted_by: by }) => (by ? `${id}:${by.user_id}:${Date.parse(by.at)}` : id);
