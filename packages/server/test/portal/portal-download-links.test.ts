// Plain links in a portal page: the session authenticates the allowed downloads, and no other
// request.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { VisitOptions } from '../support/browser/cookie-browser.ts';
import { createTestUser } from '../support/identity/test-users.ts';
import { openVisitor } from './portal-client.ts';
import { openPortalTestServer, type PortalTestServer } from './portal-test-platform.ts';

let portal: PortalTestServer;
before(async () => {
  portal = await openPortalTestServer();
});
after(() => portal.close());

// Spec: REP-11
test('a link in a portal page opens only the content of an export', async () => {
  const realm = await portal.newRealm();
  const { browser, signIn } = openVisitor(portal, realm.userDomainId);
  await signIn(await createTestUser(realm));
  const exports = '/reporting/v1/exports';
  const content = `${exports}/${randomUUID()}/content`;
  const link = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' };
  const status = async (
    path: string,
    headers: Record<string, string>,
    visit: VisitOptions = {},
  ) => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    return (await browser.visit(path, { ...visit, headers: { accept, ...headers } })).status;
  };
  // The export does not exist, so an authenticated request gets 404.
  assert.equal(await status(content, link), 404);
  const strange: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-mode': 'navigate' },
    { ...link, 'sec-fetch-mode': 'cors' },
    { ...link, 'sec-fetch-mode': 'no-cors' },
    ...['cross-site', 'same-site', 'none'].map((site) => ({ ...link, 'sec-fetch-site': site })),
    { ...link, origin: 'https://evil.example' },
    { ...link, 'x-switchyard-portal': 'no' },
    { ...link, authorization: 'Bearer nothing' },
  ];
  for (const headers of strange) {
    assert.equal(await status(content, headers), 401, JSON.stringify(headers));
  }
  for (const path of [exports, `${exports}/${randomUUID()}`, '/logs/v1/requests']) {
    assert.equal(await status(path, link), 401, path);
  }
  assert.equal(await status(`${exports}/${randomUUID()}`, link, { method: 'DELETE' }), 401);
});
