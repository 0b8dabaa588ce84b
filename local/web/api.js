// One call of the API, and what is done if it fails. All that this page asks for may be asked for again: reads, PUT and DELETE
// by what they are, posts by their Idempotency-Key (docs/CLIENTS.md, "Errors").

import { say, words } from "./dom.js";

export const config = await (await fetch("config.json")).json();

const MOST_FAILURES = 4;
const MOST_REFUSALS = 8;
const TIMEOUT_MS = 20_000;

export const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** What went wrong, in words for readers. Without a status, there was no answer. */
export class Problem extends Error {
	constructor(status, body = {}) {
		const type = body.type?.split(":").pop();
		const known = status >= 500 ? "failed" : status ? type : navigator.onLine ? "silent" : "offline";
		super(words(known) ?? body.errors?.map((error) => error.detail).join("; ") ?? body.detail ?? body.message);
		Object.assign(this, { status, type, marker: body.marker });
	}
}

/** The token, how to renew it, and how to end the session if that does not help. session.js sets them. */
export const access = {};

export async function call(method, path, { body, key, token, quiet } = {}) {
	const headers = { "content-type": "application/json", ...(key && { "idempotency-key": key }) };
	let failures = 0;
	let refusals = 0;
	for (;;) {
		const used = token ?? access.token;
		// Somebody has signed out meanwhile.
		if (!used && path.startsWith("/v1")) throw new Problem(401, { detail: words("signed-out") });
		if (used) headers.authorization = `Bearer ${used}`;
		const { ok, status, said, retryAfter } = await send(method, path, headers, body);
		if (ok) return said;
		if (status === 429 && ++refusals < MOST_REFUSALS) {
			// Nothing was done. The random part keeps calls apart that were refused together.
			const seconds = Math.max(1, Number(retryAfter));
			if (!quiet) say(`Too many requests; trying again in ${seconds} s`);
			await pause(seconds + Math.random());
		} else if ((!status || status >= 500) && navigator.onLine && ++failures < MOST_FAILURES) {
			await pause(Math.random() * 2 ** failures * 0.4);
		} else if (status !== 401 || token || failures++ || !(await access.renew())) {
			if (status === 401) access.end();
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

// An id is a text, too large for JavaScript's numbers: milliseconds since 2026, and 22 bits.
const EPOCH_MS = 1_767_225_600_000;

/** Where a tweet stands. Of a repost, the API tells the time but not the id: the smallest of that millisecond is close. */
export const position = ({ id, reposted_by: by }) => (by ? BigInt(Date.parse(by.at) - EPOCH_MS) << 22n : BigInt(id));

/** The name of its place in a list. A tweet and its repost have two. */
export const placeOf = ({ id, reposted_by: by }) => (by ? `${id}:${by.user_id}:${Date.parse(by.at)}` : id);
