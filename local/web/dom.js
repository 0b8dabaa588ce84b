// Making elements and words. Data become text nodes or checked attributes, never markup, so nothing that somebody wrote can
// run here. What a view looks like stands in the templates of index.html; `make` copies one.

export const $ = (selector, root = document) => root.querySelector(selector);

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** h("a", { href: "#/" }, "text", element) */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

export const svg = (tag, props, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

export const icon = (name) => svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `#i-${name}` }));

/** A copy of the template #t-name: its element as `root`, and everything in it that has a data-part by that name. */
export function make(name) {
  const root = $(`#t-${name}`).content.firstElementChild.cloneNode(true);
  const parts = { root };
  for (const part of root.querySelectorAll("[data-part]")) parts[part.dataset.part] = part;
  return parts;
}

/** Only https, whatever an answer says; anything else is left out. */
export function httpsUrl(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}

export function avatar(user) {
  const circle = h("span", { class: "avatar", "aria-hidden": "true" }, [...(user?.name ?? "?")][0].toUpperCase());
  // Everybody has a colour of their own.
  circle.style.setProperty("--hue", Number(BigInt(user?.id ?? 0) % 359n));
  const url = user?.avatar_url && httpsUrl(user.avatar_url);
  if (url) circle.append(h("img", { src: url, alt: "", loading: "lazy", referrerpolicy: "no-referrer", onerror: (event) => event.target.remove() }));
  return circle;
}

export const badge = (user) =>
  user?.is_celebrity && h("span", { class: "badge", role: "img", "aria-label": "Celebrity", title: "Celebrity: pulled when followers read" }, icon("star"));

export const number = (value) => Intl.NumberFormat("en", { notation: value < 10_000 ? "standard" : "compact" }).format(value);

/** "1 tweet", "2 tweets" */
export const many = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

export function when(text) {
  const date = new Date(text);
  const seconds = (Date.now() - date) / 1000;
  const ago =
    seconds < 60 ? "now"
    : seconds < 3600 ? `${Math.floor(seconds / 60)} min`
    : seconds < 86400 ? `${Math.floor(seconds / 3600)} h`
    : date.toLocaleDateString("en", { day: "numeric", month: "short" });
  return h("time", { datetime: text, title: date.toLocaleString("en") }, ago);
}

let clear;

function show(region, text) {
  clearTimeout(clear);
  for (const other of ["#status", "#alert"]) $(other).textContent = "";
  $(region).textContent = text;
  clear = setTimeout(() => ($(region).textContent = ""), 8000);
}

/** Says what happened, for eyes and for screen readers. */
export const say = (text) => show("#status", text);

/** The same for what went wrong. */
export const complain = (problem) => show("#alert", problem?.words ?? String(problem));

/** Events between the views: "tweet" (somebody's reaction changed one), "people" (a follow, a mute, a block). */
export const bus = new EventTarget();
export const tell = (type, detail) => bus.dispatchEvent(new CustomEvent(type, { detail }));
