// Making elements. What a view looks like, and what it says, stands in index.html. Data become text nodes or checked
// attributes, never markup, so nothing that somebody wrote can run here.

export const $ = (selector, root = document) => root.querySelector(selector);

/** h("a", { href: "#/", onclick }, "text", element); "svg:g" is a part of a picture. */
export function h(tag, props = {}, ...children) {
	const [name, space] = tag.split(":").reverse();
	const element = space ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
	for (const [key, value] of Object.entries(props)) {
		if (key.startsWith("on")) element[key] = value;
		else element.setAttribute(key, value);
	}
	element.append(...children.filter(Boolean));
	return element;
}

/** A copy of the template #t-name: its element as `root`, and what has a data-part in it by that name. */
export function make(name) {
	const root = $(`#t-${name}`).content.firstElementChild.cloneNode(true);
	const parts = { root };
	for (const part of root.querySelectorAll("[data-part]")) parts[part.dataset.part] = part;
	return parts;
}

/** The sentence of that name in index.html, with the values put in. */
export const words = (name, values) =>
	$(`[data-words="${CSS.escape(name)}"]`, $("#words").content)?.textContent.replace(/{(\w+)}/g, (_, key) => values?.[key] ?? "");

/** Only https, and no host that is reserved for examples (RFC 2606): there is nothing behind it. */
export const safeUrl = (url) => /^https:/.test(url) && !/^https:\/+[^/]*\bexample(\.(com|net|org))?[:/]/.test(url) && url;

export function avatar(user) {
	const face = h("span", { class: "avatar", "aria-hidden": "true" }, [...user.name][0].toUpperCase());
	face.style.setProperty("--hue", Number(BigInt(user.id) % 359n));
	const src = safeUrl(user.avatar_url);
	if (src) face.append(h("img", { src, alt: "", loading: "lazy", referrerpolicy: "no-referrer", onerror: (event) => event.target.remove() }));
	return face;
}

export const badge = (user) => (user.is_celebrity ? make("badge").root : "");

export const number = (value) => value.toLocaleString("en");

export const many = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

export function when(text) {
	const date = new Date(text);
	const minutes = Math.floor((Date.now() - date) / 60_000);
	const hours = Math.floor(minutes / 60);
	const ago = minutes < 1 ? "now" : hours < 1 ? `${minutes} min` : hours < 24 ? `${hours} h` : date.toLocaleDateString("en");
	return h("time", { datetime: text, title: date.toLocaleString("en") }, ago);
}

let fading;

function show(region, text) {
	clearTimeout(fading);
	for (const id of ["#status", "#alert"]) $(id).textContent = id === region ? text : "";
	fading = setTimeout(() => ($(region).textContent = ""), 8000);
}

/** Say what happened, or went wrong, for eyes and for screen readers. */
export const say = (text) => show("#status", text);
export const complain = (problem) => show("#alert", problem.message);

/** The home timeline stays while one looks at other views, and is told what is done there. */
export const watch = { tweet() {}, people() {} };
