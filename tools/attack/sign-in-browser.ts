// A client with cookies that signs in at the pages of the attacked platform, as a browser does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { asPage, follow } from '../../packages/server/test/portal/portal-client.ts';
import {
  type Browser,
  type BrowserResponse,
  createBrowser,
  tlsTransport,
} from '../../packages/server/test/support/browser/cookie-browser.ts';
import { submitForm } from '../../packages/server/test/support/browser/test-sign-in-pages.ts';
import { nextCode, type Organization, type Production, type User } from './platforms.ts';

export type SignInBrowser = {
  readonly browser: Browser;
  /** Sends name, password and code from a sign-in page; does not follow the redirect. */
  submitCredentials(page: BrowserResponse, user: User, password?: string): Promise<BrowserResponse>;
  /** Signs in at the portal. */
  signInAtPortal(organization: Organization, user: User): Promise<void>;
  /** Sends a request as the pages of the portal do. */
  callFromPortal(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; text: string; body: Record<string, unknown> }>;
  close(): void;
};

export function openSignInBrowser({ platform }: Production): SignInBrowser {
  const { transport, agent } = tlsTransport(readFileSync(platform.caFile, 'utf8'));
  const browser = createBrowser(platform.baseUrl, transport);

  async function submitCredentials(
    page: BrowserResponse,
    user: User,
    password = user.password,
  ): Promise<BrowserResponse> {
    const { username, otpSecret } = user;
    const isRight = password === user.password;
    const code = otpSecret === undefined || !isRight ? '' : await nextCode(otpSecret);
    return submitForm(browser, page, { username, password, code });
  }

  return {
    browser,
    submitCredentials,
    async signInAtPortal({ realm }, user) {
      const page = await follow(browser, await browser.visit(`/portal/sign-in?domain=${realm}`));
      const entered = await submitCredentials(page, user);
      assert.equal(entered.status, 303, entered.text);
      const response = await follow(browser, entered, ({ pathname }) => pathname === '/portal');
      assert.ok(response.status < 400, response.text);
    },
    async callFromPortal(method, path, body) {
      const headers = { accept: 'application/json', 'content-type': 'application/json', ...asPage };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await browser.visit(path, { method, headers, ...sent });
      const isJson = response.text.startsWith('{');
      return { status: response.status, text: response.text, body: isJson ? response.json() : {} };
    },
    close: () => agent.destroy(),
  };
}
