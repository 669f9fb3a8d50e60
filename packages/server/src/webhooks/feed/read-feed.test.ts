// Tests reading from a real database during publishing: each event once, in order, in parts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import {
  migrationsFolder,
  testDatabaseCopyUrl,
} from '../../../test/support/database/test-database.ts';
import type { Caller } from '../../http/index.ts';
import {
  createLog,
  createMetrics,
  createOutbox,
  migrate,
  type OutboxEventMapper,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../platform/index.ts';
import { createEventPublisher } from './publish-events.ts';
import { createFeedReader, scannedMax } from './read-feed.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const postponeUnknownEvents = () => Promise.reject(new Error('every kind is known here'));

const source: OutboxEventMapper = {
  prefix: 'transaction.',
  read: async (rows) =>
    new Map(
      rows.map((row) => [row.outboxId, { merchantId: null, data: { number: row.sequence } }]),
    ),
};

async function setUp(t: TestContext) {
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  const working: { stop(): Promise<void> }[] = [];
  t.after(async () => {
    await Promise.all(working.map((each) => each.stop()));
    await database.close();
  });
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  const organizationId = randomUUID();
  return {
    database,
    organizationId,
    reader: createFeedReader(database),
    open() {
      const metrics = createMetrics();
      const outbox = createOutbox({ database, log, metrics, pollMs: 5 });
      outbox.subscribe(
        createEventPublisher({
          eventMappers: [source],
          log,
          metrics,
          postponeUnknownEvents,
          notifyReaders: () => {},
        }),
      );
      working.push(outbox);
      outbox.start();
      return outbox;
    },
    happen: (count: number, from: number) =>
      database.query(
        `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
         SELECT 0, $1, gen_random_uuid(), 'transaction.captured', $1, i, now()
         FROM generate_series($2::int, $3::int) AS i`,
        [organizationId, from, from + count - 1],
      ),
    /** Inserts events directly, without the publisher. */
    fill: (types: readonly string[]) =>
      database.query(
        `WITH events AS (
           INSERT INTO feed_events (organization_id, position, event_id, type, subject_id,
             sequence, body, created_at)
           SELECT $1, t.position, gen_random_uuid(), t.type, 'x', 1, '{"type":"x"}', now()
           FROM unnest($2::text[]) WITH ORDINALITY AS t(type, position))
         INSERT INTO feed_heads (organization_id, position) VALUES ($1, cardinality($2::text[]))`,
        [organizationId, types],
      ),
  };
}

const callerOf = (organizationId: string, facts: Partial<Caller> = {}) =>
  ({ organizationId, entityType: 'tenant', entityId: organizationId, ...facts }) as Caller;

describe('the reader of the feed', () => {
  // Spec: QRPROV-21
  test('misses nothing and sees nothing twice while three processes publish', async (t) => {
    const { organizationId, reader, open, happen } = await setUp(t);
    const total = 3000;
    const outboxes = [open(), open(), open()];
    const writing = (async () => {
      for (let from = 1; from <= total; from += 60) await happen(60, from);
    })();
    const readIds: number[] = [];
    let numberSum = 0;
    for (let after = 0, reads = 0; readIds.length < total; reads += 1) {
      assert.ok(reads < 100_000, `after ${after} nothing more comes`);
      const page = await reader.read({ organizationId }, after, 7);
      for (const { id, data } of page.events) {
        readIds.push(id);
        numberSum += JSON.parse(data).data.number;
      }
      assert.ok(page.next >= after);
      after = page.next;
    }
    await writing;
    await Promise.all(outboxes.map((outbox) => outbox.stop()));
    assert.deepEqual(
      readIds,
      Array.from({ length: total }, (_, index) => index + 1),
    );
    assert.equal(numberSum, (total * (total + 1)) / 2, 'each event of the outbox is there once');
  });

  test('a read for a rare type scans a bounded part, and finds the event in the end', async (t) => {
    const { organizationId, reader, fill } = await setUp(t);
    const rare = 2 * scannedMax + 300;
    const types = Array.from({ length: 2 * scannedMax + 500 }, () => 'transaction.captured');
    types[rare - 1] = 'qr.completed';
    await fill(types);
    const query = reader.toFeedQuery(callerOf(organizationId), { types: 'qr.*' });
    const ends: number[] = [];
    const foundIds: number[] = [];
    for (let after = 0; after < types.length; ) {
      const page = await reader.read(query, after, 50);
      foundIds.push(...page.events.map(({ id }) => id));
      after = page.next;
      ends.push(after);
    }
    assert.deepEqual(foundIds, [rare]);
    assert.deepEqual(ends, [scannedMax, 2 * scannedMax, types.length]);
  });

  test('a full page ends at its last event, even if more events follow', async (t) => {
    const { organizationId, reader, fill } = await setUp(t);
    const captured = 'transaction.captured';
    await fill([captured, 'qr.completed', captured, captured, 'qr.completed']);
    const query = reader.toFeedQuery(callerOf(organizationId), { types: captured });
    const first = await reader.read(query, 0, 2);
    assert.deepEqual([first.events.map(({ id }) => id), first.next, first.end], [[1, 3], 3, 5]);
    const second = await reader.read(query, first.next, 2);
    assert.deepEqual([second.events.map(({ id }) => id), second.next], [[4], 5]);
    const third = await reader.read(query, second.next, 2);
    assert.deepEqual([third.events, third.next], [[], 5]);
  });

  test('an organisation of which nothing is known has an empty feed, and no position but 0', async (t) => {
    const { reader } = await setUp(t);
    const query = { organizationId: randomUUID() };
    assert.deepEqual(await reader.read(query, 0, 10), { events: [], next: 0, end: 0 });
    await assert.rejects(reader.read(query, 1, 10), { code: 'cursor_invalid' });
    assert.equal(await reader.findEnd(query.organizationId), 0);
  });

  test('a caller of a merchant wants that merchant, by whichever claim it is bound', () => {
    const reader = createFeedReader({} as never);
    const merchantId = randomUUID();
    const bound = callerOf(randomUUID(), { entityType: 'merchant', entityId: merchantId });
    assert.equal(reader.toFeedQuery(bound, {}).merchantId, merchantId);
    assert.equal(reader.toFeedQuery(callerOf('o', { merchantId }), {}).merchantId, merchantId);
    assert.throws(() => reader.toFeedQuery(bound, { merchantId: randomUUID() }), {
      code: 'entity_out_of_scope',
    });
    assert.equal(reader.toFeedQuery(callerOf('o'), { types: '*' }).types, undefined);
    assert.deepEqual(reader.toFeedQuery(callerOf('o'), { types: 'batch.*,qr.held' }).types, [
      'qr.held',
      'batch.completed',
    ]);
  });
});
