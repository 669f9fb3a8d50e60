// Access tokens that the realm's key signs, with claims that the realm would not issue.
import assert from 'node:assert/strict';
import { decodeJwt, importJWK, type JWTPayload, SignJWT } from 'jose';
import { createKeyRing } from '../../../src/identity/realms-and-keys/signing-keys.ts';
import { testDatabase } from '../database/test-database.ts';
import type { TestOrganization } from '../test-organization.ts';

type Row = { key_id: string; private_sealed: Buffer };

/** An access token of the point of sale with other claims, signed by the realm's key. */
export async function signAccessToken(
  setup: TestOrganization,
  claims: JWTPayload,
): Promise<string> {
  const database = await testDatabase();
  const [row] = await database.query<Row>(
    `SELECT key_id, private_sealed FROM realm_keys WHERE organization_id = $1
      AND algorithm = 'ES256'`,
    [setup.organizationId],
  );
  assert.ok(row !== undefined);
  const { privateJwk } = createKeyRing(setup.settings.platformKey).openKey(setup.organizationId, {
    keyId: row.key_id,
    algorithm: 'ES256',
    privateSealed: row.private_sealed,
    activeFrom: 0,
  });
  return new SignJWT({ ...decodeJwt(setup.merchant.token), ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: row.key_id, typ: 'JWT' })
    .sign(await importJWK(privateJwk, 'ES256'));
}
