import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { type CleanupJob, createCleanup } from './clean-up.ts';

function startCleanup(t: TestContext, jobs: readonly CleanupJob[]) {
  const failures: unknown[] = [];
  const cleanup = createCleanup(jobs, { warn: (fields: object) => failures.push(fields) });
  t.after(cleanup.stop);
  cleanup.start();
  return { cleanup, failures };
}

test('the jobs of a process delete in turn, until a batch of each is not full', async (t) => {
  const batches: string[] = [];
  const rows = { keys: 5, sessions: 2 };
  const jobOf = (data: keyof typeof rows): CleanupJob => ({
    data,
    intervalMs: 3_600_000,
    async deleteBatch() {
      const deleted = Math.min(2, rows[data]);
      rows[data] -= deleted;
      batches.push(`${data} ${deleted}`);
      return deleted === 2;
    },
  });
  startCleanup(t, [jobOf('keys'), jobOf('sessions')]);
  await eventually('all batches have run', async () => batches.length === 5);
  assert.deepEqual(batches, ['keys 2', 'sessions 2', 'keys 2', 'sessions 0', 'keys 1']);
});

test('a job that fails is logged and does not stop the others', async (t) => {
  let deleted = 0;
  const { failures, cleanup } = startCleanup(t, [
    {
      data: 'broken rows',
      intervalMs: 1000,
      async deleteBatch() {
        throw new Error('no database');
      },
    },
    {
      data: 'good rows',
      intervalMs: 1,
      async deleteBatch() {
        deleted += 1;
        return deleted < 3;
      },
    },
  ]);
  await eventually('the good job has run', async () => deleted >= 3);
  await cleanup.stop();
  assert.deepEqual(
    failures.map((fields) => (fields as { data: string }).data),
    ['broken rows'],
  );
});
