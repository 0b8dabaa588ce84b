// "n new tweets": by WebSocket, and by asking while there is none (docs/CLIENTS.md, "Live"). A connection may end at any time.
// The next one begins with what this page has, so the server counts from there and no tweet falls in between.

import { call, get } from "./api.js";

const PING_MS = 5 * 60_000;
const POLL_MS = 30_000;
const MOST_SECONDS = 60;

export class Live {
	newestId = "1";
	fresh = 0;
	failures = 0;

	/** Calls show(count, capped) when something is new, and state("live", "polling" or "offline"). */
	constructor(show, state) {
		Object.assign(this, { show, state });
		setInterval(() => this.say({ type: "ping" }), PING_MS);
		setInterval(() => this.poll(), POLL_MS);
		addEventListener("online", () => {
			this.failures = 0;
			this.connect();
			this.poll();
		});
		// A socket may not notice for minutes that the network is gone.
		addEventListener("offline", () => {
			this.socket?.close();
			state("offline");
		});
		this.connect();
	}

	async connect() {
		clearTimeout(this.later);
		if (this.connecting || this.isOpen()) return;
		this.connecting = true;
		try {
			const { url } = await call("POST", "/v1/live", { quiet: true });
			const socket = (this.socket = new WebSocket(url));
			socket.onopen = () => {
				this.failures = 0;
				this.connecting = false;
				this.state("live");
				this.loaded(this.newestId);
			};
			socket.onmessage = ({ data }) => this.hear(JSON.parse(data));
			socket.onclose = () => this.connectLater();
		} catch {
			this.connectLater();
		}
	}

	// After a time that is random and grows, so that many pages do not come back at once.
	connectLater() {
		this.connecting = false;
		this.state(navigator.onLine ? "polling" : "offline");
		const most = Math.min(MOST_SECONDS, 2 ** ++this.failures);
		this.later = setTimeout(() => this.connect(), 200 + Math.random() * most * 1000);
	}

	/** Say this after each load: what was new is on the page. */
	loaded(newestId = "1") {
		this.newestId = newestId;
		this.fresh = 0;
		this.say({ type: "seen", newest_id: newestId });
	}

	hear(message) {
		// A message may have been on its way while the page was loaded.
		if (message.type !== "new" || BigInt(message.newest_id) <= BigInt(this.newestId)) return;
		this.fresh += message.count;
		this.show(this.fresh, message.capped || this.fresh > 99);
	}

	async poll() {
		if (this.isOpen() || !navigator.onLine) return;
		const since = this.newestId;
		const news = await get(`/v1/home_timeline/new?since_id=${since}`, { quiet: true }).catch(() => ({}));
		// Meanwhile there may have been a load, or a connection, which tells by itself.
		if (news.count && since === this.newestId && !this.isOpen()) this.show((this.fresh = news.count), news.capped);
	}

	isOpen() {
		return this.socket?.readyState === WebSocket.OPEN;
	}

	say(message) {
		if (this.isOpen()) this.socket.send(JSON.stringify(message));
	}
}
