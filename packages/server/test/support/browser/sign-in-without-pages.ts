// Signs a user in without the pages: the test calls the authorization server as the pages do.
import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Identity } from '../../../src/identity/index.ts';
import type { Browser, Seen } from './cookie-browser.ts';

export type Proof = { readonly userId: string; readonly methods?: readonly ['pwd', ...'otp'[]] };

export type RawPair = { readonly raw: IncomingMessage; readonly rawReply: ServerResponse };

/** The browser's request for an address, in the form that the server code uses. */
export function rawRequest(browser: Browser, address: URL): RawPair {
  const raw = new IncomingMessage(new Socket());
  raw.url = address.pathname + address.search;
  raw.method = 'GET';
  const cookies = browser.cookiesFor(address).map(({ name, value }) => `${name}=${value}`);
  raw.headers = cookies.length === 0 ? {} : { cookie: cookies.join('; ') };
  return { raw, rawReply: new ServerResponse(raw) };
}

function keepCookies(browser: Browser, page: URL, rawReply: ServerResponse): void {
  browser.keepCookies([rawReply.getHeader('set-cookie') ?? []].flat().map(String), page);
}

const realmOf = (address: URL): string => address.pathname.split('/')[3] ?? '';

/** Completes the sign-in of this user at the page; returns undefined if the request is stale. */
export async function answerPage(
  identity: Identity,
  browser: Browser,
  page: URL,
  { userId, methods = ['pwd'] }: Proof,
): Promise<string | undefined> {
  const { raw, rawReply } = rawRequest(browser, page);
  const proof = { userId, methods };
  const returnTo = await identity.interactions.finish(realmOf(page), raw, rawReply, proof);
  keepCookies(browser, page, rawReply);
  return returnTo;
}

export async function denyPage(
  identity: Identity,
  browser: Browser,
  page: URL,
): Promise<string | undefined> {
  const { raw, rawReply } = rawRequest(browser, page);
  const returnTo = await identity.interactions.deny(realmOf(page), raw, rawReply);
  keepCookies(browser, page, rawReply);
  return returnTo;
}

export type AuthorizationRequest = Readonly<Record<string, string>> & {
  readonly client_id: string;
  readonly redirect_uri: string;
};

export function authorizationAddress(path: string, wanted: AuthorizationRequest): string {
  return `${path}?${new URLSearchParams({ response_type: 'code', state: 'a-state', ...wanted })}`;
}

/** Goes from the application's link through the sign-in page to the callback. */
export async function signIn(
  identity: Identity,
  browser: Browser,
  address: string,
  proof: Proof,
): Promise<URL> {
  const asked = await browser.visit(address);
  assert.equal(asked.status, 303, asked.text);
  assert.match(asked.location?.pathname ?? '', /\/sign-in\//);
  const returnTo = await answerPage(identity, browser, asked.location as URL, proof);
  assert.ok(returnTo !== undefined, 'the request to sign in is there');
  return callbackOf(await browser.visit(returnTo));
}

/** The redirect address back to the application. */
export function callbackOf(seen: Seen): URL {
  assert.equal(seen.status, 303, seen.text);
  assert.ok(seen.location !== undefined);
  return seen.location;
}

export function pkce(): {
  verifier: string;
  code_challenge: string;
  code_challenge_method: string;
} {
  const verifier = randomBytes(32).toString('base64url');
  return {
    verifier,
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 'S256',
  };
}
