// An export reads at the speed of its client, so its memory does not grow with the chain.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { testDatabase } from '../../test/support/database/test-database.ts';
import { testAudit } from '../../test/support/test-audit.ts';
import type { Caller } from '../http/index.ts';
import { type Database, systemClock } from '../platform/index.ts';
import { createAuditRecordFinder } from './find-records.ts';
import { platformAuthor } from './index.ts';

test('an export reads no page ahead of its client, and ends where the chain ended at its start', async () => {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const { recordAll } = testAudit(database, systemClock);
  const add = (count: number) =>
    database.transaction((trx) =>
      recordAll(
        trx,
        Array.from({ length: count }, () => ({
          ...platformAuthor,
          organizationId,
          action: 'x.done',
          entity: { type: 'x', id: '1' },
        })),
      ),
    );
  await add(1_200);
  let queries = 0;
  const counting: Database = {
    ...database,
    query: (text, values) => {
      queries += 1;
      return database.query(text, values);
    },
  };
  const caller = { organizationId, entityType: 'tenant', entityId: organizationId } as Caller;
  const lines = createAuditRecordFinder(counting).lines(caller, {});
  const countOf = ({ value }: IteratorResult<string>) => String(value).split('\n').length - 1;
  assert.equal(countOf(await lines.next()), 500);
  assert.equal(queries, 2);
  await add(100);
  assert.equal(countOf(await lines.next()), 500);
  assert.equal(countOf(await lines.next()), 200);
  assert.equal((await lines.next()).done, true);
  assert.equal(queries, 4);
});
