// Who reads here. Without an OIDC issuer in config.json, the local cloud gives a token to everybody who asks, and people are
// chosen from a list. With one, signing in is the authorization code flow with PKCE (RFC 7636). The token stays in this tab's
// sessionStorage and is never part of a URL.

import { access, call, config, get, Problem } from "./api.js";
import { avatar, badge, complain, h, make, many } from "./dom.js";

const KEY = "roost";
const FLOW = "roost-sign-in";
const SHOWN = 24;
const oidc = config.oidc?.issuer ? config.oidc : undefined;

export const session = { me: undefined };
let saved = JSON.parse(sessionStorage.getItem(KEY) ?? "null");

function save(value) {
  saved = value;
  access.token = value?.token;
  if (value) sessionStorage.setItem(KEY, JSON.stringify(value));
  else sessionStorage.removeItem(KEY);
}

/** A token of the local issuer. */
export const localToken = async (sub) => (await call("POST", "/dev/token", { body: { sub } })).access_token;

access.renew = async () => {
  if (saved?.sub) save({ sub: saved.sub, token: await localToken(saved.sub) });
  else if (saved?.refresh) await exchange({ grant_type: "refresh_token", refresh_token: saved.refresh }).catch(signOut);
  else signOut();
  return Boolean(saved);
};

export function signOut() {
  save(null);
  session.me = undefined;
  location.hash = "#/signin";
}
access.end = signOut;

/** Finds out who is signed in; `false` if nobody is, `"new"` if they have no profile yet. */
export async function resume() {
  await finishOidc();
  if (!saved) return false;
  access.token = saved.token;
  try {
    session.me = await get("/v1/users/me");
    return true;
  } catch (problem) {
    if (problem.type === "no-profile") return "new";
    throw problem;
  }
}

// ---- OIDC

const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const here = () => location.origin + location.pathname;

async function provider() {
  const answer = await fetch(`${oidc.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`).catch(() => undefined);
  if (!answer?.ok) throw "The sign-in service does not answer.";
  return answer.json();
}

async function startOidc() {
  const { authorization_endpoint: endpoint } = await provider();
  const flow = { state: random(), verifier: random() };
  sessionStorage.setItem(FLOW, JSON.stringify(flow));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(flow.verifier));
  const url = new URL(endpoint);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: oidc.client_id,
    redirect_uri: here(),
    scope: oidc.scope ?? "openid",
    state: flow.state,
    code_challenge: base64url(digest),
    code_challenge_method: "S256",
  });
  location.assign(url);
}

async function finishOidc() {
  const answer = new URLSearchParams(location.search);
  if (!oidc || !(answer.has("code") || answer.has("error"))) return;
  const flow = JSON.parse(sessionStorage.getItem(FLOW) ?? "null");
  sessionStorage.removeItem(FLOW);
  // The code is good once: it must not stay in the address, or in the history.
  history.replaceState(null, "", `${location.pathname}#/`);
  // A code that this tab did not ask for is somebody else's.
  if (answer.has("error") || answer.get("state") !== flow?.state) return complain("Signing in did not work. Try again.");
  await exchange({ grant_type: "authorization_code", code: answer.get("code"), redirect_uri: here(), code_verifier: flow.verifier }).catch(complain);
}

async function exchange(fields) {
  const { token_endpoint: endpoint } = await provider();
  const answer = await fetch(endpoint, { method: "POST", body: new URLSearchParams({ client_id: oidc.client_id, ...fields }) });
  if (!answer.ok) throw "The sign-in service refused.";
  const said = await answer.json();
  save({ token: said.access_token, refresh: said.refresh_token ?? saved?.refresh });
}

// ---- Views

/** The local cloud's people, the most followed first; undefined on a deployment. */
export const demoPeople = async () => {
  const { data } = await get("/dev/people?limit=200", { quiet: true });
  return data;
};

export function signInView(enter) {
  const { root, form, handle, list, hint, oidc: other } = make("signin");
  form.hidden = list.hidden = Boolean(oidc);
  other.hidden = !oidc;
  other.addEventListener("click", () => startOidc().catch(complain));
  if (oidc) {
    hint.textContent = "You are sent to the sign-in page of this deployment, and back.";
    return root;
  }

  let people = [];
  async function as(sub) {
    try {
      save({ sub, token: await localToken(sub) });
      await enter();
    } catch (problem) {
      save(null);
      complain(problem instanceof Problem ? problem : "Signing in did not work.");
    }
  }
  const wanted = () => handle.value.trim().replace(/^@/, "");
  function show() {
    const start = wanted().toLowerCase();
    const found = people.filter((person) => `${person.handle} ${person.name}`.toLowerCase().includes(start));
    list.replaceChildren(...found.slice(0, SHOWN).map((person) =>
      h("li", {}, h("button", { type: "button", class: "person", "aria-label": `Sign in as @${person.handle}`, onclick: () => as(person.sub) },
        avatar(person),
        h("span", { class: "grow" }, h("b", {}, person.name, badge(person)), h("small", {}, `@${person.handle}`)),
        h("small", {}, many(person.follower_count, "follower"))))));
  }
  handle.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const known = people.find((person) => person.handle.toLowerCase() === wanted().toLowerCase());
    if (wanted()) as(known?.sub ?? wanted());
  });
  demoPeople().then(
    (found) => {
      people = found;
      hint.textContent = found.length
        ? "Choose somebody, or type a handle. A new one makes a new person."
        : "Nobody is here yet. Run make seed in a second terminal and load this page again, or type a handle to be the first.";
      show();
    },
    () => (hint.textContent = "Type a handle. A new one makes a new person."),
  );
  return root;
}

export function signUpView(enter) {
  const { root, form, handle, name, error } = make("signup");
  handle.value = (saved?.sub ?? "").replace(/\W/g, "_").slice(0, 15);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.textContent = "";
    try {
      await call("POST", "/v1/users", { body: { handle: handle.value.trim(), name: name.value.trim() } });
      await enter();
    } catch (problem) {
      error.textContent = problem.words ?? String(problem);
    }
  });
  return root;
}
