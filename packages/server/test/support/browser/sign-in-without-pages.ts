// Signs a user in without the pages: the test calls the authorization server as the pages do.
import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Identity } from '../../../src/identity/index.ts';
import type { Browser, BrowserResponse } from './cookie-browser.ts';

export type SignInProof = {
  readonly userId: string;
  readonly methods?: readonly ['pwd', ...'otp'[]];
};

export type RawRequestAndReply = {
  readonly raw: IncomingMessage;
  readonly rawReply: ServerResponse;
};

/** The browser's request for an address, in the form that the server code uses. */
export function createNodeRequestAndReply(browser: Browser, address: URL): RawRequestAndReply {
  const raw = new IncomingMessage(new Socket());
  raw.url = address.pathname + address.search;
  raw.method = 'GET';
  const cookies = browser.cookiesFor(address).map(({ name, value }) => `${name}=${value}`);
  raw.headers = cookies.length === 0 ? {} : { cookie: cookies.join('; ') };
  return { raw, rawReply: new ServerResponse(raw) };
}

function storeCookies(browser: Browser, page: URL, rawReply: ServerResponse): void {
  browser.storeCookies([rawReply.getHeader('set-cookie') ?? []].flat().map(String), page);
}

const realmOf = (address: URL): string => address.pathname.split('/')[3] ?? '';

/** Completes the sign-in of this user at the page; returns undefined if the request is stale. */
export async function completeSignIn(
  identity: Identity,
  browser: Browser,
  page: URL,
  { userId, methods = ['pwd'] }: SignInProof,
): Promise<string | undefined> {
  const { raw, rawReply } = createNodeRequestAndReply(browser, page);
  const proof = { userId, methods };
  const returnTo = await identity.interactions.finish(realmOf(page), raw, rawReply, proof);
  storeCookies(browser, page, rawReply);
  return returnTo;
}

export async function denySignIn(
  identity: Identity,
  browser: Browser,
  page: URL,
): Promise<string | undefined> {
  const { raw, rawReply } = createNodeRequestAndReply(browser, page);
  const returnTo = await identity.interactions.deny(realmOf(page), raw, rawReply);
  storeCookies(browser, page, rawReply);
  return returnTo;
}

export type AuthorizationRequest = Readonly<Record<string, string>> & {
  readonly client_id: string;
  readonly redirect_uri: string;
};

export function authorizationUrl(path: string, parameters: AuthorizationRequest): string {
  return `${path}?${new URLSearchParams({ response_type: 'code', state: 'a-state', ...parameters })}`;
}

/** Goes from the application's link through the sign-in page to the callback. */
export async function signIn(
  identity: Identity,
  browser: Browser,
  address: string,
  proof: SignInProof,
): Promise<URL> {
  const signInRedirect = await browser.visit(address);
  assert.equal(signInRedirect.status, 303, signInRedirect.text);
  assert.match(signInRedirect.location?.pathname ?? '', /\/sign-in\//);
  const returnTo = await completeSignIn(identity, browser, signInRedirect.location as URL, proof);
  assert.ok(returnTo !== undefined, 'the request to sign in is there');
  return redirectTarget(await browser.visit(returnTo));
}

/** The redirect address back to the application. */
export function redirectTarget(response: BrowserResponse): URL {
  assert.equal(response.status, 303, response.text);
  assert.ok(response.location !== undefined);
  return response.location;
}

export function createPkce(): {
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
