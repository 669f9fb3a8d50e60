// The two cookies of the portal: the session, and which browser a sign-in began in.
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The prefix makes browsers refuse one that another host or an unsafe page has set. */
export const sessionCookie = '__Host-switchyard-session';
/** Lax: the browser comes back with it from the sign-in, which may be another site. */
export const browserCookie = '__Host-switchyard-portal';

/** Further cookies are not ours; a header is never longer than Node lets in. */
const cookieLimit = 100;

export function readCookie({ headers }: IncomingMessage, wanted: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';', cookieLimit)) {
    const end = pair.indexOf('=');
    if (end !== -1 && pair.slice(0, end).trim() === wanted) return pair.slice(end + 1).trim();
  }
  return undefined;
}

const guard = 'Path=/; Secure; HttpOnly';

/** It ends with the browser, if nothing ends it before. */
export function setSession(response: ServerResponse, value: string): void {
  response.appendHeader('set-cookie', `${sessionCookie}=${value}; ${guard}; SameSite=Strict`);
}

export function dropSession(response: ServerResponse): void {
  const gone = `${sessionCookie}=; ${guard}; SameSite=Strict; Max-Age=0`;
  response.appendHeader('set-cookie', gone);
}

export function setBrowser(response: ServerResponse, value: string): void {
  response.appendHeader('set-cookie', `${browserCookie}=${value}; ${guard}; SameSite=Lax`);
}
