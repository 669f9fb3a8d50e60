// Tests that jobs on reports wait during a rebuild, without counting an attempt.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { type Job, systemClock } from '../../platform/index.ts';
import { postponeJobDuringRebuild } from './postpone-job-during-rebuild.ts';

const asOf = '2026-03-01T10:00:00.000Z';
const positions = [
  ['a job runs when the reports are complete', 'Following', asOf, true],
  ['a job waits while the server deletes the reports', 'Wiping', asOf, false],
  ['a job waits while the projection reads all payments', 'Cards', asOf, false],
  [
    'a job waits after an older version has written the reports',
    'Following',
    '2026-03-01T09:00:00.000Z',
    false,
  ],
  ['a job waits until this version has written the reports', 'Following', null, false],
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

test('a job runs for an organisation without reports', async () => {
  const organizationId = randomUUID();
  assert.deepEqual((await outcomeOf(organizationId)).done, [organizationId]);
});
