// Records and their chain, over the real database.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { testRecorder } from '../../test/audit.ts';
import { testDatabase } from '../../test/database.ts';
import { type Database, systemClock } from '../platform/index.ts';
import { type AuditEntry, platformAuthor } from './index.ts';

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
    const { record, recordAll } = testRecorder(database, systemClock);
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

  test('a change that is rolled back leaves no record and no gap', async () => {
    const organizationId = randomUUID();
    const { record } = testRecorder(database, systemClock);
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
