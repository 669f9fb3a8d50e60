// What the authorization server itself has to show to people: the pages make it.
import type { IncomingMessage } from 'node:http';

export type RenderedPage = {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
};

export type PageError = {
  /** RFC 6749's word; `description` goes to the page as text. */
  readonly error: string;
  readonly description?: string | undefined;
  readonly status: number;
  readonly requestId: string;
  /** Missing where there is no such realm. */
  readonly realm?: string | undefined;
};

export type PageRenderer = {
  /** Where nothing may be redirected: unknown client, wrong redirect URI, stale request. */
  errorPage(raw: IncomingMessage, details: PageError): RenderedPage;
  /** Asks before the sign-out; `form` holds the hidden fields and has the id `op.logoutForm`. */
  logoutPage(
    raw: IncomingMessage,
    details: { realm: string; form: string; redirectUri?: string | undefined },
  ): RenderedPage;
  signedOutPage(raw: IncomingMessage, details: { realm: string }): RenderedPage;
};
