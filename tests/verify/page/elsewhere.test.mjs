// The page on a host of its own, as beside a deployment: the API is elsewhere, and tokens come from an OpenID provider.

import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { API, tokenOf } from "./cloud.mjs";
import { button, given, then, tweets, when } from "./steps.mjs";
import { scenario } from "./world.mjs";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};
const CLIENT = "the-page";

/** A server on a free port, and its address. */
async function listens(world, answer) {
  const server = world.serves(
    createServer((request, response) => {
      answer(request, response).catch((problem) => response.writeHead(500).end(String(problem)));
    }),
  );
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://localhost:${server.address().port}`;
}

/** Any host of static files, with a copy of the page that has another config.json. */
async function aHost(world, config) {
  const folder = await world.folder();
  await cp(process.env.ROOST_WEB_DIR, folder, { recursive: true });
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  return listens(world, async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname).replace(/\/$/, "/index.html");
    const body = await readFile(join(folder, path)).catch(() => undefined);
    response
      .writeHead(body ? 200 : 404, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" })
      .end(body);
  });
}

/**
 * An OpenID provider where one person is signed in already. It hands out tokens that the local cloud accepts. `state` is what
 * it answers with instead of what it was sent.
 */
async function anIssuer(world, person, state) {
  const codes = new Map();
  const asked = [];
  const exchanges = [];
  const url = await listens(world, async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const json = (status, body) =>
      response
        .writeHead(status, { "content-type": "application/json", "access-control-allow-origin": "*" })
        .end(JSON.stringify(body));
    if (pathname === "/.well-known/openid-configuration")
      return json(200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        code_challenge_methods_supported: ["S256"],
      });
    if (pathname === "/authorize") {
      asked.push(Object.fromEntries(searchParams));
      const code = randomUUID();
      codes.set(code, asked.at(-1));
      const back = new URL(searchParams.get("redirect_uri"));
      back.searchParams.set("code", code);
      back.searchParams.set("state", state ?? searchParams.get("state"));
      return response.writeHead(302, { location: back.href }).end();
    }
    if (pathname === "/token" && request.method === "POST") {
      let text = "";
      for await (const part of request) text += part;
      const form = new URLSearchParams(text);
      const grant = codes.get(form.get("code"));
      codes.delete(form.get("code"));
      const proof = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      const isGood =
        grant &&
        proof === grant.code_challenge &&
        form.get("redirect_uri") === grant.redirect_uri &&
        form.get("client_id") === CLIENT &&
        form.get("grant_type") === "authorization_code";
      exchanges.push(isGood);
      if (!isGood) return json(400, { error: "invalid_grant" });
      return json(200, { access_token: await tokenOf(person.handle), token_type: "Bearer", expires_in: 3600 });
    }
    return json(404, {});
  });
  return { url, asked, exchanges };
}

async function withIssuer(world, person, state) {
  const issuer = await anIssuer(world, person, state);
  const config = { api: API, oidc: { issuer: issuer.url, client_id: CLIENT, scope: "openid" } };
  return { issuer, host: await aHost(world, config) };
}

scenario("on another host, one signs in at an OpenID provider, and reads", async (world) => {
  const { reader } = await given.aReaderOf(5);
  const { issuer, host } = await withIssuer(world, reader);
  const window = await world.opens({ at: host });
  const { page } = window;
  // Where the deployment has no /dev, nobody asks for it.
  page.on("request", (request) => assert.ok(!request.url().includes("/dev/token"), "the local issuer was asked"));
  await page
    .getByRole("button", { name: /^Sign in/ })
    .first()
    .click();
  await page.getByRole("heading", { name: "Home", exact: true }).waitFor();
  await then.shows(window, await reader.homeIds(5));
  assert.ok(!/[?&](code|state)=/.test(page.url()), "the code is not left in the address");

  const [{ response_type, client_id, scope, state, code_challenge, code_challenge_method }] = issuer.asked;
  assert.deepEqual(
    { response_type, client_id, scope, code_challenge_method },
    { response_type: "code", client_id: CLIENT, scope: "openid", code_challenge_method: "S256" },
  );
  assert.ok(state.length >= 16 && code_challenge.length === 43);
  const kept = await page.evaluate(() => JSON.stringify(localStorage));
  assert.ok(!kept.includes("eyJ"), "no token is in localStorage");

  await page.reload();
  await tweets(window).nth(4).waitFor();
  await when.posts(window, "From another host");
  await tweets(window).filter({ hasText: "From another host" }).waitFor();
  await when.presses(window, "Sign out");
  await page
    .getByRole("button", { name: /^Sign in/ })
    .first()
    .waitFor();
});

scenario("an answer of the provider to somebody else's question is refused", async (world) => {
  const [reader] = await given.people("Reader");
  const { issuer, host } = await withIssuer(world, reader, "of-somebody-else");
  const window = await world.opens({ at: host });
  const { page } = window;
  await button(window, /^Sign in/)
    .first()
    .click();
  await then.says(window, /\w+ \w+/, "alert");
  await button(window, /^Sign in/)
    .first()
    .waitFor();
  assert.deepEqual([issuer.asked.length, issuer.exchanges.length], [1, 0], "the code was not used");

  await page.goto(`${host}/?code=stolen&state=made-up`);
  await then.says(window, /\w+ \w+/, "alert");
  await button(window, /^Sign in/)
    .first()
    .waitFor();
  assert.equal(issuer.exchanges.length, 0, "a code without a question was not used");
});

scenario("on another host, the local cloud's own tokens work, too", async (world) => {
  const { reader } = await given.aReaderOf(5);
  const host = await aHost(world, { api: API, oidc: { issuer: "", client_id: "", scope: "openid" } });
  const window = await when.reads(world, reader, { at: host });
  await then.shows(window, await reader.homeIds(5));
});
