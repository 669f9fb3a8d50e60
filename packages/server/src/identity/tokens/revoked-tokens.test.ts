// Tests that revocations work when the list in memory is full.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
  type TokenResponse,
} from '../../../test/support/browser/oauth-test-realm.ts';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { maxListedIds } from '../infrastructure/oidc-entity-sql.ts';

const hourMs = 3_600_000;

describe('a realm with more revoked tokens than its list can hold', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm();
  });
  after(() => flow.close());

  const isGood = (token: string) =>
    flow.realm.identity.verifyToken(token).then(
      () => true,
      () => false,
    );

  /** All of them expire later than the tokens of this test, so the list contains nothing else. */
  async function fill(model: string): Promise<void> {
    const { organizationId } = flow.realm;
    await (await testDatabase()).query(
      `INSERT INTO oidc_entities (organization_id, model, entity_id, payload, created_at, expires_at)
       SELECT $1, $2, gen_random_uuid()::text, '{}', $3, $4
       FROM generate_series(1, ${maxListedIds})`,
      [organizationId, model, new Date(flow.clock.now()), new Date(flow.clock.now() + 24 * hourMs)],
    );
  }

  const revoke = async (token: string) => {
    const { clientId: client_id, clientSecret: client_secret } = flow.client;
    const form = { token, client_id, client_secret };
    const { status } = await flow.realm.post(`${flow.base}/revoke`, form);
    assert.equal(status, 200);
  };

  test('refuses a revoked token, and no other', async () => {
    const ownTokens = await flow.requestTokens();
    const other = await flow.requestTokens();
    assert.equal(await isGood(ownTokens.access_token), true);
    await fill('RevokedAccessToken');
    await revoke(ownTokens.access_token);
    assert.equal(await isGood(ownTokens.access_token), false);
    assert.equal(await isGood(other.access_token), true);
    // The other tokens of the sign-in stay valid.
    const next = (await flow.refresh(ownTokens.refresh_token)).body as TokenResponse;
    assert.equal(await isGood(next.access_token), true);
  });

  test('refuses every token of a sign-in that has ended, and of no other', async () => {
    const ownTokens = await flow.requestTokens();
    const next = (await flow.refresh(ownTokens.refresh_token)).body as TokenResponse;
    const other = await flow.requestTokens();
    await fill('RevokedFamily');
    await revoke(next.refresh_token);
    for (const { access_token } of [ownTokens, next]) {
      assert.equal(decodeJwt(access_token)['sid'], ownTokens.session_state);
      assert.equal(await isGood(access_token), false);
    }
    assert.equal(await isGood(other.access_token), true);
  });
});
