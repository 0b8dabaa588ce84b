// The running system as the test itself calls it, past the page: to make people and tweets, and to know what is true.

export const API = process.env.ROOST_URL;

/** Asks until the answer is good, and fails with `what` if that takes longer than `seconds`. */
export async function until(what, ask, isGood = Boolean, seconds = 20) {
  const deadline = Date.now() + 1000 * seconds;
  for (;;) {
    const answer = await ask();
    if (isGood(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`not after ${seconds} s: ${what}; the last answer was ${brief(answer)}`);
    await pause(0.15);
  }
}

export const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

const brief = (value) => (JSON.stringify(value) ?? "nothing").slice(0, 600);

export async function dev(path, body) {
  const answer = await fetch(API + path, body && { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

export async function tokenOf(sub) {
  return (await dev("/dev/token", { sub })).access_token;
}

/** A person with a profile. The `sub` of the token is the handle, so the page can sign them in by it. */
export class Person {
  static async signsUp(name) {
    const handle = `${name.toLowerCase()}_${Math.random().toString(36).slice(2, 8)}`;
    const person = new Person(handle, name, await tokenOf(handle));
    person.id = (await person.call("POST", "/v1/users", { handle, name })).id;
    return person;
  }

  /** Somebody whom `/dev/people` lists. */
  static async who({ id, sub, handle, name }) {
    return Object.assign(new Person(handle, name, await tokenOf(sub)), { id });
  }

  constructor(handle, name, token) {
    Object.assign(this, { handle, name, token });
  }

  async call(method, path, body) {
    const answer = await fetch(API + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  follows(...people) {
    return Promise.all(people.map((person) => this.call("POST", `/v1/users/${person.id}/follow`)));
  }

  posts(text) {
    return this.call("POST", "/v1/tweets", { text });
  }

  async postsMany(count, text) {
    const tweets = [];
    for (let n = 1; n <= count; n++) tweets.push(await this.posts(`${text} ${n}`));
    return tweets;
  }

  tweet(id) {
    return this.call("GET", `/v1/tweets/${id}`);
  }

  /** The home timeline from the top, page by page, as far as asked for. */
  async home(most = 1000) {
    const tweets = [];
    for (let next = ""; next !== undefined && tweets.length < most; ) {
      const page = await this.call("GET", `/v1/home_timeline?limit=100${next}`);
      tweets.push(...page.data);
      next = page.meta.next_cursor && `&cursor=${page.meta.next_cursor}`;
    }
    return tweets.slice(0, most);
  }

  homeIds = async (most) => (await this.home(most)).map((tweet) => tweet.id);

  /** Waits until all of these have arrived. */
  async hasAtHome(tweets, seconds = 30) {
    const wanted = tweets.map((tweet) => tweet.id);
    const missing = async () => {
      const there = new Set(await this.homeIds());
      return wanted.filter((id) => !there.has(id));
    };
    await until(
      `the home timeline of @${this.handle} has ${wanted.length} tweets`,
      missing,
      (left) => !left.length,
      seconds,
    );
  }
}
