// What the authorization server shows to people itself: plain pages, until better ones are handed in.
import type { IncomingMessage } from 'node:http';
import { type Html, html, pageHeaders } from '../http/index.ts';

export type Page = { readonly html: string; readonly headers: Readonly<Record<string, string>> };

export type Fault = {
  /** RFC 6749's word; `description` goes to the page as text. */
  readonly error: string;
  readonly description?: string | undefined;
  readonly status: number;
  readonly requestId: string;
  /** Missing where there is no such realm. */
  readonly realm?: string | undefined;
};

export type Shown = {
  /** Where nothing may be redirected: unknown client, wrong redirect URI, stale request. */
  fault(raw: IncomingMessage, facts: Fault): Page;
  /** Asks before the sign-out; `form` holds the hidden fields and has the id `op.logoutForm`. */
  logout(
    raw: IncomingMessage,
    facts: { realm: string; form: string; redirectUri?: string | undefined },
  ): Page;
  signedOut(raw: IncomingMessage, facts: { realm: string }): Page;
};

function page(title: string, main: Html): Page {
  const text = html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body><main><h1>${title}</h1>
${main}</main></body>
</html>
`;
  const policy = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  return {
    html: text.html,
    headers: {
      ...pageHeaders,
      'content-security-policy': policy,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    },
  };
}

export const plainPages: Shown = {
  fault: (_raw, { error, description, requestId }) =>
    page(
      'This sign-in cannot go on',
      html`<p>${description ?? error}</p>
<p>Go back to the application and begin again. Request ${requestId}.</p>
`,
    ),
  logout: (_raw, { form }) =>
    page(
      'Sign out?',
      html`${{ html: form }}
<button form="op.logoutForm" name="logout" value="yes">Sign out</button>
`,
    ),
  signedOut: () => page('You are signed out', html`<p>You can close this page.</p>`),
};
