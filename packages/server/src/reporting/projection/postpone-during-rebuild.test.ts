// Tests that jobs on reports wait during a rebuild, without counting an attempt.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { type Job, systemClock } from '../../platform/index.ts';
import { postponeJobDuringRebuild } from './postpone-job-during-rebuild.ts';

const asOf = '2026-03-01T10:00:00.000Z';
const positions = [
  ['is done on whole reports', 'Following', asOf, true],
  ['waits while they are deleted', 'Wiping', asOf, false],
  ['waits while all payments are walked through', 'Cards', asOf, false],
  ['waits where a version before has written', 'Following', '2026-03-01T09:00:00.000Z', false],
  ['waits where this version has not written yet', 'Following', null, false],
] as const;

async function outcomeOf(organizationId: string) {
  const done: string[] = [];
  const handle = postponeJobDuringRebuild(
    { database: await testDatabase(), clock: systemClock },
    async (job) => {
      done.push(job.organizationId);
      return undefined;
    },
  );
  const later = await handle({ organizationId } as Job);
  return { done, later };
}

for (const [name, stage, writtenAsOf, isDone] of positions) {
  test(name, async () => {
    const organizationId = randomUUID();
    const database = await testDatabase();
    await database.query(
      `INSERT INTO report_positions (organization_id, position, as_of, stage, place, written_as_of)
       VALUES ($1, 0, $2, $3, NULL, $4)`,
      [organizationId, asOf, stage, writtenAsOf],
    );
    const { done, later } = await outcomeOf(organizationId);
    await database.query('DELETE FROM report_positions WHERE organization_id = $1', [
      organizationId,
    ]);
    assert.deepEqual(done, isDone ? [organizationId] : []);
    assert.equal(later?.countAttempt, isDone ? undefined : false);
    assert.equal((later?.retryAt ?? 0) > systemClock.now(), !isDone);
  });
}

test('is done for an organisation in which nothing has happened', async () => {
  const organizationId = randomUUID();
  assert.deepEqual((await outcomeOf(organizationId)).done, [organizationId]);
});
