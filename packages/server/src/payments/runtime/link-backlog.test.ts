import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  bucketSql,
  createMetrics,
  type Job,
  systemClock,
  systemIdGenerator,
} from '../../platform/index.ts';
import { alertAfterAttempts } from '../transaction/time-limits.ts';
import { createLinkQueue, noResponseNote, registerBacklogGauges } from './link-backlog.ts';

/** A new organisation and link; `add` stores a job and returns it as its handler receives it. */
async function setUp() {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const queueId = randomUUID();
  async function add(
    attempts: number,
    lastError: string | null,
    jobQueueId = queueId,
    payload = {},
  ): Promise<Job> {
    const jobId = systemIdGenerator.uuid();
    const now = systemClock.now();
    await database.query(
      `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at,
         queue_id, last_error) VALUES (${bucketSql('$2::uuid')}, $1, $2, 'test.queue', $7, $3, $4, $3, $5, $6)`,
      [
        organizationId,
        jobId,
        new Date(now).toISOString(),
        attempts,
        jobQueueId,
        lastError,
        payload,
      ],
    );
    const rest = { kind: 'test.queue', payload, attempts, dueAt: now };
    return { organizationId, jobId, queueId: jobQueueId, ...rest };
  }
  return { linkQueue: createLinkQueue({ database }), organizationId, queueId, add };
}

describe('link queue', () => {
  it('is blocked only by a message without a response', async () => {
    const { linkQueue, add } = await setUp();
    const refused = await add(2, null);
    assert.equal(await linkQueue.isBlocked(refused), false);
    const behindRefused = await add(0, null);
    assert.equal(await linkQueue.isBlocked(behindRefused), false);
    const silent = await add(1, noResponseNote);
    assert.equal(await linkQueue.isBlocked(silent), false);
    assert.equal(await linkQueue.isBlocked(behindRefused), false);
    const behind = await add(0, null);
    assert.equal(await linkQueue.isBlocked(behind), true);
    const elsewhere = await add(0, null, randomUUID());
    assert.equal(await linkQueue.isBlocked(elsewhere), false);
    const { queueId: _queueId, ...without } = behind;
    assert.equal(await linkQueue.isBlocked(without), false);
  });

  // Spec: ACQ-9
  it('continues after a message that has raised an alert', async () => {
    const { linkQueue, add } = await setUp();
    await add(alertAfterAttempts, noResponseNote);
    assert.equal(await linkQueue.isBlocked(await add(0, null)), true);
    const { linkQueue: otherQueue, add: addTo } = await setUp();
    await addTo(alertAfterAttempts + 1, noResponseNote);
    assert.equal(await otherQueue.isBlocked(await addTo(0, null)), false);
  });

  it('reports length, age, attempts and alerts for each link', async () => {
    const { linkQueue, organizationId, queueId, add } = await setUp();
    assert.deepEqual(await linkQueue.backlog(organizationId), []);
    const since = systemClock.now();
    await add(alertAfterAttempts, noResponseNote);
    await add(0, null, queueId, { kind: 'Reversal' });
    const [queue] = await linkQueue.backlog(organizationId);
    const { oldestAt, oldestReversalAt = '', ...rest } = queue ?? { oldestAt: '' };
    const counts = { length: 2, attempts: alertAfterAttempts, alerts: 1, reversals: 1 };
    assert.deepEqual(rest, { linkId: queueId, ...counts });
    assert.ok(Date.parse(oldestAt) >= since);
    assert.ok(Date.parse(oldestReversalAt) >= Date.parse(oldestAt));
    const metrics = createMetrics();
    const idleLinkId = randomUUID();
    const link = { linkId: idleLinkId, name: 'idle', available: true };
    const acquiring = { listLinkHealth: () => [link] };
    registerBacklogGauges(linkQueue, { metrics, acquiring, clock: systemClock });
    const text = await metrics.registry.metrics();
    for (const [name, value] of [
      ['length', 2],
      ['attempts', alertAfterAttempts],
      ['stuck_messages', 1],
      ['reversals', 1],
    ] as const) {
      const gauge = `switchyard_acquirer_queue_${name}`;
      assert.ok(text.includes(`${gauge}{link="${queueId}"} ${value}\n`), name);
      assert.ok(text.includes(`${gauge}{link="${idleLinkId}"} 0\n`), name);
    }
  });
});
