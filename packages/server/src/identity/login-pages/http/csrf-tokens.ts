// CSRF tokens: bind a form to the browser and the flow it was created for, so that no other site can send it.
import { createHmac, timingSafeEqual } from 'node:crypto';

export type CsrfTokens = {
  /** `flowKey` identifies a flow or a session: the token of one is not valid in another. */
  create(browserId: string, flowKey: string): string;
  isValid(token: string | undefined, browserId: string, flowKey: string): boolean;
};

export function createCsrfTokens(key: Buffer): CsrfTokens {
  function create(browserId: string, flowKey: string): string {
    return createHmac('sha256', key).update(`${browserId}\n${flowKey}`).digest('base64url');
  }
  return {
    create,
    isValid(token = '', browserId, flowKey) {
      const received = Buffer.from(token);
      const expected = Buffer.from(create(browserId, flowKey));
      return received.length === expected.length && timingSafeEqual(received, expected);
    },
  };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * True if the headers say that another site sends the form. A page without a referrer
 * sends the origin "null", which proves nothing: then only the token is checked.
 */
export function isCrossSite(headers: Headers, origin: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin';
  const sender = headers['origin'];
  return sender !== undefined && sender !== 'null' && sender !== origin;
}
