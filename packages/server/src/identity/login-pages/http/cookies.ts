// Reads and writes the cookies of the sign-in pages: browser ID, ID of a known browser, language.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { homePath } from '../html/page-paths.ts';

/** With this prefix, browsers reject a cookie that another host or an insecure page has set. */
export const browserCookie = '__Host-switchyard-browser';
/** For browsers from which a user has signed in: their failed attempts are counted separately. It grants no access. */
export const knownBrowserCookie = '__Host-switchyard-known-browser';
export const languageCookie = 'switchyard-language';
/** Set in addition for one flow: there it overrides the language that the application requests. */
export const flowLanguageCookie = 'switchyard-flow-language';

const yearSeconds = 31_536_000;
/** More cookies are ignored; Node limits the length of the header. */
const maxCookies = 100;

/** The first cookie of a name wins: browsers send the one with the longest path first. */
export function readCookies({ headers }: IncomingMessage): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (headers.cookie ?? '').split(';', maxCookies)) {
    const end = pair.indexOf('=');
    if (end === -1) continue;
    const name = pair.slice(0, end).trim();
    if (!cookies.has(name)) cookies.set(name, pair.slice(end + 1).trim());
  }
  return cookies;
}

/** Adds to the cookies of the authorization server and never replaces them. */
function appendCookie(response: ServerResponse, cookie: string): void {
  response.appendHeader('set-cookie', `${cookie}; Secure; HttpOnly; SameSite=Lax`);
}

/** A session cookie; it identifies no user and grants no access. */
export function setBrowserCookie(response: ServerResponse, browserId: string): void {
  appendCookie(response, `${browserCookie}=${browserId}; Path=/`);
}

export function setKnownBrowserCookie(response: ServerResponse, knownBrowserId: string): void {
  appendCookie(response, `${knownBrowserCookie}=${knownBrowserId}; Path=/; Max-Age=${yearSeconds}`);
}

export function setLanguageCookies(
  response: ServerResponse,
  language: string,
  flowPath: string,
): void {
  appendCookie(response, `${languageCookie}=${language}; Path=/; Max-Age=${yearSeconds}`);
  // A `;` in the path would let an attacker add cookie attributes; no path of the server has one.
  if (flowPath.includes(';')) return;
  // With this path the cookie would apply to every page.
  if (flowPath === homePath) return;
  appendCookie(response, `${flowLanguageCookie}=${language}; Path=${flowPath}`);
}
