// Who reads here. Without an OIDC issuer in config.json, people are chosen from a list, and the local cloud gives a token to
// everybody. With one, it is the authorization code flow with PKCE (RFC 7636). The token stays in this tab's sessionStorage.

import { access, call, config, get } from "./api.js";
import { avatar, badge, complain, h, make, many, words } from "./dom.js";

const TOKEN = "roost";
const FLOW = "roost-sign-in";
const oidc = config.oidc?.issuer && config.oidc;

export const session = {};
let saved = JSON.parse(sessionStorage.getItem(TOKEN));

function save(value) {
	saved = value;
	access.token = value?.token;
	sessionStorage.setItem(TOKEN, JSON.stringify(value));
}

/** A token of the local issuer. */
export const localToken = async (sub) => (await call("POST", "/dev/token", { body: { sub } })).access_token;

access.renew = async () => {
	if (saved?.sub) save({ ...saved, token: await localToken(saved.sub) });
	return saved?.sub;
};

export const signOut = (access.end = () => {
	save(null);
	location.hash = "#/signin";
	// Nothing of one person stays for the next.
	location.reload();
});

/** Finds out who is signed in. True if they still have to choose a handle. */
export async function resume() {
	await finishOidc().catch(complain);
	access.token = saved?.token;
	try {
		session.me = saved ? await get("/v1/users/me") : undefined;
	} catch (problem) {
		if (problem.type === "no-profile") return true;
		if (problem.status !== 401) throw problem;
	}
}

const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/[+/=]/g, (sign) => ({ "+": "-", "/": "_" })[sign] ?? "");
const random = () => crypto.randomUUID() + crypto.randomUUID();
const here = () => location.origin + location.pathname;

async function ask(url, options) {
	const answer = await fetch(url, options).catch(() => ({}));
	if (!answer.ok) throw new Error(words("no-sign-in"));
	return answer.json();
}

const provider = () => ask(`${oidc.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);

async function startOidc() {
	const url = new URL((await provider()).authorization_endpoint);
	const [state, verifier] = [random(), random()];
	sessionStorage.setItem(FLOW, JSON.stringify({ state, verifier }));
	const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
	const { client_id, scope = "openid" } = oidc;
	const fields = { response_type: "code", client_id, redirect_uri: here(), scope, state, code_challenge: base64url(digest), code_challenge_method: "S256" };
	for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
	location.assign(url);
}

async function finishOidc() {
	const answer = new URLSearchParams(location.search);
	if (!oidc || !(answer.has("state") || answer.has("error"))) return;
	const flow = JSON.parse(sessionStorage.getItem(FLOW));
	sessionStorage.removeItem(FLOW);
	// The code is good once: it must not stay in the address, or in the history.
	history.replaceState(null, "", `${location.pathname}#/`);
	// A code that this tab did not ask for is somebody else's.
	if (!answer.has("code") || answer.get("state") !== flow?.state) throw new Error(words("no-sign-in"));
	const fields = { grant_type: "authorization_code", code: answer.get("code"), client_id: oidc.client_id, redirect_uri: here(), code_verifier: flow.verifier };
	const { access_token: token } = await ask((await provider()).token_endpoint, { method: "POST", body: new URLSearchParams(fields) });
	save({ token });
}

/** The local cloud's people, the most followed first. */
export const demoPeople = async () => (await get("/dev/people?limit=200")).data;

export const nameOf = (user, before) =>
	h("span", { class: "grow" }, h("b", {}, user.name, badge(user)), h("small", {}, before && h("span", { class: "sr" }, before), `@${user.handle}`));

/** `enter` goes on as soon as there is a token. */
export function signInView(enter) {
	const { root, form, handle, list, hint, away } = make("signin");
	if (oidc) {
		hint.textContent = words("away");
		form.hidden = list.hidden = true;
		away.hidden = false;
		away.onclick = () => startOidc().catch(complain);
		return root;
	}
	let people = [];
	const wanted = () => handle.value.trim().replace(/^@/, "");
	async function signIn(sub) {
		save({ sub, token: await localToken(sub) });
		await enter();
	}
	const as = (sub) => signIn(sub).catch(complain);
	const row = (person) => {
		const button = { type: "button", class: "person", onclick: () => as(person.sub) };
		return h("li", {}, h("button", button, avatar(person), nameOf(person, "Sign in as "), h("small", {}, many(person.follower_count, "follower"))));
	};
	const show = () => list.replaceChildren(...people.filter((person) => `${person.handle} ${person.name}`.includes(wanted())).slice(0, 24).map(row));
	handle.oninput = show;
	form.onsubmit = () => {
		if (wanted()) as(people.find((person) => person.handle === wanted())?.sub ?? wanted());
		return false;
	};
	demoPeople().catch(() => []).then((found) => {
		people = found;
		hint.textContent = words(found.length ? "choose" : "nobody");
		show();
	});
	return root;
}

export function signUpView(enter) {
	const { root, form, handle, name, error } = make("signup");
	handle.value = saved?.sub?.replace(/\W/g, "_").slice(0, 15) ?? "";
	form.onsubmit = () => {
		const body = { handle: handle.value, name: name.value };
		call("POST", "/v1/users", { body }).then(enter).catch((problem) => (error.textContent = problem.message));
		return false;
	};
	return root;
}
