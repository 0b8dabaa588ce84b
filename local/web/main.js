// Starts the page: who is signed in, which view the address names, and what stands around every view.

import { $, avatar, words } from "./dom.js";
import { Live } from "./live.js";
import { likesView, profileView, section, threadView } from "./profile.js";
import { nameOf, resume, session, signInView, signOut, signUpView } from "./session.js";
import { Home } from "./timeline.js";

const main = $("#main");
let home;
let live;
let current;
let turn = 0;

/** Who is signed in stands at the side, and is told what is new. */
function surroundings() {
	const { me } = session;
	if (!me) return;
	for (const part of document.querySelectorAll("[data-signed-in]")) part.hidden = false;
	$("#profile").href = `#/u/${me.handle}`;
	$("#me").replaceChildren(avatar(me), nameOf(me));
	live ??= new Live((...news) => home?.news(...news), (state) => {
		$("#live").dataset.state = state;
		$("#live").lastElementChild.textContent = words(state);
	});
}

async function enter() {
	const isNew = await resume();
	surroundings();
	if (isNew) show({ node: signUpView(enter), title: "Create your profile" });
	else if (session.me && location.hash === "#/signin") location.hash = "#/";
	else route();
}

async function view() {
	const [place, name] = location.hash.replace(/^#\/?/, "").split("/");
	if (place === "inside") return { ...(await (await import("./inside.js")).insideView()), nav: "inside" };
	if (place === "signin" || !session.me) return { node: signInView(enter), title: "Sign in" };
	switch (place) {
		case "":
			home ??= new Home(() => live);
			if (home.stale) home.reload();
			return { node: home.root, title: "Home", nav: "home" };
		case "u":
			return { ...(await profileView(decodeURIComponent(name))), nav: name === session.me.handle && "profile" };
		case "t":
			return threadView(name);
		case "likes":
			return { ...likesView(), nav: "likes" };
		default:
			return section("There is nothing here");
	}
}

async function route() {
	const mine = ++turn;
	const shown = await view().catch((problem) => section(problem.message));
	if (mine === turn) show(shown);
	else shown.close?.();
}

function show(next) {
	// The home timeline stays as it is, and where it is, while one looks at something else.
	if (home?.root.isConnected) home.scroll = scrollY;
	current?.close?.();
	document.body.dataset.view = next.nav || "";
	document.title = `${next.title} · Roost`;
	main.replaceChildren(next.node);
	for (const link of document.querySelectorAll("[data-nav]")) link.ariaCurrent = link.dataset.nav === next.nav ? "page" : null;
	scrollTo({ top: (next.nav === "home" && home.scroll) || 0 });
	// A screen reader hears where it is now.
	if (current) $("h1", next.node)?.focus({ preventScroll: true });
	current = next;
}

const network = () => ($("#offline").textContent = navigator.onLine ? "" : words("offline-long"));

window.onhashchange = route;
window.ononline = window.onoffline = network;
$("#sign-out").onclick = signOut;
$(".skip").onclick = () => (main.focus(), false);
$("#find").onsubmit = () => ((location.hash = `#/u/${$("#find input").value.trim().replace(/^@/, "")}`), false);
history.scrollRestoration = "manual";
network();
enter().catch((problem) => show(section(problem.message)));
