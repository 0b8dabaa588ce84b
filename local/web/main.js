// Starts the page: who is signed in, which view the address names, and what stands around every view.

import { config, get } from "./api.js";
import { $, avatar, badge, complain, h, say } from "./dom.js";
import { Live } from "./live.js";
import { likesView, peopleView, personRow, profileView, threadView, title } from "./profile.js";
import { resume, session, signInView, signOut, signUpView } from "./session.js";
import { Home } from "./timeline.js";

const main = $("#main");
let home;
let live;
let close;
let turn = 0;

const LIVE = { live: "Live: you are told of new tweets", polling: "Asking every 30 seconds what is new", offline: "Offline" };

function surroundings() {
  const { me } = session;
  for (const id of ["me", "live-card", "find-card"]) $(`#${id}`).hidden = !me;
  $("#nav-me").href = me ? `#/u/${me.handle}` : "#/signin";
  if (!me) {
    live?.stop();
    home = live = undefined;
    return;
  }
  $("#me").replaceChildren(avatar(me), h("span", { class: "grow" }, h("b", {}, me.name, badge(me)), h("small", {}, `@${me.handle}`)),
    h("button", { type: "button", class: "plain", onclick: signOut }, "Sign out"));
  live ??= new Live((count, capped) => home?.news(count, capped), (state) => {
    $("#live-dot").dataset.state = state;
    $("#live-words").textContent = LIVE[state];
  });
}

async function enter() {
  const known = await resume();
  surroundings();
  if (known === "new") return show({ node: signUpView(enter), title: "Create your profile" });
  if (location.hash === "#/signin") location.hash = "#/";
  else route();
}

/** The view that the address names. */
async function view(path) {
  const [place = "", name, more] = path.split("/").map(decodeURIComponent);
  if (place === "inside") {
    const { insideView } = await import("./inside.js");
    return { ...(await insideView()), nav: "inside" };
  }
  if (place === "signin" || !session.me) return { node: signInView(enter), title: "Sign in" };
  switch (place) {
    case "":
      home ??= new Home(() => live);
      if (home.stale) home.reload();
      return { node: home.root, title: "Home", nav: "home", keep: home };
    case "u":
      return { ...(more ? await peopleView(name, more === "followers" ? more : "following") : await profileView(name)), nav: name === session.me.handle && "profile" };
    case "t":
      return threadView(name);
    case "likes":
      return { ...likesView(), nav: "likes" };
    default:
      return { node: h("section", {}, title("There is nothing here"), h("p", { class: "pad" }, h("a", { href: "#/" }, "Go home"))), title: "Nothing here" };
  }
}

async function route() {
  const mine = ++turn;
  // The home timeline stays as it is, and where it is, while one looks at something else.
  if (home?.root.isConnected) home.scroll = scrollY;
  let shown;
  try {
    shown = await view(location.hash.replace(/^#\/?/, ""));
  } catch (problem) {
    if (problem.type === "no-profile") return enter();
    shown = { node: h("section", {}, title("Not found"), h("p", { class: "pad" }, problem.words ?? "Something went wrong.")), title: "Not found" };
    if (!problem.words) throw problem;
  }
  if (mine === turn) show(shown);
  else shown.close?.();
}

let started = false;

function show({ node, title: text, nav, keep, close: next }) {
  close?.();
  close = next;
  document.body.dataset.view = nav ?? "";
  document.title = `${text} · Roost`;
  main.replaceChildren(node);
  for (const link of document.querySelectorAll("[data-nav]")) {
    if (link.dataset.nav === nav) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  scrollTo({ top: keep?.scroll ?? 0 });
  // A screen reader hears where it is now.
  if (started) $("h1", node)?.focus({ preventScroll: true });
  started = true;
}

function network() {
  $("#offline").textContent = navigator.onLine ? "" : "You are offline. What you have loaded stays here; new tweets come when you are back.";
}

// j and k go from tweet to tweet, as in many readers.
function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const cards = [...main.querySelectorAll("article")];
  const at = cards.indexOf(document.activeElement?.closest("article"));
  (cards[at + step] ?? cards[at < 0 ? 0 : at])?.focus();
}

let typing;

function find() {
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const start = $("#find").value.trim().replace(/^@/, "");
    const people = /^\w{2,15}$/.test(start) ? await get(`/v1/users/search?q=${start}`).catch(complain) : undefined;
    $("#found").replaceChildren(...(people?.data ?? []).slice(0, 6).map(personRow));
    if (people) say(people.data.length ? `${people.data.length} found` : "Nobody found");
  }, 250);
}

addEventListener("hashchange", (event) => {
  // The skip link is no address.
  if (location.hash === "#main") return history.replaceState(null, "", new URL(event.oldURL).hash || "#/");
  session.me ? route() : surroundings() ?? route();
});
addEventListener("online", network);
addEventListener("offline", network);
addEventListener("keydown", keys);
$(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
$("#find").addEventListener("input", find);
history.scrollRestoration = "manual";
network();
enter().catch((problem) => {
  show({ node: h("section", {}, title("Roost does not answer"), h("p", { class: "pad" }, `${problem.words ?? problem} The API is expected at ${config.api || location.origin}.`)), title: "No answer" });
});
