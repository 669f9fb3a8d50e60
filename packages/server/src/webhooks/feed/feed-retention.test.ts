// Tests retention in a real database: it deletes from the beginning and keeps recent events.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { runCleanup } from '../../../test/support/database/run-cleanup.ts';
import {
  migrationsFolder,
  testDatabaseCopyUrl,
} from '../../../test/support/database/test-database.ts';
import {
  createLog,
  type Database,
  dayMs,
  isoTime,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../platform/index.ts';
import { createFeedRetention } from './feed-retention.ts';
import { moveFeedStarts } from './feed-retention-sql.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const now = Date.parse('2026-06-30T00:00:00.000Z');

async function setUp(t: TestContext) {
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  const retention = createFeedRetention({ database, clock: { now: () => now }, days: 30 });
  t.after(database.close);
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  return { database, retention };
}

/** Inserts events of one organisation; `ages` are in days, in the order of positions. */
async function fill(database: Database, organizationId: string, ages: readonly number[]) {
  await database.query(
    `INSERT INTO feed_events (organization_id, position, event_id, type, subject_id, sequence,
       body, created_at)
     SELECT $1, i, gen_random_uuid(), 'thing.made', 'x', i, '{}', ($2::timestamptz[])[i]
     FROM generate_series(1, $3) AS i`,
    [organizationId, ages.map((age) => isoTime(now - age * dayMs)), ages.length],
  );
  await database.query('INSERT INTO feed_heads VALUES ($1, $2)', [organizationId, ages.length]);
}

async function stateOf(database: Database, organizationId: string) {
  const [row] = await database.query<{ swept: number; kept: number[] }>(
    `SELECT swept, ARRAY(SELECT position::int FROM feed_events e
       WHERE e.organization_id = h.organization_id ORDER BY position) AS kept
     FROM feed_heads h WHERE organization_id = $1`,
    [organizationId],
  );
  return row;
}

describe('retention of the feed', () => {
  // Spec: QRPROV-28
  test('deletes events after the retention time, for many organisations and in many steps', async (t) => {
    const { database, retention } = await setUp(t);
    const many = Array.from({ length: 45 }, () => randomUUID());
    for (const id of many) await fill(database, id, [40, 35, 31, 29, 1]);
    const large = randomUUID();
    await fill(database, large, [...Array.from({ length: 1700 }, () => 90), 2]);
    await runCleanup([retention]);
    for (const id of many) {
      assert.deepEqual(await stateOf(database, id), { swept: 3, kept: [4, 5] });
    }
    assert.deepEqual(await stateOf(database, large), { swept: 1700, kept: [1701] });
  });

  test('an old event behind a young one stays: a feed has no holes', async (t) => {
    const { database, retention } = await setUp(t);
    const id = randomUUID();
    await fill(database, id, [40, 5, 40, 5]);
    await runCleanup([retention]);
    assert.equal((await stateOf(database, id))?.swept, 1);
    assert.deepEqual((await stateOf(database, id))?.kept, [2, 3, 4]);
  });

  test('a crash between the two steps leaves unreadable rows, which the next step deletes', async (t) => {
    const { database, retention } = await setUp(t);
    const id = randomUUID();
    await fill(database, id, [60, 60, 40, 1]);
    const first = await moveFeedStarts(database, isoTime(now - 50 * dayMs));
    assert.deepEqual([...first.bounds], [[id, 2]]);
    assert.deepEqual(await stateOf(database, id), { swept: 2, kept: [1, 2, 3, 4] });
    await runCleanup([retention]);
    assert.deepEqual((await stateOf(database, id))?.kept, [4]);
    assert.equal((await stateOf(database, id))?.swept, 3);
  });

  test('the server deletes all events of an old feed, and does not reset its position', async (t) => {
    const { database, retention } = await setUp(t);
    const id = randomUUID();
    await fill(database, id, [60, 60]);
    await runCleanup([retention]);
    assert.deepEqual((await stateOf(database, id))?.kept, []);
    const [head] = await database.query<{ position: number }>('SELECT position FROM feed_heads');
    assert.equal(head?.position, 2);
  });
});
