// Writing a tweet or a reply. The Idempotency-Key is made when the button is pressed and kept with the draft, so a broken
// connection and a second try make one tweet, not two. Another text is another tweet, and has another key.

import { call } from "./api.js";
import { avatar, h, make } from "./dom.js";
import { session } from "./session.js";

const MOST = 280;
const MOST_MEDIA = 4;
const VIDEO = /\.(mp4|m4v|webm|mov|ogv)$/i;

// Characters as a reader counts them: a family emoji is one.
const segmenter = Intl.Segmenter && new Intl.Segmenter();
const length = (text) => (segmenter ? [...segmenter.segment(text)].length : [...text].length);

function mediumFields(index) {
  const suffix = index ? ` ${index + 1}` : "";
  const field = (label, type) => h("label", { class: "field grow" }, h("span", {}, label + suffix), h("input", { type, maxlength: 2048 }));
  return h("div", { class: "row" }, field("Media URL", "url"), field("Description", "text"));
}

/** `posted(tweet)` is called with what the API answered. */
export function composer({ replyTo, posted }) {
  const { root, face, label, text, media, add, left, post, error } = make("compose");
  if (replyTo) {
    label.textContent = "Your reply";
    post.textContent = "Post reply";
  }
  text.placeholder = label.textContent;
  face.replaceWith(avatar(session.me));
  let draft;
  let busy = false;

  function count() {
    const rest = MOST - length(text.value.trim());
    left.textContent = `${rest} left`;
    left.classList.toggle("over", rest < 0);
    post.disabled = busy || rest < 0 || rest === MOST;
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
  }

  add.addEventListener("click", () => {
    const fields = mediumFields(media.querySelectorAll(".row").length);
    media.append(fields);
    add.hidden = media.querySelectorAll(".row").length >= MOST_MEDIA;
    fields.querySelector("input").focus();
  });

  function attached() {
    const filled = [...media.querySelectorAll(".row")].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
    return filled.filter(([url]) => url).map(([url, alt]) => ({
      type: VIDEO.test(url.replace(/[?#].*/, "")) ? "video" : "image",
      url,
      ...(alt && { alt }),
    }));
  }

  root.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (post.disabled) return;
    const body = { text: text.value.trim() };
    if (replyTo) body.in_reply_to = replyTo;
    const shown = attached();
    if (shown.length) body.media = shown;
    const written = JSON.stringify(body);
    if (draft?.written !== written) draft = { written, key: crypto.randomUUID() };
    error.textContent = "";
    busy = true;
    count();
    try {
      const tweet = await call("POST", "/v1/tweets", { body, key: draft.key });
      text.value = "";
      media.querySelectorAll(".row").forEach((row) => row.remove());
      add.hidden = false;
      draft = undefined;
      posted(tweet);
    } catch (problem) {
      error.textContent = `Not posted. ${problem.words ?? problem}`;
    } finally {
      busy = false;
      count();
    }
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) root.requestSubmit();
  });
  text.addEventListener("input", count);
  // The height is known once it is on the page.
  requestAnimationFrame(count);
  count();
  return root;
}
