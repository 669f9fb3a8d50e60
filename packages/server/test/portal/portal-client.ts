// A browser without a window at the portal: it signs in by the realm's pages, and sends requests as
// the portal's scripts do.
import assert from 'node:assert/strict';
import {
  type Browser,
  type BrowserResponse,
  type Cookie,
  createBrowser,
  type VisitOptions,
} from '../support/browser/cookie-browser.ts';
import { submitForm } from '../support/browser/test-sign-in-pages.ts';
import { otpCodeAt, type TestUser } from '../support/identity/test-users.ts';
import type { PortalTestServer } from './portal-test-platform.ts';

export const sessionCookie = '__Host-switchyard-session';
const redirectsMax = 10;

export type Visitor = {
  readonly origin: string;
  readonly browser: Browser;
  /** Sends a request as a script of the page does. */
  ask(path: string, visit?: VisitOptions): Promise<BrowserResponse>;
  /** Goes to the form for name and password. */
  toSignIn(parameters?: Readonly<Record<string, string>>): Promise<BrowserResponse>;
  /** Signs in and returns the response of the callback. */
  callback(person: TestUser, page?: BrowserResponse): Promise<BrowserResponse>;
  /** Completes the sign-in and returns the redirect target of the callback. */
  signIn(person: TestUser, parameters?: Readonly<Record<string, string>>): Promise<URL>;
  session(): Cookie | undefined;
};

export const asPage = { 'x-switchyard-portal': '1', 'sec-fetch-site': 'same-origin' } as const;

/** Follows redirects to any host; stops before an address for which `until` is true. */
export async function follow(
  browser: Browser,
  first: BrowserResponse,
  until: (address: URL) => boolean = () => false,
): Promise<BrowserResponse> {
  let response = first;
  for (let hop = 0; hop < redirectsMax; hop += 1) {
    const { location } = response;
    if (location === undefined || until(location)) return response;
    response = await browser.visit(location);
  }
  throw new Error(`more than ${redirectsMax} redirects`);
}

type Where = Pick<PortalTestServer, 'settings' | 'transport' | 'clock'>;

/** `origin` is the host of a client; default: the address of the platform. */
export function openVisitor(
  { settings, transport, clock }: Where,
  userDomainId: string,
  origin: string = settings.baseUrl,
): Visitor {
  const browser = createBrowser(origin, transport);
  const isOwn = origin === settings.baseUrl;

  async function callback(
    person: TestUser,
    signInPage?: BrowserResponse,
  ): Promise<BrowserResponse> {
    const page = signInPage ?? (await visitor.toSignIn());
    const { password, otpSecret, user } = person;
    const code = otpSecret === undefined ? '' : otpCodeAt(otpSecret, clock.now());
    const sent = await submitForm(browser, page, { username: user.username, password, code });
    assert.equal(sent.status, 303, sent.text);
    const isCallback = ({ pathname }: URL) => pathname === '/portal/callback';
    const callbackResponse = await follow(browser, sent, isCallback);
    assert.ok(
      callbackResponse.location !== undefined && isCallback(callbackResponse.location),
      callbackResponse.text,
    );
    return browser.visit(callbackResponse.location);
  }

  const visitor: Visitor = {
    origin,
    browser,
    callback,
    ask: (path, visit = {}) =>
      browser.visit(path, {
        ...visit,
        headers: { accept: 'application/json', ...asPage, ...visit.headers },
      }),
    async toSignIn(parameters = {}) {
      const domain = isOwn ? { domain: userDomainId } : {};
      const query = new URLSearchParams({ ...domain, ...parameters });
      const page = await follow(browser, await browser.visit(`/portal/sign-in?${query}`));
      assert.equal(page.status, 200, page.text);
      return page;
    },
    async signIn(person, parameters) {
      const response = await callback(person, await visitor.toSignIn(parameters));
      assert.equal(response.status, 303, response.text);
      assert.ok(response.location !== undefined);
      return response.location;
    },
    session: () => browser.cookiesFor('/').find(({ name }) => name === sessionCookie),
  };
  return visitor;
}
