// Tests the client verifier: applications that authenticate without naming their organisation.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { type Database, systemClock, systemIdGenerator } from '../../platform/index.ts';
import { createApplicationStore, findOrganizationsText } from '../clients/application-sql.ts';
import { createApplications } from '../clients/applications.ts';
import { recordNothing } from '../infrastructure/audit-port.ts';
import { createChangeCounter } from '../infrastructure/change-counter.ts';
import { createClientVerifier } from './client-verifier.ts';

/** Of one name. */
const organizations = 40;

describe('a client that is found by its credentials', () => {
  let database: Database;
  before(async () => {
    database = await testDatabase();
  });

  function opened() {
    const store = createApplicationStore(database);
    let lookups = 0;
    const applicationStore = {
      ...store,
      findOrganizations(...credentials: Parameters<typeof store.findOrganizations>) {
        lookups += 1;
        return store.findOrganizations(...credentials);
      },
    };
    const applications = createApplications({
      store: applicationStore,
      clock: systemClock,
      ids: systemIdGenerator,
      changeCounter: createChangeCounter(),
      recordChange: recordNothing,
    });
    const keys = new Map([['key', {}]]);
    const devices = {
      verifySecret: async () => false,
      findActiveCertificates: async () => new Set<string>(),
    };
    const clients = createClientVerifier({
      applications,
      applicationStore,
      devices,
      clock: systemClock,
      realms: { find: async () => ({ keys }) as never },
      revocations: { findReason: async () => undefined },
      findUser: async () => undefined,
    });
    return { applications, clients, keys, lookupCount: () => lookups };
  }

  // Spec: LIST-4
  it('is found by its secret, however many organisations have its client id', async () => {
    const { applications, clients } = opened();
    const clientId = `till-${randomUUID()}`;
    const all = await Promise.all(
      Array.from({ length: organizations }, async () => {
        const organizationId = randomUUID();
        const { clientSecret } = await applications.create({
          organizationId,
          clientId,
          name: 'Till 7',
          entityType: 'tenant',
          entityId: organizationId,
          roles: ['PointOfSaleTerminal'],
          securityFlows: ['ClientCredentials'],
        });
        return { organizationId, clientSecret };
      }),
    );
    for (const { organizationId, clientSecret } of all) {
      const proven = await clients.verifyInAnyOrganization(clientId, clientSecret);
      assert.deepEqual(
        proven.map((client) => client.organizationId),
        [organizationId],
      );
    }
    assert.deepEqual(await clients.verifyInAnyOrganization(clientId, 'w'.repeat(43)), []);
  });

  it('is looked up once for concurrent calls, and is no longer found after its secret has changed', async () => {
    const { applications, clients, lookupCount } = opened();
    const clientId = `till-${randomUUID()}`;
    const organizationId = randomUUID();
    const { clientSecret } = await applications.create({
      organizationId,
      clientId,
      name: 'Till 7',
      entityType: 'tenant',
      entityId: organizationId,
      roles: ['PointOfSaleTerminal'],
      securityFlows: ['ClientCredentials'],
    });
    const verify = () => clients.verifyInAnyOrganization(clientId, clientSecret);
    const many = await Promise.all(Array.from({ length: 50 }, verify));
    assert.ok(many.every((proven) => proven.length === 1));
    assert.equal((await verify()).length, 1);
    assert.equal(lookupCount(), 1);
    await applications.rotateSecret(organizationId, clientId);
    assert.deepEqual(await verify(), []);
  });

  it('has no permissions after the key of its token was replaced at once', async () => {
    const { applications, clients, keys } = opened();
    const organizationId = randomUUID();
    const { clientId } = await applications.create({
      organizationId,
      name: 'Till 7',
      entityType: 'tenant',
      entityId: organizationId,
      roles: ['PointOfSaleTerminal'],
      securityFlows: ['ClientCredentials'],
    });
    const token = { realm: 'r', organizationId, clientId, tokenId: 't', expiresAt: 1 };
    assert.ok(
      (await clients.currentPermissionsOfToken({ ...token, keyId: 'key' }))?.includes('cc.pos'),
    );
    keys.clear();
    assert.equal(await clients.currentPermissionsOfToken({ ...token, keyId: 'key' }), undefined);
    // A node of the previous release does not send the key id.
    assert.ok((await clients.currentPermissionsOfToken(token))?.includes('cc.pos'));
  });

  // Spec: LIST-4
  it('needs one index look-up', async () => {
    const plan = (await database.explain(findOrganizationsText)).join('\n');
    assert.match(plan, /(?:using|on) applications_credentials/);
    assert.match(plan, /Index Cond: \(\(client_id = \$1\) AND \(secret_hash = \$2\)\)/);
  });
});
