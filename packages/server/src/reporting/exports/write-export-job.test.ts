// Tests that exports contain every line once and in order after crashes and with two processes.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { systemClock } from '../../platform/index.ts';
import type { ExportSource } from './export-source-types.ts';
import { createExportStore, type ExportStore, wholeOrganizationId } from './export-sql.ts';
import { createExportJobHandler } from './write-export-job.ts';

type Line = Parameters<ExportSource<{ id: number }>['columns'][number]['readValue']>[0];

const linesCount = 60_000;
/** Long lines, so that the export has several parts. */
const filler = 'x'.repeat(80);
const expected = `id,filler\r\n${Array.from({ length: linesCount }, (_none, id) => `${id},${filler}\r\n`).join('')}`;

const at = '2026-03-01T12:00:00.000Z';

async function createSetup(limits = { rows: 1_000_000 }) {
  const database = await testDatabase();
  const store: ExportStore = createExportStore(database);
  const ids = { organizationId: randomUUID(), exportId: randomUUID() };
  const made = {
    ...ids,
    merchantId: wholeOrganizationId,
    storeId: wholeOrganizationId,
    clientOperationId: ids.exportId,
    ...({ report: 'transactions', format: 'Csv', filters: {}, at, expiresAt: at } as const),
  };
  await database.transaction((trx) => store.insert(trx, made));
  let reads = 0;
  let failsAt: number | undefined;
  const source: ExportSource<Line> = {
    columns: [
      { name: 'id', readValue: ({ id }) => id },
      { name: 'filler', readValue: () => filler },
    ],
    check() {},
    async read(_owner, _filters, { after, limit }) {
      reads += 1;
      if (reads === failsAt) throw new Error('the power is cut');
      const from = Number(after ?? 0);
      const to = Math.min(linesCount, from + limit);
      const items = Array.from({ length: to - from }, (_none, index) => ({ id: from + index }));
      return { items, next: to === linesCount ? undefined : String(to) };
    },
  };
  const logged: string[] = [];
  let endFails = false;
  const work = createExportJobHandler({
    database,
    clock: systemClock,
    limits,
    store: {
      ...store,
      async end(...call) {
        if (endFails) throw new Error('the power is cut');
        return store.end(...call);
      },
    },
    log: { error: (_facts: object, text: string) => void logged.push(text) } as never,
    sources: { transactions: source, settlements: source } as never,
  });
  const job = { jobId: randomUUID(), kind: 'x', dueAt: 0, attempts: 0, payload: ids };
  const owner = { organizationId: ids.organizationId, merchantId: undefined, storeId: undefined };
  const runJob = (attempts = 0) => work({ ...job, attempts, organizationId: ids.organizationId });
  const row = async () => {
    const storedRow = await store.find(owner, ids.exportId);
    assert.ok(storedRow);
    return storedRow;
  };
  return {
    row,
    logged,
    work: runJob,
    /** Runs turns until the export is complete; a slow machine needs more turns. */
    async worked() {
      while ((await runJob()) !== undefined);
    },
    failAt: (read: number | undefined) => {
      failsAt = read;
      reads = 0;
    },
    failEnd(fails: boolean) {
      endFails = fails;
    },
    async text() {
      const parts = await store.readParts(await row(), { after: -1, firstByte: 0 }, 1000);
      return parts.map(({ content }) => gunzipSync(content).toString()).join('');
    },
    cancel: async () =>
      database.transaction(async (trx) => store.end(trx, await row(), { state: 'Cancelled', at })),
  };
}

describe('the writing of exports', () => {
  test('it is written to the end, and its length is that of its parts', async () => {
    const exportJob = await createSetup();
    await exportJob.worked();
    const { state, rows, bytes, parts } = await exportJob.row();
    assert.deepEqual([state, rows, bytes], ['Completed', linesCount, expected.length]);
    assert.ok(parts > 3, `${parts} parts`);
    assert.equal(await exportJob.text(), expected);
  });

  // Spec: REP-11
  test('a crash at any point neither repeats nor loses a line', async () => {
    const exportJob = await createSetup();
    for (const read of [1, 2, 13, 14, 20]) {
      exportJob.failAt(read);
      await assert.rejects(exportJob.worked(), /power/);
      const { parts, bytes } = await exportJob.row();
      const text = await exportJob.text();
      assert.equal(text.length, bytes, `${parts} parts`);
      assert.ok(expected.startsWith(text));
    }
    exportJob.failAt(undefined);
    await exportJob.worked();
    assert.equal(await exportJob.text(), expected);
  });

  test('a crash between the last part and the word that it is whole writes nothing twice', async () => {
    const exportJob = await createSetup();
    exportJob.failEnd(true);
    await assert.rejects(exportJob.worked(), /power/);
    assert.equal((await exportJob.row()).state, 'Running');
    exportJob.failEnd(false);
    assert.equal(await exportJob.work(), undefined);
    assert.equal((await exportJob.row()).state, 'Completed');
    assert.equal(await exportJob.text(), expected);
  });

  // Spec: REP-11
  test('two processes at once write it as one', async () => {
    const exportJob = await createSetup();
    const until = async () => {
      while ((await exportJob.row()).state !== 'Completed') await exportJob.work();
    };
    await Promise.all([until(), until()]);
    assert.equal(await exportJob.text(), expected);
    assert.equal((await exportJob.row()).rows, linesCount);
  });

  test('one that is cancelled is not written further', async () => {
    const exportJob = await createSetup();
    exportJob.failAt(30);
    await assert.rejects(exportJob.worked());
    await exportJob.cancel();
    exportJob.failAt(undefined);
    assert.equal(await exportJob.work(), undefined);
    assert.equal((await exportJob.row()).state, 'Cancelled');
  });

  test('an export with too many rows fails with a reason, and an unreadable export fails after repeated attempts', async () => {
    const large = await createSetup({ rows: 10_000 });
    await large.worked();
    const { state, failure } = await large.row();
    assert.deepEqual([state, failure], ['Failed', 'too_many_rows']);
    const broken = await createSetup();
    broken.failAt(1);
    await assert.rejects(broken.work());
    assert.equal(await broken.work(8), undefined);
    const { state: ended, failure: why } = await broken.row();
    assert.deepEqual([ended, why], ['Failed', 'report_unreadable']);
    assert.deepEqual(broken.logged, ['an export failed after too many attempts']);
  });
});
