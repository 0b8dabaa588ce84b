// One tweet as a card, and what one can do with it. Buttons answer at once, and are put back if the API refuses.

import { call, placeOf } from "./api.js";
import { composer } from "./compose.js";
import { avatar, badge, complain, h, make, number, safeUrl, say, watch, when, words } from "./dom.js";
import { session } from "./session.js";

/** A button of two states that asks the API for what it shows. Returns how to set it from outside. */
export function toggle(button, paint, change) {
	let on;
	let busy = false;
	const set = (value) => {
		on = value;
		button.ariaPressed = on;
		paint(on);
	};
	button.onclick = async () => {
		if (busy) return;
		busy = true;
		set(!on);
		await change(on).catch((problem) => {
			set(!on);
			complain(problem);
		});
		busy = false;
	};
	return (value) => busy || set(value);
}

function picture({ type, url, alt }) {
	// One that cannot be loaded says what it would have shown, and takes as much place.
	const instead = () => h("span", { class: "instead" }, alt ?? `A ${type}`);
	const src = safeUrl(url);
	if (!src) return instead();
	const onerror = (event) => event.target.replaceWith(instead());
	return type === "video"
		? h("video", { src, controls: "", preload: "none", "aria-label": alt ?? "Video", onerror })
		: h("img", { src, alt: alt ?? "Picture without a description", loading: "lazy", referrerpolicy: "no-referrer", onerror });
}

/** `replied(tweet)` and `removed()` are called after the API did it. */
export function tweetCard(tweet, people, { replied, removed } = {}) {
	const card = make("tweet");
	const { root, body } = card;
	const author = people.get(tweet.author_id) ?? { id: tweet.author_id, handle: "", name: "Somebody" };
	const path = `/v1/tweets/${tweet.id}`;
	const link = (id) => {
		const user = people.get(id);
		return id === session.me.id ? "You" : user ? h("a", { href: `#/u/${user.handle}` }, user.name) : "Somebody";
	};

	root.dataset.tweetId = tweet.id;
	root.dataset.position = placeOf(tweet);
	root.ariaLabel = author.name;
	card.face.replaceWith(avatar(author));
	card.name.textContent = author.name;
	card.name.href = `#/u/${author.handle}`;
	card.name.after(badge(author));
	card.handle.textContent = `@${author.handle}`;
	card.when.href = `#/t/${tweet.id}`;
	card.when.append(when(tweet.created_at));
	card.text.textContent = tweet.text;
	card.pictures.hidden = !tweet.media;
	card.pictures.append(...(tweet.media ?? []).map(picture));
	if (tweet.in_reply_to) {
		card.above.hidden = false;
		card.above.firstElementChild.href = `#/t/${tweet.in_reply_to.tweet_id}`;
	}
	const reason = tweet.reposted_by ? { type: "reposted", user_ids: [tweet.reposted_by.user_id] } : tweet.reason;
	if (reason) because(reason);
	if (tweet.explain) explain(tweet.explain);

	function because({ type, user_ids: ids = [], others }) {
		const names = [...ids.map(link), ...(others ? [`${others} more`] : [])];
		card.why.append(...names.flatMap((name, index) => (index ? [", ", name] : [name])), ` ${words(type) ?? type}`);
		card.why.hidden = false;
	}

	function explain({ via, visible_after_ms: late, score }) {
		card.how.hidden = false;
		card.via.dataset.via = via;
		card.via.textContent = tweet.reposted_by ? `reposted, ${via}` : via;
		card.via.after(` ${words(via)}${late == null ? "" : words("late", { ms: number(late) })}`);
		if (!score) return;
		card.score.hidden = false;
		for (const meter of card.score.querySelectorAll("meter")) {
			meter.value = score[meter.dataset.of];
			meter.after(meter.value.toFixed(2));
		}
		card.total.textContent = score.total.toFixed(3);
	}

	function count(button, value) {
		button.ariaLabel = `${button.title}, ${value}`;
		button.lastElementChild.textContent = value ? number(value) : "";
	}
	function reaction(name, field, counted) {
		return toggle(card[name], (on) => count(card[name], tweet[counted] + on - tweet[field]), async (on) => {
			await call(on ? "PUT" : "DELETE", `${path}/${name}`);
			tweet[counted] += on - tweet[field];
			tweet[field] = on;
			watch.tweet(tweet.id, { [field]: on, [counted]: tweet[counted] });
		});
	}
	const setLike = reaction("like", "liked", "like_count");
	const setRepost = reaction("repost", "reposted", "repost_count");
	root.tweet = tweet;
	root.update = (changes) => {
		Object.assign(tweet, changes);
		setLike(tweet.liked);
		setRepost(tweet.reposted);
		count(card.reply, tweet.reply_count);
	};
	root.update();

	card.reply.onclick = () => {
		const open = body.querySelector("form");
		if (open) return open.remove();
		const form = composer((answer) => {
			form.remove();
			card.reply.focus();
			root.update({ reply_count: tweet.reply_count + 1 });
			watch.tweet(tweet.id, { reply_count: tweet.reply_count });
			say("Your reply is posted.");
			replied?.(answer);
		}, tweet.id);
		body.append(form);
		form.querySelector("textarea").focus();
	};

	async function hide() {
		await call("PUT", `${path}/hide`);
		const row = make("hidden");
		row.undo.onclick = () => call("DELETE", `${path}/hide`).then(() => row.root.replaceWith(root), complain);
		root.replaceWith(row.root);
		row.undo.focus();
		say("The tweet is hidden.");
	}
	card.hide.onclick = () => hide().catch(complain);

	// The first press asks, the second one does it.
	card.delete.hidden = tweet.author_id !== session.me.id;
	const ask = (sure) => {
		card.delete.classList.toggle("error", sure);
		card.delete.ariaLabel = sure ? "Really delete?" : "Delete";
		card.delete.lastElementChild.textContent = sure ? card.delete.ariaLabel : "";
	};
	card.delete.onblur = () => ask(false);
	async function erase() {
		await call("DELETE", path);
		root.remove();
		watch.tweet(tweet.id);
		removed?.();
		say("The tweet is deleted.");
	}
	card.delete.onclick = () => (card.delete.classList.contains("error") ? erase().catch(complain) : ask(true));
	return root;
}
