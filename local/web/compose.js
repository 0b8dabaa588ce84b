// Writing a tweet or a reply. The Idempotency-Key is kept with the draft, so a broken connection and a second try make one
// tweet, not two. Another text is another tweet, and has another key.

import { call } from "./api.js";
import { avatar, make } from "./dom.js";
import { session } from "./session.js";

const MOST = 280;
const MOST_MEDIA = 4;
const VIDEO = /\.(mp4|m4v|webm|mov|ogv)([?#]|$)/i;

// Characters as a reader counts them: a family emoji is one.
const segmenter = Intl.Segmenter && new Intl.Segmenter();
const length = (text) => [...(segmenter?.segment(text) ?? text)].length;

/** `posted(tweet)` is called with what the API answered. */
export function composer(posted, replyTo) {
	const { root, face, label, text, media, add, left, post, error } = make("compose");
	if (replyTo) {
		label.textContent = "Your reply";
		post.textContent = "Post reply";
	}
	text.placeholder = label.textContent;
	face.replaceWith(avatar(session.me));
	const rows = media.getElementsByClassName("row");
	let draft;
	let busy = false;

	function count() {
		const rest = MOST - length(text.value.trim());
		left.textContent = `${rest} left`;
		left.classList.toggle("error", rest < 0);
		post.disabled = busy || rest < 0 || rest === MOST;
	}

	add.onclick = () => {
		const { root: row, url } = make("medium");
		media.append(row);
		add.hidden = rows.length >= MOST_MEDIA;
		url.focus();
	};

	function attached() {
		const fields = [...rows].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
		return fields.filter(([url]) => url).map(([url, alt]) => ({ type: VIDEO.test(url) ? "video" : "image", url, ...(alt && { alt }) }));
	}

	root.onsubmit = () => (post.disabled || send(), false);
	async function send() {
		const body = { text: text.value.trim(), ...(replyTo && { in_reply_to: replyTo }), ...(rows.length && { media: attached() }) };
		const written = JSON.stringify(body);
		if (draft?.written !== written) draft = { written, key: crypto.randomUUID() };
		error.textContent = "";
		busy = true;
		count();
		try {
			const tweet = await call("POST", "/v1/tweets", { body, key: draft.key });
			draft = undefined;
			text.value = "";
			[...rows].forEach((row) => row.remove());
			add.hidden = false;
			posted(tweet);
		} catch (problem) {
			error.textContent = `Not posted. ${problem.message}`;
		}
		busy = false;
		count();
	}
	text.oninput = count;
	count();
	return root;
}
