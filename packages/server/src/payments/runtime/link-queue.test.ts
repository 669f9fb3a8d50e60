import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { testDatabase } from '../../../test/database.ts';
import { createMetrics, type Job, systemClock, systemIds } from '../../platform/index.ts';
import { alertAfterAttempts } from '../transaction/timeouts.ts';
import { createLinkQueue, noResponseNote, registerBacklogGauges } from './link-queue.ts';

/** A lane of an organisation of its own; `add` gives the job as its handler would see it. */
async function setUp() {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const lane = randomUUID();
  async function add(attempts: number, said: string | null, on = lane): Promise<Job> {
    const jobId = systemIds.uuid();
    const now = systemClock.now();
    await database.query(
      `INSERT INTO jobs (organization_id, job_id, kind, payload, due_at, attempts, created_at,
         lane, last_error) VALUES ($1, $2, 'test.lane', '{}', $3, $4, $3, $5, $6)`,
      [organizationId, jobId, new Date(now).toISOString(), attempts, on, said],
    );
    const rest = { kind: 'test.lane', payload: {}, attempts, dueAt: now };
    return { organizationId, jobId, lane: on, ...rest };
  }
  return { lanes: createLinkQueue({ database }), organizationId, lane, add };
}

describe('link queue', () => {
  it('is blocked only by a message without a response', async () => {
    const { lanes, add } = await setUp();
    const refused = await add(2, null);
    assert.equal(await lanes.isBlocked(refused), false);
    const behindRefused = await add(0, null);
    assert.equal(await lanes.isBlocked(behindRefused), false);
    const silent = await add(1, noResponseNote);
    assert.equal(await lanes.isBlocked(silent), false);
    assert.equal(await lanes.isBlocked(behindRefused), false);
    const behind = await add(0, null);
    assert.equal(await lanes.isBlocked(behind), true);
    const elsewhere = await add(0, null, randomUUID());
    assert.equal(await lanes.isBlocked(elsewhere), false);
    const { lane: _lane, ...without } = behind;
    assert.equal(await lanes.isBlocked(without), false);
  });

  it('continues after a message that has raised an alert', async () => {
    const { lanes, add } = await setUp();
    await add(alertAfterAttempts, noResponseNote);
    assert.equal(await lanes.isBlocked(await add(0, null)), true);
    const { lanes: others, add: addTo } = await setUp();
    await addTo(alertAfterAttempts + 1, noResponseNote);
    assert.equal(await others.isBlocked(await addTo(0, null)), false);
  });

  it('reports length, age, attempts and alerts for each link', async () => {
    const { lanes, organizationId, lane, add } = await setUp();
    assert.deepEqual(await lanes.backlog(organizationId), []);
    const since = systemClock.now();
    await add(alertAfterAttempts, noResponseNote);
    await add(0, null);
    const [queue] = await lanes.backlog(organizationId);
    const { oldestAt, ...rest } = queue ?? { oldestAt: '' };
    assert.deepEqual(rest, { linkId: lane, length: 2, attempts: alertAfterAttempts, alarms: 1 });
    assert.ok(Date.parse(oldestAt) >= since);
    const metrics = createMetrics();
    registerBacklogGauges(lanes, { metrics, clock: systemClock });
    const text = await metrics.registry.metrics();
    for (const [name, value] of [
      ['length', 2],
      ['attempts', alertAfterAttempts],
      ['alarms', 1],
    ] as const) {
      assert.ok(
        text.includes(`switchyard_acquirer_queue_${name}{link="${lane}"} ${value}\n`),
        name,
      );
    }
  });
});
