// Reads and sets the portal cookies: the session, and the browser in which a sign-in began.
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The prefix makes browsers reject a cookie that another host or an insecure page has set. */
export const sessionCookie = '__Host-switchyard-session';
/** Lax: the browser also sends it when it returns from the sign-in, which may be another site. */
export const browserCookie = '__Host-switchyard-portal';

/** Limits the work for cookies of other applications; Node limits the length of the header. */
const cookieLimit = 100;

export function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';', cookieLimit)) {
    const end = pair.indexOf('=');
    if (end !== -1 && pair.slice(0, end).trim() === name) return pair.slice(end + 1).trim();
  }
  return undefined;
}

const guard = 'Path=/; Secure; HttpOnly';

/** The browser deletes this cookie when it closes, unless the server deletes it earlier. */
export function setSession(response: ServerResponse, value: string): void {
  response.appendHeader('set-cookie', `${sessionCookie}=${value}; ${guard}; SameSite=Strict`);
}

export function dropSession(response: ServerResponse): void {
  const expiredCookie = `${sessionCookie}=; ${guard}; SameSite=Strict; Max-Age=0`;
  response.appendHeader('set-cookie', expiredCookie);
}

export function setBrowser(response: ServerResponse, value: string): void {
  response.appendHeader('set-cookie', `${browserCookie}=${value}; ${guard}; SameSite=Lax`);
}
