// Kept and lost lines: the memory and the table are limited in every state of the database.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, before, describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { pino } from 'pino';
import { testDatabase } from '../../test/support/database/test-database.ts';
import { eventually } from '../../test/support/wait-for-condition.ts';
import type { ResponseLogEntry } from '../http/index.ts';
import { createMetrics, type Database, isoTime, systemClock } from '../platform/index.ts';
import { pathOf, type RequestLogLine, requestLogLine } from './request-log-line.ts';
import { createRequestLogStore, type Head, type RequestLogStore } from './request-log-sql.ts';
import { createRequestRecorder } from './request-recorder.ts';

const log = pino({ level: 'silent' });
const rowsMax = 1000;

function answered(organizationId: string, facts: Partial<ResponseLogEntry> = {}): ResponseLogEntry {
  return {
    caller: { organizationId, clientId: 'till' } as ResponseLogEntry['caller'],
    requestId: randomUUID(),
    method: 'GET',
    route: '/x/:id',
    params: { id: 'a' },
    operationId: 'getX',
    status: 200,
    problemError: undefined,
    durationMs: 3,
    ...facts,
  };
}

/** Of one test: ended behind it, however it ends. */
let working: { stop(): Promise<void> }[] = [];

async function endWork(): Promise<void> {
  const all = working;
  working = [];
  await Promise.all(all.map((each) => each.stop()));
}

function recorderOn(add: RequestLogStore['add'], keeps: 'errors' | 'all' = 'all') {
  const metrics = createMetrics();
  const grown: Head[] = [];
  const recorder = createRequestRecorder({
    store: { add },
    clock: systemClock,
    log,
    metrics,
    recorded: keeps,
    maxRows: rowsMax,
    onAppended: (heads) => void grown.push(...heads),
  });
  working.push(recorder);
  const count = async (outcome: string) => {
    const metric = await metrics.registry
      .getSingleMetric('switchyard_request_log_lines_total')
      ?.get();
    return metric?.values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? 0;
  };
  return { recorder, count, grown };
}

describe('the recorded requests', () => {
  afterEach(endWork);

  test('are all requests or only errors, and never reads of the log itself', async () => {
    for (const [keeps, expected] of [
      ['all', [200, 404, 500]],
      ['errors', [404, 500]],
    ] as const) {
      const storedLines: RequestLogLine[] = [];
      const { recorder } = recorderOn(async (lines) => {
        storedLines.push(...lines);
        return [];
      }, keeps);
      for (const status of [200, 404, 500]) recorder.record(answered(randomUUID(), { status }));
      recorder.record(answered(randomUUID(), { status: 500, operationId: 'listLoggedRequests' }));
      await recorder.stop();
      assert.deepEqual(
        storedLines.map(({ status }) => status),
        [...expected],
      );
    }
  });

  // Spec: QRPROV-45
  test('wait for an unavailable database; lines above the limit are counted as lost', async () => {
    let isAway = true;
    const storedLines: RequestLogLine[] = [];
    const { recorder, count, grown } = recorderOn(async (lines) => {
      if (isAway) throw new ProblemError('database_unavailable', 'Away.');
      storedLines.push(...lines);
      return [{ organizationId: 'o', sequence: 1 }];
    });
    recorder.start();
    for (let index = 0; index < 10_050; index += 1) recorder.record(answered(randomUUID()));
    isAway = false;
    await eventually('all that fitted is written', () => storedLines.length === 10_000, 30_000);
    await recorder.stop();
    assert.equal(await count('lost'), 50);
    assert.equal(await count('kept'), 10_000);
    assert.ok(grown.length >= 10);
  });

  test('lines that the database rejects are dropped, and later lines are stored', async () => {
    const storedLines: RequestLogLine[] = [];
    const { recorder, count } = recorderOn(async (lines) => {
      if (lines.some(({ status }) => status === 599)) throw new Error('22021');
      storedLines.push(...lines);
      return [];
    });
    recorder.start();
    recorder.record(answered(randomUUID(), { status: 599 }));
    await eventually('it was tried', async () => {
      recorder.record(answered(randomUUID()));
      return storedLines.length > 0;
    });
    await recorder.stop();
    assert.ok((await count('lost')) >= 1);
    assert.ok(storedLines.every(({ status }) => status === 200));
  });

  test('a shutdown with an unavailable database ends, and counts lost lines', async () => {
    const { recorder, count } = recorderOn(async () => {
      throw new ProblemError('database_unavailable', 'Away.');
    });
    recorder.record(answered(randomUUID()));
    recorder.record(answered(randomUUID()));
    await recorder.stop();
    assert.equal(await count('lost'), 2);
  });
});

test('a path shows identifiers, and names of parameters for other values', () => {
  const id = '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11';
  assert.equal(pathOf('/a/:one/b/:two', { one: id, two: id }), `/a/${id}/b/${id}`);
  assert.equal(pathOf('/a/:one/b/:two', { one: '4111111111111111', two: 'me' }), '/a/:one/b/:two');
  assert.equal(pathOf('/a/:one', {}), '/a/:one');
  assert.equal(pathOf('/a', { one: id }), '/a');
});

describe('the request log table', () => {
  let database: Database;
  let store: RequestLogStore;
  before(async () => {
    database = await testDatabase();
    store = createRequestLogStore(database, { portalClientId: 'portal' });
  });

  afterEach(endWork);

  const linesOf = (
    organizationId: string,
    count: number,
    at = systemClock.now(),
  ): RequestLogLine[] =>
    Array.from({ length: count }, () => requestLogLine(answered(organizationId), isoTime(at)));
  const sequences = async (organizationId: string) => {
    const cut = { isAscending: true, limit: 5000 };
    return (await store.list({ organizationId }, cut)).map(({ sequence }) => sequence);
  };

  test('has numbers without gaps with parallel writers', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    const mixed = (index: number) => [...linesOf(one, 3), ...linesOf(other, index)];
    await Promise.all(Array.from({ length: 20 }, (_, index) => store.add(mixed(index), 10_000)));
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
    assert.deepEqual(await sequences(one), upTo(60));
    assert.deepEqual(await sequences(other), upTo(190));
    assert.deepEqual(await store.heads([one, randomUUID()]), [
      { organizationId: one, sequence: 60 },
    ]);
  });

  // Spec: QRPROV-45
  test('has at most the limit of lines per organisation; a smaller limit is reached in steps', async () => {
    const [full, other] = [randomUUID(), randomUUID()];
    await store.add([...linesOf(full, 300), ...linesOf(other, 5)], 300);
    await store.add(linesOf(full, 50), 300);
    assert.equal((await sequences(full)).length, 300);
    await store.add(linesOf(full, 50), 100);
    const storedLines = await sequences(full);
    assert.ok(storedLines.length < 300 && storedLines.length >= 100, `${storedLines.length}`);
    for (let round = 0; round < 10; round += 1) await store.add(linesOf(full, 50), 100);
    const last = await sequences(full);
    assert.equal(last.at(-1), 900);
    assert.ok(last.length <= 150 && last.length >= 100, `${last.length}`);
    assert.equal((await sequences(other)).length, 5);
  });

  test('deletes expired lines in batches and keeps newer lines', async () => {
    const organizationId = randomUUID();
    // Before any other line of the run, whose log has the same table.
    const old = systemClock.now() - 400 * 86_400_000;
    await store.add([...linesOf(organizationId, 30, old), ...linesOf(organizationId, 4)], 10_000);
    assert.equal(await store.deleteBefore(isoTime(old + 1), 20), 20);
    assert.equal(await store.deleteBefore(isoTime(old + 1), 20), 10);
    assert.deepEqual(await sequences(organizationId), [31, 32, 33, 34]);
  });
});
