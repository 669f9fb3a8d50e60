// The last uses of applications: written together, for those that there are, and kept over a fault.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../../../test/database.ts';
import { movableClock, openTestRealm, type TestRealm } from '../../../test/identity.ts';
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

  /** With how often the database was asked to write, and a switch that makes it fail. */
  function room() {
    const seen = { writes: 0, isAway: false };
    const uses = createApplicationLastUsed({
      clock,
      log,
      database: {
        query: (text, values) => {
          if (!text.startsWith('INSERT')) return database.query(text, values);
          seen.writes += 1;
          return seen.isAway ? Promise.reject(new Error('away')) : database.query(text, values);
        },
      },
    });
    return { seen, uses };
  }

  const written = async (clientIds: readonly string[]) => {
    const { uses } = room();
    return uses.find(realm.organizationId, clientIds);
  };

  test('many calls of many applications are one statement, with the last time of each', async () => {
    const { seen, uses } = room();
    const { organizationId } = realm;
    const one = (await realm.createApplication()).clientId;
    const other = (await realm.createApplication()).clientId;
    for (let call = 0; call < 1_000; call += 1) uses.record(organizationId, one);
    const first = clock.now();
    clock.advance(1_000);
    uses.record(organizationId, other);
    uses.record(organizationId, 'nobody-has-this-name');
    uses.record(randomUUID(), one);
    assert.equal(seen.writes, 0, 'nothing is written at a call');
    assert.deepEqual(
      await uses.find(organizationId, [one, other]),
      new Map([
        [one, first],
        [other, first + 1_000],
      ]),
      'what is not written yet counts in this process',
    );
    await uses.close();
    assert.equal(seen.writes, 1);
    const all = await written([one, other, 'nobody-has-this-name']);
    assert.deepEqual(
      all,
      new Map([
        [one, first],
        [other, first + 1_000],
      ]),
    );
    await uses.close();
    assert.equal(seen.writes, 1, 'nothing new is not written');
  });

  test('an older time from another process takes nothing back', async () => {
    const { organizationId } = realm;
    const { clientId } = await realm.createApplication();
    const late = room();
    late.uses.record(organizationId, clientId);
    const noted = clock.now();
    clock.advance(5_000);
    const quick = room();
    quick.uses.record(organizationId, clientId);
    await quick.uses.close();
    await late.uses.close();
    assert.deepEqual(await written([clientId]), new Map([[clientId, noted + 5_000]]));
  });

  test('what could not be written is written the next time', async () => {
    const { seen, uses } = room();
    const { organizationId } = realm;
    const { clientId } = await realm.createApplication();
    uses.record(organizationId, clientId);
    seen.isAway = true;
    await uses.flush();
    assert.deepEqual(await written([clientId]), new Map());
    seen.isAway = false;
    await uses.close();
    assert.equal((await written([clientId])).size, 1);
    assert.equal(seen.writes, 2);
  });

  test('of one that was removed nothing is kept, and nothing comes back', async () => {
    const { organizationId } = realm;
    const { clientId } = await realm.createApplication();
    const first = room();
    first.uses.record(organizationId, clientId);
    await first.uses.close();
    assert.equal((await written([clientId])).size, 1);
    const store = createApplicationStore(database);
    const nothing = () => {};
    await store.remove(organizationId, clientId, clock.now(), nothing, async () => {});
    assert.equal((await written([clientId])).size, 0);
    const late = room();
    late.uses.record(organizationId, clientId);
    await late.uses.close();
    assert.equal((await written([clientId])).size, 0);
  });
});
