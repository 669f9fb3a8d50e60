// Ties a form to the browser and the place it was made for, so that no other site can send it.
import { createHmac, timingSafeEqual } from 'node:crypto';

export type FormTokens = {
  /** `place` names a flow or a session: a token of one is of no use in another. */
  tokenOf(browser: string, place: string): string;
  isGood(token: string | undefined, browser: string, place: string): boolean;
};

export function createFormTokens(key: Buffer): FormTokens {
  function tokenOf(browser: string, place: string): string {
    return createHmac('sha256', key).update(`${browser}\n${place}`).digest('base64url');
  }
  return {
    tokenOf,
    isGood(token = '', browser, place) {
      const given = Buffer.from(token);
      const wanted = Buffer.from(tokenOf(browser, place));
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    },
  };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Whether a browser says that another site sends the form. A page that hides its address from others
 * sends the origin "null", which says nothing: then the token alone decides.
 */
export function isFromElsewhere(headers: Headers, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin';
  const sender = headers['origin'];
  return sender !== undefined && sender !== 'null' && sender !== origin;
}
