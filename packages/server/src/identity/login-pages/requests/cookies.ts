// Reads and writes the cookies of the pages: which browser this is, whether it has signed in, and its language.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { homePath } from '../html/page-paths.ts';

/** The prefix makes browsers refuse one that another host or an unsafe page has set. */
export const browserCookie = '__Host-switchyard-browser';
/** Of a browser that has signed in: its failed attempts are counted apart, and it grants nothing else. */
export const knownBrowserCookie = '__Host-switchyard-known-browser';
export const languageCookie = 'switchyard-language';
/** Set beside the other one for a single flow: there it is stronger than what the application asks. */
export const flowLanguageCookie = 'switchyard-flow-language';

const yearSeconds = 31_536_000;
/** Further cookies are not ours; a header is never longer than Node lets in. */
const cookieLimit = 100;

/** The first of a name wins: browsers send the one with the longest path first. */
export function readCookies({ headers }: IncomingMessage): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (headers.cookie ?? '').split(';', cookieLimit)) {
    const end = pair.indexOf('=');
    if (end === -1) continue;
    const name = pair.slice(0, end).trim();
    if (!cookies.has(name)) cookies.set(name, pair.slice(end + 1).trim());
  }
  return cookies;
}

/** Added to what the authorization server sets, never in its place. */
function set(response: ServerResponse, cookie: string): void {
  response.appendHeader('set-cookie', `${cookie}; Secure; HttpOnly; SameSite=Lax`);
}

/** Ends with the browser: it names nobody, and grants nothing by itself. */
export function setBrowser(response: ServerResponse, browser: string): void {
  set(response, `${browserCookie}=${browser}; Path=/`);
}

export function setKnownBrowser(response: ServerResponse, knownBrowser: string): void {
  set(response, `${knownBrowserCookie}=${knownBrowser}; Path=/; Max-Age=${yearSeconds}`);
}

export function setLanguage(response: ServerResponse, language: string, flowPath: string): void {
  set(response, `${languageCookie}=${language}; Path=/; Max-Age=${yearSeconds}`);
  // No path of ours has one, and in a cookie it would begin an attribute that somebody else chose.
  if (flowPath.includes(';')) return;
  // There every other page would be within the flow.
  if (flowPath === homePath) return;
  set(response, `${flowLanguageCookie}=${language}; Path=${flowPath}`);
}
