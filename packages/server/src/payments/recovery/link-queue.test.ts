import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { testDatabase } from '../../../test/database.ts';
import { createMetrics, type Job, systemClock, systemIds } from '../../platform/index.ts';
import { alarmAfter, createLanes, measureLanes, unanswered } from './link-queue.ts';

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
  return { lanes: createLanes({ database }), organizationId, lane, add };
}

describe('the queue of a link', () => {
  it('stops behind a message without an answer, and behind no other', async () => {
    const { lanes, add } = await setUp();
    const refused = await add(2, null);
    assert.equal(await lanes.isHeld(refused), false);
    const behindRefused = await add(0, null);
    assert.equal(await lanes.isHeld(behindRefused), false);
    const silent = await add(1, unanswered);
    assert.equal(await lanes.isHeld(silent), false);
    assert.equal(await lanes.isHeld(behindRefused), false);
    const behind = await add(0, null);
    assert.equal(await lanes.isHeld(behind), true);
    const elsewhere = await add(0, null, randomUUID());
    assert.equal(await lanes.isHeld(elsewhere), false);
    const { lane: _lane, ...without } = behind;
    assert.equal(await lanes.isHeld(without), false);
  });

  it('goes on past a message that has raised an alarm', async () => {
    const { lanes, add } = await setUp();
    await add(alarmAfter, unanswered);
    assert.equal(await lanes.isHeld(await add(0, null)), true);
    const { lanes: others, add: addTo } = await setUp();
    await addTo(alarmAfter + 1, unanswered);
    assert.equal(await others.isHeld(await addTo(0, null)), false);
  });

  it('is told by length, age, tries and alarms, and measured by link', async () => {
    const { lanes, organizationId, lane, add } = await setUp();
    assert.deepEqual(await lanes.queues(organizationId), []);
    const since = systemClock.now();
    await add(alarmAfter, unanswered);
    await add(0, null);
    const [queue] = await lanes.queues(organizationId);
    const { oldestAt, ...rest } = queue ?? { oldestAt: '' };
    assert.deepEqual(rest, { linkId: lane, length: 2, attempts: alarmAfter, alarms: 1 });
    assert.ok(Date.parse(oldestAt) >= since);
    const metrics = createMetrics();
    measureLanes(lanes, { metrics, clock: systemClock });
    const text = await metrics.registry.metrics();
    for (const [name, value] of [
      ['length', 2],
      ['attempts', alarmAfter],
      ['alarms', 1],
    ] as const) {
      assert.ok(
        text.includes(`switchyard_acquirer_queue_${name}{link="${lane}"} ${value}\n`),
        name,
      );
    }
  });
});
