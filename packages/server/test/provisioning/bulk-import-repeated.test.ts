// Whole run: much is made, or waited for, before it shows.
// Imports that are interrupted, repeated, or sent twice at once; the server keeps their results.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { bulkLimits } from '@switchyard/contract';
import { pause, systemClock } from '../../src/platform/index.ts';
import {
  jsonLines,
  merchantLine,
  openBulk,
  placeLine,
  storeLine,
  type TestBulkImport,
} from '../support/provisioning/bulk-import-client.ts';
import { assertRefused } from '../support/provisioning/test-provisioning.ts';
import { eventually } from '../support/wait-for-condition.ts';

/** The number of lines in a chunk. */
const chunk = 500;
/** Shorter than the lease of fifteen seconds on an import key. */
const soonerThanLeaseMs = 12_000;

const deviceLines = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => placeLine(`${name}-S`, `${name}-D${index}`));

const estate = (name: string, count: number) => [
  merchantLine(`${name}-M`),
  storeLine(`${name}-M`, `${name}-S`),
  ...deviceLines(name, count),
];

describe('a bulk import that is sent again', () => {
  let setup: TestBulkImport;
  let aheadMs = 0;
  before(async () => {
    setup = await openBulk({ now: () => systemClock.now() + aheadMs });
  });
  after(() => setup.close());

  const countOf = async (name: string) => {
    const rows = await setup.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM logical_devices
       WHERE organization_id = $1 AND external_id LIKE $2 AND removed_at IS NULL`,
      [setup.organizationId, `${name}-D%`],
    );
    return rows[0]?.count;
  };

  test('is answered as it was, and changes nothing', async () => {
    const lines = estate('a', 3);
    const first = await setup.lines(lines, { key: 'a' });
    const again = await setup.lines(lines, { key: 'a' });
    assert.equal(again.text, first.text);
    const byQuery = await setup.lines(lines, { query: 'bulkId=a' });
    assert.equal(byQuery.text, first.text);
    const { createdAt, updatedAt, completedAt, ...state } = await setup.state('a');
    assert.deepEqual(state, {
      bulkId: 'a',
      state: 'Completed',
      format: 'JsonLines',
      lines: 5,
      bytes: Buffer.byteLength(jsonLines(lines)),
      created: 5,
      replaced: 0,
      unchanged: 0,
      deleted: 0,
      failed: 0,
    });
    assert.ok(createdAt <= updatedAt && completedAt !== undefined);
  });

  // Spec: PROV-28
  test('with other bytes is refused, whichever they are', async () => {
    const lines = estate('b', 3);
    const body = jsonLines(lines);
    await setup.send(body, { key: 'b' });
    const others = [
      body.replace('Store b-S', 'Store b-T'),
      body.slice(0, -2),
      jsonLines(lines.slice(0, -1)),
      body + jsonLines(deviceLines('more', 1)),
      body.replaceAll('"data":', '"data": '),
      '',
    ];
    for (const other of others) {
      const answer = await setup.send(other, { key: 'b' });
      assert.deepEqual([answer.status, answer.problem['code']], [422, 'client_id_reused'], other);
    }
    const table = await setup.send('type\n', { key: 'b', type: 'text/csv' });
    assert.equal(table.problem['code'], 'client_id_reused');
    assert.equal((await setup.send(`${body}\n \n`, { key: 'b' })).status, 200);
  });

  // Spec: PROV-28
  test('stores its complete chunks after an interruption, shows its state, and continues after them', async () => {
    const lines = estate('c', 1300);
    const body = jsonLines(lines);
    const { request, answered } = setup.open({ key: 'c' });
    request.write(body.slice(0, Math.floor(body.length * 0.7)));
    const broken = answered.then(
      () => assert.fail('a half-sent body was answered to the end'),
      () => undefined,
    );
    await eventually('the first chunk', async () => (await countOf('c')) === chunk - 2);
    assert.equal((await setup.state('c')).state, 'Running');
    const second = await setup.lines(lines, { key: 'c' });
    assert.deepEqual([second.status, second.problem['code']], [409, 'request_in_progress']);
    assert.ok(Number(second.headers['retry-after'] ?? 1) > 0);
    // A process whose clock is ahead by more than the lease time does not take the import over
    // either.
    aheadMs = 60_000;
    assert.equal((await setup.lines(lines, { key: 'c' })).status, 409);
    assert.equal((await setup.state('c')).state, 'Running');
    request.destroy();
    await broken;
    await eventually(
      'the end of the broken request',
      async () => (await setup.state('c')).state === 'Interrupted',
    );
    const { lines: done, created, completedAt } = await setup.state('c');
    assert.deepEqual([done, created, completedAt], [chunk, chunk, undefined]);
    const page = await setup.call('org', 'GET', '/bulk/c/results?limit=200');
    assert.equal((page.body['items'] as unknown[]).length, 200);

    const resumed = await setup.lines(lines, { key: 'c' });
    assert.equal(resumed.status, 200, resumed.text.slice(0, 500));
    assert.deepEqual(
      resumed.results.map(({ line }) => line),
      lines.map((_line, index) => index + 1),
    );
    assert.deepEqual(resumed.summary?.created, lines.length);
    assert.equal(await countOf('c'), 1300);
  });

  test('an import is released when the client disconnects at any moment', async () => {
    const lines = estate('i', 1100);
    for (const afterMs of [0, 5, 20, 60, 120]) {
      const { request, answered } = setup.open({ key: 'i' });
      const broken = answered.catch(() => undefined);
      request.end(jsonLines(lines));
      await pause(afterMs);
      request.destroy();
      await broken;
      // The key is free before a lease would expire.
      await eventually(
        'the name to be free',
        async () => {
          const { status, body } = await setup.call('org', 'GET', '/bulk/i');
          return status === 404 || body['state'] !== 'Running';
        },
        soonerThanLeaseMs,
      );
    }
    let done = await setup.lines(lines, { key: 'i' });
    // The server may begin an import whose client has already disconnected.
    await eventually(
      'no earlier import to run',
      async () => {
        if (done.status === 409) done = await setup.lines(lines, { key: 'i' });
        return done.status !== 409;
      },
      soonerThanLeaseMs,
    );
    assert.equal(done.summary?.created, lines.length, done.text.slice(0, 300));
    assert.equal(await countOf('i'), 1100);
  });

  test('two at once under one name: one of them runs', async () => {
    const lines = estate('d', 600);
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => setup.lines(lines, { key: 'd' })),
    );
    const ran = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 409);
    assert.equal(ran.length + refused.length, 3);
    assert.ok(ran.length >= 1);
    for (const { problem } of refused) assert.equal(problem['code'], 'request_in_progress');
    assert.equal(await countOf('d'), 600);
  });

  test('two under two names make the same thing once', async () => {
    const lines = [...estate('e', 300)];
    const answers = await Promise.all([
      setup.lines(lines, { key: 'e-1' }),
      setup.lines(lines, { key: 'e-2' }),
    ]);
    for (const { status } of answers) assert.equal(status, 200);
    const made = answers.map(({ summary }) => summary?.created).sort();
    assert.deepEqual(made, [0, lines.length]);
    assert.equal(await countOf('e'), 300);
  });

  test('the answers are read page by page, in order', async () => {
    const lines = [...estate('f', 700), merchantLine('f', { country: 'XX' })];
    await setup.lines(lines, { key: 'f' });
    const read = async (filters: string) => {
      const lineNumbers: number[] = [];
      for (let cursor: unknown; cursor !== null; ) {
        const query = cursor === undefined ? '' : `&cursor=${cursor}`;
        const { body } = await setup.call('org', 'GET', `/bulk/f/results?${filters}${query}`);
        const items = body['items'] as { line: number; status: string }[];
        lineNumbers.push(...items.map(({ line }) => line));
        cursor = body['nextCursor'];
      }
      return lineNumbers;
    };
    const all = lines.map((_line, index) => index + 1);
    assert.deepEqual(await read('limit=150'), all);
    assert.deepEqual(await read('limit=150&status=failed'), [lines.length]);
    assert.deepEqual(await read('limit=199&status=created'), all.slice(0, -1));
    assert.deepEqual(await read('status=deleted'), []);
    for (const token of ['other', 'org']) {
      const answer = await setup.call(token, 'GET', '/bulk/nobody/results');
      assertRefused(answer, 404, 'batch_not_found');
    }
    assertRefused(await setup.call('other', 'GET', '/bulk/f'), 404, 'batch_not_found');
  });

  test('names of another form, and two that differ, are refused', async () => {
    const line = [merchantLine('g')];
    const codes = [
      [{ key: 'a b' }, 'header_invalid'],
      [{ key: 'x'.repeat(65) }, 'header_invalid'],
      [{ query: 'bulkId=a%20b' }, 'client_id_invalid'],
      [{ key: 'g-1', query: 'bulkId=g-2' }, 'idempotency_key_mismatch'],
      [{ query: 'dryrun=true' }, 'field_unknown'],
    ] as const;
    for (const [sending, code] of codes) {
      assert.equal((await setup.lines(line, sending)).problem['code'], code, code);
    }
  });

  test('an import stops at the maximum number of lines, and earlier lines are stored', async () => {
    const line = JSON.stringify({ type: 'store', data: {} });
    const body = `${line}\n`.repeat(bulkLimits.lines + 1);
    const { results, summary } = await setup.send(body, { key: 'h' });
    assert.equal(results.length, bulkLimits.lines);
    assert.equal(summary?.state, 'Interrupted');
    assert.equal(summary?.error?.code, 'payload_too_large');
    assert.match(summary?.error?.detail ?? '', /line 10001 /);
    const state = await setup.state('h');
    assert.deepEqual([state.state, state.error?.code], ['Interrupted', 'payload_too_large']);
    const shorter = await setup.send(`${line}\n`.repeat(bulkLimits.lines), { key: 'h' });
    assert.equal(shorter.summary?.state, 'Completed');
    assert.equal((await setup.state('h')).error, undefined);
  });
});
