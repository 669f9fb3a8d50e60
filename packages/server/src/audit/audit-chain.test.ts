// Records and their chain, over the real database.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { testDatabase } from '../../test/support/database/test-database.ts';
import { testAudit } from '../../test/support/test-audit.ts';
import { type Database, systemClock } from '../platform/index.ts';
import { type AuditEntry, createAudit, platformAuthor } from './index.ts';

const entryOf = (organizationId: string, facts: Partial<AuditEntry> = {}): AuditEntry => ({
  ...platformAuthor,
  organizationId,
  action: 'merchant.created',
  entity: { type: 'merchant', id: randomUUID() },
  ...facts,
});

describe('records of changes', () => {
  let database: Database;
  before(async () => {
    database = await testDatabase();
  });

  const sequences = async (organizationId: string) =>
    (
      await database.query<{ sequence: number }>(
        'SELECT sequence FROM audit_records WHERE organization_id = $1 ORDER BY sequence',
        [organizationId],
      )
    ).map(({ sequence }) => sequence);

  test('parallel writers make one chain without gaps or forks', async () => {
    const organizationId = randomUUID();
    const { record, recordAll } = testAudit(database, systemClock);
    const writers = Array.from({ length: 24 }, (_, index) =>
      database.transaction((trx) =>
        index % 2 === 0
          ? record(trx, entryOf(organizationId))
          : recordAll(trx, [entryOf(organizationId), entryOf(organizationId)]),
      ),
    );
    await Promise.all(writers);
    assert.deepEqual(
      await sequences(organizationId),
      Array.from({ length: 36 }, (_, index) => index + 1),
    );
  });

  // Spec: INV-20
  test('the record after a jump skips numbers and continues the chain of hashes', async () => {
    const organizationId = randomUUID();
    const { record, recordAll } = testAudit(database, systemClock);
    await database.transaction((trx) => record(trx, entryOf(organizationId)));
    await database.query(
      'UPDATE audit_heads SET skipped = skipped + 100 WHERE organization_id = $1',
      [organizationId],
    );
    const entries = [entryOf(organizationId), entryOf(organizationId)];
    await database.transaction((trx) => recordAll(trx, entries));
    await database.transaction((trx) => record(trx, entryOf(organizationId)));
    assert.deepEqual(await sequences(organizationId), [1, 102, 103, 104]);
    const [broken] = await database.query<{ n: number }>(
      `SELECT count(*) AS n FROM (SELECT previous_hash, lag(hash) OVER (ORDER BY sequence) AS before
         FROM audit_records WHERE organization_id = $1) r WHERE before <> previous_hash`,
      [organizationId],
    );
    assert.equal(broken?.n, 0);
  });

  // Spec: PROV-65
  test('a change that is rolled back leaves no record and no gap', async () => {
    const organizationId = randomUUID();
    const { record } = testAudit(database, systemClock);
    await database.transaction((trx) => record(trx, entryOf(organizationId)));
    await assert.rejects(
      database.transaction(async (trx) => {
        await record(trx, entryOf(organizationId));
        throw new Error('thought better of it');
      }),
      /thought better/,
    );
    await database.transaction((trx) => record(trx, entryOf(organizationId)));
    assert.deepEqual(await sequences(organizationId), [1, 2]);
  });
});

describe('the schedule of checkpoints', () => {
  test('follows the first record after a checkpoint, and each full thousand', async () => {
    const database = await testDatabase();
    const organizationId = randomUUID();
    const now = Date.parse('2026-03-01T12:00:00.000Z');
    const ordered: number[] = [];
    const audit = createAudit({
      database,
      clock: { now: () => now },
      masterKey: Buffer.alloc(32, 1),
      jobs: {
        handle: () => {},
        enqueue: async ({ dueAt = 0 }) => void ordered.push((dueAt - now) / 60_000),
      },
    });
    const add = (count: number) =>
      database.transaction((trx) =>
        audit.recordAll(
          trx,
          Array.from({ length: count }, () => entryOf(organizationId)),
        ),
      );
    await add(2);
    await add(996);
    assert.deepEqual(ordered, [60]);
    await add(3);
    assert.deepEqual(ordered, [60, 0]);
    await audit.checkpoint(organizationId);
    await add(5);
    await add(5);
    assert.deepEqual(ordered, [60, 0, 60]);
  });

  test('one call accepts entries of one organisation only', async () => {
    const database = await testDatabase();
    const { recordAll } = testAudit(database, systemClock);
    const entries = [entryOf(randomUUID()), entryOf(randomUUID())];
    const recording = database.transaction((trx) => recordAll(trx, entries));
    await assert.rejects(recording, RangeError);
  });
});
