// Tests the last uses of applications: written in batches, for existing applications, and retried after an error.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  movableClock,
  openTestRealm,
  type TestRealm,
} from '../../../test/support/identity/test-realm.ts';
import { createLog, type Database } from '../../platform/index.ts';
import { createApplicationLastUsed } from './application-last-used.ts';
import { createApplicationStore } from './application-sql.ts';

describe('the last uses of applications', () => {
  const clock = movableClock();
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  let database: Database;
  let realm: TestRealm;
  before(async () => {
    database = await testDatabase();
    realm = await openTestRealm({ database, clock });
  });
  after(() => realm.close());

  /** Counts the write statements, and can make them fail. */
  function createRecorder() {
    const observed = { writes: 0, isAway: false };
    const uses = createApplicationLastUsed({
      clock,
      log,
      database: {
        ...database,
        query: (statement, values) => {
          if (!String(statement).startsWith('INSERT')) return database.query(statement, values);
          observed.writes += 1;
          return observed.isAway
            ? Promise.reject(new Error('away'))
            : database.query(statement, values);
        },
      },
    });
    return { seen: observed, uses };
  }

  const written = async (clientIds: readonly string[]) => {
    const { uses } = createRecorder();
    return uses.find(realm.organizationId, clientIds);
  };

  // Spec: ONB-18
  test('many calls of many applications write one statement with the last time of each', async () => {
    const { seen: observed, uses } = createRecorder();
    const { organizationId } = realm;
    const clientId = (await realm.createApplication()).clientId;
    const other = (await realm.createApplication()).clientId;
    for (let call = 0; call < 1_000; call += 1) uses.record(organizationId, clientId);
    const first = clock.now();
    clock.advance(1_000);
    uses.record(organizationId, other);
    uses.record(organizationId, 'unknown-client-id');
    uses.record(randomUUID(), clientId);
    assert.equal(observed.writes, 0, 'nothing is written at a call');
    assert.deepEqual(
      await uses.find(organizationId, [clientId, other]),
      new Map([
        [clientId, first],
        [other, first + 1_000],
      ]),
      'what is not written yet counts in this process',
    );
    await uses.close();
    assert.equal(observed.writes, 1);
    const all = await written([clientId, other, 'unknown-client-id']);
    assert.deepEqual(
      all,
      new Map([
        [clientId, first],
        [other, first + 1_000],
      ]),
    );
    await uses.close();
    assert.equal(observed.writes, 1, 'nothing new is not written');
  });

  test('an older time from another process does not overwrite a newer one', async () => {
    const { organizationId } = realm;
    const { clientId } = await realm.createApplication();
    const late = createRecorder();
    late.uses.record(organizationId, clientId);
    const noted = clock.now();
    clock.advance(5_000);
    const quick = createRecorder();
    quick.uses.record(organizationId, clientId);
    await quick.uses.close();
    await late.uses.close();
    assert.deepEqual(await written([clientId]), new Map([[clientId, noted + 5_000]]));
  });

  test('times that could not be written are written the next time', async () => {
    const { seen: observed, uses } = createRecorder();
    const { organizationId } = realm;
    const { clientId } = await realm.createApplication();
    uses.record(organizationId, clientId);
    observed.isAway = true;
    await uses.flush();
    assert.deepEqual(await written([clientId]), new Map());
    observed.isAway = false;
    await uses.close();
    assert.equal((await written([clientId])).size, 1);
    assert.equal(observed.writes, 2);
  });

  test('the last use of a removed application is deleted and not written again', async () => {
    const { organizationId } = realm;
    const { clientId } = await realm.createApplication();
    const first = createRecorder();
    first.uses.record(organizationId, clientId);
    await first.uses.close();
    assert.equal((await written([clientId])).size, 1);
    const store = createApplicationStore(database);
    const nothing = () => {};
    await store.remove(organizationId, clientId, clock.now(), nothing, async () => {});
    assert.equal((await written([clientId])).size, 0);
    const late = createRecorder();
    late.uses.record(organizationId, clientId);
    await late.uses.close();
    assert.equal((await written([clientId])).size, 0);
  });
});
