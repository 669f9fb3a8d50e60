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
import { otpCodeAt, type TestUser } from '../support/test-users.ts';
import type { PortalTestServer } from './portal-test-platform.ts';

export const sessionCookie = '__Host-switchyard-session';
const redirectsMax = 10;

export type Visitor = {
  readonly origin: string;
  readonly browser: Browser;
  /** Sends a request as a script of the page does. */
  ask(path: string, visit?: VisitOptions): Promise<BrowserResponse>;
  /** Goes to the form for name and password. */
  toSignIn(wanted?: Readonly<Record<string, string>>): Promise<BrowserResponse>;
  /** Signs in and returns the response of the callback. */
  callback(person: TestUser, page?: BrowserResponse): Promise<BrowserResponse>;
  /** Completes the sign-in and returns the redirect target of the callback. */
  signIn(person: TestUser, wanted?: Readonly<Record<string, string>>): Promise<URL>;
  session(): Cookie | undefined;
};

export const asPage = { 'x-switchyard-portal': '1', 'sec-fetch-site': 'same-origin' } as const;

/** Follows redirects to any host; stops before an address for which `until` is true. */
export async function follow(
  browser: Browser,
  first: BrowserResponse,
  until: (address: URL) => boolean = () => false,
): Promise<BrowserResponse> {
  let seen = first;
  for (let hop = 0; hop < redirectsMax; hop += 1) {
    const { location } = seen;
    if (location === undefined || until(location)) return seen;
    seen = await browser.visit(location);
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

  async function callback(person: TestUser, given?: BrowserResponse): Promise<BrowserResponse> {
    const page = given ?? (await visitor.toSignIn());
    const { password, otpSecret, user } = person;
    const code = otpSecret === undefined ? '' : otpCodeAt(otpSecret, clock.now());
    const sent = await submitForm(browser, page, { username: user.username, password, code });
    assert.equal(sent.status, 303, sent.text);
    const isCallback = ({ pathname }: URL) => pathname === '/portal/callback';
    const back = await follow(browser, sent, isCallback);
    assert.ok(back.location !== undefined && isCallback(back.location), back.text);
    return browser.visit(back.location);
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
    async toSignIn(wanted = {}) {
      const domain = isOwn ? { domain: userDomainId } : {};
      const query = new URLSearchParams({ ...domain, ...wanted });
      const page = await follow(browser, await browser.visit(`/portal/sign-in?${query}`));
      assert.equal(page.status, 200, page.text);
      return page;
    },
    async signIn(person, wanted) {
      const seen = await callback(person, await visitor.toSignIn(wanted));
      assert.equal(seen.status, 303, seen.text);
      assert.ok(seen.location !== undefined);
      return seen.location;
    },
    session: () => browser.cookiesFor('/').find(({ name }) => name === sessionCookie),
  };
  return visitor;
}
