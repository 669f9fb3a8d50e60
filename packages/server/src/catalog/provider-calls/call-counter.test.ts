// Tests that counted calls survive a database outage, and that old counts are deleted.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLog, type Database } from '../../platform/index.ts';
import { createProviderCallCounter } from './call-counter.ts';

type Written = { call: string; answered: number; failed: number; fault?: string };

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const clock = { now: () => Date.parse('2026-03-01T10:00:00.000Z') };

/** A database that answers as the test defines, and records the written rows. */
function scripted(answer: (text: string) => unknown[]) {
  const written: Written[][] = [];
  const query = async (text: string, values: readonly unknown[]) => {
    const rows = answer(text);
    if (text.startsWith('INSERT')) written.push(JSON.parse(String(values[0])));
    return rows;
  };
  return { database: { query } as unknown as Database, written };
}

describe('the book of calls', () => {
  test('loses nothing while the database is away, and writes each call once', async () => {
    let isAway = true;
    const { database, written } = scripted(() => {
      if (isAway) throw new Error('away');
      return [];
    });
    const book = createProviderCallCounter({ database, clock, log });
    const call = { serviceId: 's', call: 'create', ms: 10 };
    book.record({ ...call, isAnswered: false, fault: 'timeout' });
    await book.stop();
    book.record({ ...call, isAnswered: true });
    book.record({ ...call, call: 'status', isAnswered: true });
    await book.stop();
    assert.deepEqual(written, []);
    isAway = false;
    await book.stop();
    await book.stop();
    const [counts = [], ...more] = written;
    assert.deepEqual(more, [], 'once');
    assert.deepEqual(
      counts.map(({ call: name, answered, failed, fault }) => [name, answered, failed, fault]),
      [
        ['create', 1, 1, 'timeout'],
        ['status', 1, 0, undefined],
      ],
    );
  });

  test('deletes old calls in batches until a batch is not full', async () => {
    const rowCounts = [10_000, 10_000, 7];
    let sweeps = 0;
    const { database } = scripted((text) => {
      assert.match(text, /DELETE FROM service_calls/);
      const count = rowCounts[sweeps] ?? 0;
      sweeps += 1;
      return [{ count }];
    });
    const { cleanupJob } = createProviderCallCounter({ database, clock, log });
    while (await cleanupJob.deleteBatch());
    assert.equal(sweeps, 3);
  });
});
