// Tests the ownership of an import across processes, and its deletion.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  jsonLines,
  merchantLine,
  placeLine,
  storeLine,
} from '../../../test/support/provisioning/bulk-import-client.ts';
import { testAudit } from '../../../test/support/test-audit.ts';
import { type Job, type JobHandler, type NewJob, systemIdGenerator } from '../../platform/index.ts';
import { createProvisioning } from '../index.ts';
import { createBulkImports, resultRetentionMs } from './run-bulk-import.ts';

const day = 86_400_000;

/** Bulk imports in one process, with a clock that the test moves. */
async function openProcess(shared?: { now: number; organizationId: string }) {
  const database = await testDatabase();
  const time = shared ?? { now: Date.now(), organizationId: systemIdGenerator.uuid() };
  const clock = { now: () => time.now };
  const { organizationId } = time;
  const audit = testAudit(database, clock);
  const orders: NewJob[] = [];
  const handlers = new Map<string, JobHandler>();
  const bulk = createBulkImports({
    database,
    clock,
    ids: systemIdGenerator,
    audit,
    onWrite: () => {},
    posClients: () => assert.fail('the import has no point of sale'),
    jobs: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      enqueue: async (job) => void orders.push(job),
    },
  });
  if (shared === undefined) {
    const { organizations } = createProvisioning({
      database,
      clock,
      ids: systemIdGenerator,
      audit,
    });
    await organizations.create({ organizationId }, { name: 'Acquirer' }, organizationId);
  }
  const name = (bulkId: string) => ({ organizationId, ownerId: organizationId, bulkId });
  return {
    bulk,
    time,
    orders,
    name,
    database,
    import: (bulkId: string, body: AsyncIterable<Buffer>) =>
      bulk.run({ scope: { organizationId }, format: 'JsonLines', bulkId, body }),
    /** Leases use the clock of the database, which the test cannot move. */
    leasesEnd: (at: number) =>
      database.query('UPDATE bulk_imports SET leased_until = $2 WHERE organization_id = $1', [
        organizationId,
        new Date(at),
      ]),
    async sweep() {
      const [order] = orders;
      assert.ok(order !== undefined);
      const handler = handlers.get(order.kind);
      return handler?.({ ...order, jobId: 'x', attempts: 0, dueAt: order.dueAt ?? 0 } as Job);
    },
  };
}

async function* bodyOf(...parts: (string | Promise<string>)[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(await part);
}

async function readLines(answers: AsyncIterable<string>): Promise<string[]> {
  const lines: string[] = [];
  for await (const text of answers) lines.push(...text.trimEnd().split('\n'));
  return lines;
}

const estate = (count: number) => [
  merchantLine('M'),
  storeLine('M', 'S'),
  ...Array.from({ length: count }, (_, index) => placeLine('S', `D${index}`)),
];

describe('an import', () => {
  // Spec: PROV-32
  test('whose process was silent for too long is another one’s, and writes no more', async () => {
    const slow = await openProcess();
    const lines = estate(1000);
    const body = jsonLines(lines);
    const half = jsonLines(lines.slice(0, 600));
    let send: (rest: string) => void = () => {};
    const rest = new Promise<string>((resolve) => {
      send = resolve;
    });
    const answers = slow.import('a', bodyOf(half, rest));
    const first = await answers.next();
    assert.match(String(first.value), /"line":500,"status":"created"/);
    const other = await openProcess(slow.time);
    await assert.rejects(other.import('a', bodyOf(body)).next(), { code: 'request_in_progress' });
    await slow.leasesEnd(Date.now() - 1000);
    const took = await readLines(other.import('a', bodyOf(body)));
    assert.match(took.at(-1) ?? '', /"state":"Completed"/);
    send(body.slice(half.length));
    const late = await readLines(answers);
    assert.match(late.at(-1) ?? '', /"state":"Interrupted".*"code":"request_in_progress"/);
    const [made] = await slow.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM logical_devices WHERE organization_id = $1',
      [slow.time.organizationId],
    );
    assert.equal(made?.count, 1000);
    assert.equal((await slow.bulk.find(slow.name('a')))?.state, 'Completed');
  });

  // Spec: PROV-32
  test('is forgotten 30 days after it was touched for the last time', async () => {
    const process = await openProcess();
    const { time, bulk, name } = process;
    await readLines(process.import('b', bodyOf(jsonLines(estate(2)))));
    assert.equal(process.orders.length, 1);
    time.now += 10 * day;
    await readLines(process.import('b', bodyOf(jsonLines(estate(2)))));
    assert.equal(process.orders.length, 1);
    await process.leasesEnd(time.now);
    time.now += 21 * day;
    const later = await process.sweep();
    assert.ok(later !== undefined && later.retryAt > time.now);
    assert.ok(later.retryAt <= time.now + resultRetentionMs);
    assert.notEqual(await bulk.find(name('b')), undefined);
    time.now = later.retryAt;
    assert.equal(await process.sweep(), undefined);
    assert.equal(await bulk.find(name('b')), undefined);
    assert.deepEqual(await bulk.listResultsAfter(name('b'), 0, 1), []);
    assert.equal(await process.sweep(), undefined);
  });
});
