// A browser at the portal of the test house: it signs in by the pages, and asks as the pages' scripts do.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Browser, createBrowser, overTls, type Seen, type Visit } from './browser.ts';
import type { TestHouse } from './house.ts';
import { codeAt, type Person } from './people.ts';
import { submit } from './sign-in-pages.ts';

export const sessionCookie = '__Host-switchyard-session';

export type Visitor = {
  readonly browser: Browser;
  /** As a script of the page asks. */
  ask(path: string, visit?: Visit): Promise<Seen>;
  /** From the portal to the sign-in and back; answers the page that the callback leads to. */
  signIn(person: Person, wanted?: Readonly<Record<string, string>>): Promise<URL>;
};

export const asPage = { 'x-switchyard-portal': '1', 'sec-fetch-site': 'same-origin' } as const;

export function openVisitor(
  test: TestContext,
  { settings, ca }: Pick<TestHouse, 'settings' | 'ca'>,
  userDomainId: string,
): Visitor {
  const { transport, agent } = overTls(ca);
  test.after(() => agent.destroy());
  const browser = createBrowser(settings.baseUrl, transport);
  return {
    browser,
    ask: (path, visit = {}) =>
      browser.visit(path, {
        ...visit,
        headers: { accept: 'application/json', ...asPage, ...visit.headers },
      }),
    async signIn(person, wanted = {}) {
      const query = new URLSearchParams({ domain: userDomainId, ...wanted });
      const page = await browser.browse(`/portal/sign-in?${query}`);
      assert.equal(page.status, 200, page.text);
      const { password, otpSecret, user } = person;
      const code = otpSecret === undefined ? '' : codeAt(otpSecret, Date.now());
      const sent = await submit(browser, page, { username: user.username, password, code });
      assert.equal(sent.status, 303, sent.text);
      return leaveSignIn(browser, sent);
    },
  };
}

/** Follows the realm's redirects to the callback and one step beyond. */
export async function leaveSignIn(browser: Browser, sent: Seen): Promise<URL> {
  let { location } = sent;
  while (location !== undefined) {
    const seen: Seen = await browser.visit(location);
    if (location.pathname === '/portal/callback') {
      assert.equal(seen.status, 303, seen.text);
      assert.ok(seen.location !== undefined);
      return seen.location;
    }
    location = seen.location;
  }
  throw new Error('the sign-in led nowhere');
}
