import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import {
  migrationsFolder,
  testDatabaseCopyUrl,
} from '../../../test/support/database/test-database.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { openDatabase } from '../database/database.ts';
import { migrate } from '../database/migrations/migrate.ts';
import { bucketSql } from '../identifiers/bucket.ts';
import { systemIdGenerator } from '../identifiers/ids.ts';
import { createLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { systemClock } from '../time/clock.ts';
import { createOutbox, type OutboxRow } from './outbox.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

/** A separate database: other tests on the shared one would take these rows. */
async function setUp(t: TestContext) {
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  const working: { stop(): Promise<void> }[] = [];
  t.after(async () => {
    await Promise.all(working.map((each) => each.stop()));
    await database.close();
  });
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  return {
    open() {
      const outbox = createOutbox({ database, log, metrics: createMetrics(), pollMs: 20 });
      working.push(outbox);
      return outbox;
    },
    /** As another process reports it. */
    async ageSeconds(): Promise<number> {
      const metrics = createMetrics();
      createOutbox({ database, log, metrics });
      const text = await metrics.registry.metrics();
      return Number(/^switchyard_outbox_age_seconds (.+)$/m.exec(text)?.[1]);
    },
    async insert(organizationId: string, count: number): Promise<string[]> {
      const rows = Array.from({ length: count }, (_, index) => ({
        outbox_id: systemIdGenerator.uuid(),
        sequence: index + 1,
      }));
      await database.query(
        `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
         SELECT ${bucketSql('$1::uuid')}, $1, r.outbox_id, 'test.made', $1, r.sequence, now()
         FROM jsonb_to_recordset($2::jsonb) AS r(outbox_id uuid, sequence int)`,
        [organizationId, JSON.stringify(rows)],
      );
      return rows.map((row) => row.outbox_id);
    },
    async left(): Promise<number> {
      const [row] = await database.query<{ n: number }>('SELECT count(*) AS n FROM outbox');
      return row?.n ?? 0;
    },
  };
}

describe('outbox', () => {
  test('every row is passed on once, for every tenant, in the order of creation', async (t) => {
    const { open, insert, left } = await setUp(t);
    const outboxes = [open(), open()];
    const tenants: string[] = [randomUUID(), randomUUID(), randomUUID()];
    const seenRows = new Map<string, OutboxRow>();
    for (const outbox of outboxes) {
      outbox.subscribe(async (rows) => {
        for (const row of rows) {
          assert.ok(!seenRows.has(row.outboxId), 'twice');
          seenRows.set(row.outboxId, row);
        }
        const ids = rows.map((row) => row.organizationId + row.outboxId);
        assert.deepEqual(ids, ids.toSorted());
        return undefined;
      });
      outbox.start();
    }
    const made = (await Promise.all(tenants.map((tenant) => insert(tenant, 450)))).flat();
    for (const outbox of outboxes) outbox.wake();
    await eventually('all are handed on', async () => (await left()) === 0);
    await Promise.all(outboxes.map((outbox) => outbox.stop()));
    assert.deepEqual([...seenRows.keys()].toSorted(), made.toSorted());
    const row = seenRows.get(made[0] ?? '');
    assert.equal(row?.kind, 'test.made');
    assert.equal(row?.sequence, 1);
    assert.ok(row?.createdAt instanceof Date);
  });

  test('the outbox delivers a rejected row again, and the row does not block others', async (t) => {
    const { open, insert, left, ageSeconds } = await setUp(t);
    assert.equal(await ageSeconds(), 0);
    const outbox = open();
    const ids = await insert(randomUUID(), 30);
    const poison = ids[10] ?? '';
    let healed = false;
    let refused = 0;
    outbox.subscribe(async (rows) => {
      if (!healed && rows.some((row) => row.outboxId === poison)) {
        refused += 1;
        throw new Error('cannot take it');
      }
      return undefined;
    });
    outbox.start();
    await eventually('the others are gone', async () => {
      outbox.wake();
      return (await left()) === 1;
    });
    assert.ok(refused >= 2);
    await eventually('the age of the rejected row', async () => (await ageSeconds()) > 0);
    healed = true;
    await eventually('the last one as well', async () => {
      outbox.wake();
      return (await left()) === 0;
    });
    assert.equal(await ageSeconds(), 0);
    await outbox.stop();
  });

  test('a temporary failure does not make thousands of rows go one by one', async (t) => {
    const { open, insert, left } = await setUp(t);
    const outbox = open();
    await insert(randomUUID(), 3000);
    const batches: number[] = [];
    outbox.subscribe(async (rows) => {
      batches.push(rows.length);
      if (batches.length === 1) throw new Error('not now');
      return undefined;
    });
    outbox.start();
    await eventually('all are handed on', async () => (await left()) === 0);
    await outbox.stop();
    assert.equal(batches[0], 500);
    assert.equal(batches[1], 20);
    assert.equal(
      batches.slice(1).reduce((sum, each) => sum + each, 0),
      3000,
    );
    assert.ok(batches.length <= 35, `${batches}`);
  });
});
