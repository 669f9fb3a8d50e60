// Applications that show credentials and do not say whose they are.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { testDatabase } from '../../test/database.ts';
import { type Database, systemClock, systemIds } from '../platform/index.ts';
import { createApplicationStore, ownersText } from './application-store.ts';
import { createApplications } from './applications.ts';
import { recordNothing } from './changes.ts';
import { createClients } from './clients.ts';
import { createRevision } from './revision.ts';

/** Of one name. */
const organizations = 40;

describe('an application that is found by its credentials', () => {
  let database: Database;
  before(async () => {
    database = await testDatabase();
  });

  function opened() {
    const applicationStore = createApplicationStore(database);
    const applications = createApplications({
      ...{ store: applicationStore, clock: systemClock, ids: systemIds },
      ...{ revision: createRevision(), recordChange: recordNothing },
    });
    const devices = { checkSecret: async () => false, standing: async () => new Set<string>() };
    return { applications, clients: createClients({ applications, applicationStore, devices }) };
  }

  it('is known by its secret, however many organisations have its client id', async () => {
    const { applications, clients } = opened();
    const clientId = `till-${randomUUID()}`;
    const all = await Promise.all(
      Array.from({ length: organizations }, async () => {
        const organizationId = randomUUID();
        const { clientSecret } = await applications.create({
          ...{ organizationId, clientId, name: 'Till 7', entityType: 'tenant' },
          ...{ entityId: organizationId, roles: ['PointOfSaleTerminal'] },
          securityFlows: ['ClientCredentials'],
        });
        return { organizationId, clientSecret };
      }),
    );
    for (const { organizationId, clientSecret } of all) {
      const proven = await clients.proveAnywhere(clientId, clientSecret);
      assert.deepEqual(
        proven.map((client) => client.organizationId),
        [organizationId],
      );
    }
    assert.deepEqual(await clients.proveAnywhere(clientId, 'w'.repeat(43)), []);
  });

  it('costs one look along a whole key', async () => {
    const plan = (await database.explain(ownersText)).join('\n');
    assert.match(plan, /(?:using|on) applications_credentials/);
    assert.match(plan, /Index Cond: \(\(client_id = \$1\) AND \(secret_hash = \$2\)\)/);
  });
});
