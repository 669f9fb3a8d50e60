// The portal over TLS: in by the realm's pages, a session that only the portal's own pages can use, out again.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createPerson } from './people.ts';
import { openVisitor, sessionCookie } from './portal.ts';
import { type Scene, scene } from './scene.ts';

describe('a session of the portal', () => {
  let on: Scene;
  before(async () => {
    on = await scene();
  });

  const where = () => ({
    identity: on.house.identity,
    organizationId: on.organizationId,
    userDomainId: on.realm,
  });

  test('is begun by the realm’s pages, holds no token, and opens the API to its person', async (t) => {
    const person = await createPerson(where(), { hasOneTimePassword: true, locale: 'fr-FR' });
    const { browser, ask, signIn } = openVisitor(t, on, on.realm);
    assert.equal((await ask('/portal/session')).status, 401);
    const to = await signIn(person, { to: '/portal/payments?state=Captured' });
    assert.equal(to.pathname + to.search, '/portal/payments?state=Captured');
    const cookie = browser.cookiesFor('/').find(({ name }) => name === sessionCookie);
    assert.match(cookie?.value ?? '', /^[\w-]{64}$/);
    assert.equal(cookie?.attributes.get('samesite'), 'Strict');
    assert.ok(cookie?.attributes.has('httponly'));
    const seen = await ask('/portal/session');
    assert.equal(seen.status, 200, seen.text);
    const session = seen.json();
    assert.equal(session['organizationId'], on.organizationId);
    assert.deepEqual(session['entries'], ['portal', 'provider-portal']);
    assert.equal(seen.text.includes('eyJ'), false, 'no token');
    const users = await ask(`/user-management/v2/user-domains/${on.realm}/users`);
    assert.equal(users.status, 200, users.text);
    const payments = await ask('/payment/v1/approval-codes');
    assert.equal(payments.status, 403, 'no right of an administrator');
  });
});
