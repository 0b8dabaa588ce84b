// Everything that is about one person or one tweet: profiles, one's likes, and a tweet with its replies.

import { call, get } from "./api.js";
import { avatar, badge, h, make, many, number, watch } from "./dom.js";
import { Feed } from "./feed.js";
import { session } from "./session.js";
import { toggle, tweetCard } from "./tweet.js";

// Counts are a moment behind.
const COUNTED_MS = 700;

export function section(title, ...children) {
	const { root, name } = make("section");
	name.textContent = title;
	root.append(...children);
	return { node: root, title };
}

export async function profileView(wanted) {
	const { root, face, name, handle, buttons, bio, counts, feed } = make("profile");
	const read = () => get(`/v1/users/by/handle/${encodeURIComponent(wanted)}?expand=relationship`);
	let user = await read();
	const mine = user.id === session.me.id;
	const setters = {};
	buttons.hidden = mine;
	function paint() {
		const is = user.relationship ?? {};
		name.replaceChildren(user.name, badge(user));
		handle.textContent = `@${user.handle}${is.followed_by ? " · follows you" : ""}`;
		bio.textContent = user.bio ?? "";
		counts.textContent = `${number(user.following_count)} following · ${many(user.follower_count, "follower")}`;
		for (const [field, set] of Object.entries(setters)) set(is[field]);
	}
	for (const button of mine ? [] : buttons.children) {
		const { field, path, off, on } = button.dataset;
		setters[field] = toggle(button, (is) => (button.textContent = is ? on : off), async (is) => {
			await call(is ? (path === "follow" ? "POST" : "PUT") : "DELETE", `/v1/users/${user.id}/${path}`);
			watch.people();
			setTimeout(async () => {
				user = await read().catch(() => user);
				paint();
			}, COUNTED_MS);
		});
	}
	face.replaceWith(avatar(user));
	paint();
	const list = new Feed(`Tweets of ${user.name}`, () => `/v1/users/${user.id}/tweets?include=replies&`, "empty");
	feed.replaceWith(list.root);
	list.reset();
	return { node: root, title: user.name };
}

export function likesView() {
	const list = new Feed("Tweets that you like", () => "/v1/users/me/likes?", "empty");
	list.reset();
	return section("Likes", list.root);
}

const withAuthor = ({ includes, ...tweet }, options) => tweetCard(tweet, new Map(includes.users.map((user) => [user.id, user])), options);

export async function threadView(id) {
	const answer = await get(`/v1/tweets/${id}`);
	const list = new Feed("Replies", () => `/v1/tweets/${id}/replies?`, "empty");
	// A reply is in the list a moment after its answer; its author sees it at once.
	const replied = (reply) => list.list.prepend(...list.take({ data: [reply], includes: { users: [session.me] } }));
	const card = withAuthor(answer, { replied, removed: () => history.back() });
	card.classList.add("main");
	list.reset();
	const above = h("div");
	if (answer.in_reply_to) {
		const gone = (problem) => h("p", { class: "quiet pad" }, problem.message);
		get(`/v1/tweets/${answer.in_reply_to.tweet_id}`).then(withAuthor).catch(gone).then((parent) => above.append(parent));
	}
	return section("Tweet", above, card, h("h2", { class: "pad" }, "Replies"), list.root);
}
