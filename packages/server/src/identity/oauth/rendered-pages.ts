// The pages that the authorization server shows itself; the login pages render them.
import type { IncomingMessage } from 'node:http';

export type RenderedPage = {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
};

export type PageError = {
  /** The error code of RFC 6749; the page shows `description` as text. */
  readonly error: string;
  readonly description?: string | undefined;
  readonly status: number;
  readonly requestId: string;
  /** Missing if the realm does not exist. */
  readonly realm?: string | undefined;
};

export type PageRenderer = {
  /** For errors that must not redirect: unknown client, wrong redirect URI, expired request. */
  errorPage(raw: IncomingMessage, details: PageError): RenderedPage;
  /** Asks for confirmation; `form` contains the hidden fields and has the id `op.logoutForm`. */
  logoutPage(
    raw: IncomingMessage,
    details: { realm: string; form: string; redirectUri?: string | undefined },
  ): RenderedPage;
  signedOutPage(raw: IncomingMessage, details: { realm: string }): RenderedPage;
};
