// Tests publishing to a real database: each event once, in order, with a fixed body.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import {
  migrationsFolder,
  testDatabaseCopyUrl,
} from '../../../test/support/database/test-database.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import {
  createJobs,
  createLog,
  createMetrics,
  createOutbox,
  type JobHandler,
  migrate,
  type OutboxEventMapper,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../platform/index.ts';
import type { FeedEvent } from './feed-event.ts';
import { createPostponeUnknownEvents } from './postpone-unknown-events.ts';
import { bodyBytesMax, createEventPublisher } from './publish-events.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

/** Opens a separate database, because other outboxes would also publish these rows. */
async function setUp(t: TestContext, source: Partial<OutboxEventMapper> = {}) {
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  const working: { stop(): Promise<void> }[] = [];
  t.after(async () => {
    await Promise.all(working.map((each) => each.stop()));
    await database.close();
  });
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  const planned: FeedEvent[] = [];
  const notifiedOrganizations: string[] = [];
  const facts: OutboxEventMapper = {
    prefix: 'thing.',
    read: async (rows) =>
      new Map(rows.map((row) => [row.outboxId, { merchantId: null, data: { thing: row.kind } }])),
    ...source,
  };
  const jobsOf = () => {
    const jobs = createJobs({
      database,
      log,
      clock: systemClock,
      ids: systemIdGenerator,
      metrics: createMetrics(),
      pollMs: 10,
    });
    working.push(jobs);
    return jobs;
  };
  const open = (eventMappers = [facts], jobs = jobsOf()) => {
    const outbox = createOutbox({ database, log, metrics: createMetrics(), pollMs: 10 });
    const publish = createEventPublisher({
      eventMappers,
      log,
      postponeUnknownEvents: createPostponeUnknownEvents({ database, jobs, eventMappers }),
      metrics: createMetrics(),
      notifyReaders: (positions) => void notifiedOrganizations.push(...positions.keys()),
      deliveries: {
        plan: async (events) => void planned.push(...events),
        wakeDispatcher: () => {},
      },
    });
    outbox.subscribe(publish);
    working.push(outbox);
    return outbox;
  };
  return {
    database,
    open,
    jobsOf,
    facts,
    planned,
    notifiedOrganizations,
    insert: (organizationId: string, count: number, kind = 'thing.made') =>
      database.query(
        `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
         SELECT i % 1024, $1, gen_random_uuid(), $3, $1, i, now() FROM generate_series(1, $2) AS i`,
        [organizationId, count, kind],
      ),
    async left() {
      const [row] = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM outbox');
      return row?.n;
    },
    events: (organizationId: string) =>
      database.query<{ position: number; type: string; body: string; event_id: string }>(
        'SELECT * FROM feed_events WHERE organization_id = $1 ORDER BY position',
        [organizationId],
      ),
  };
}

describe('publishing', () => {
  // Spec: QRPROV-21
  test('numbers the events of each organisation from 1 without gaps, over parallel processes', async (t) => {
    const { open, insert, left, events, notifiedOrganizations } = await setUp(t);
    const tenants = [randomUUID(), randomUUID(), randomUUID()];
    await Promise.all(tenants.map((tenant) => insert(tenant, 700)));
    const outboxes = [open(), open(), open()];
    for (const outbox of outboxes) outbox.start();
    const lastPositions = new Map<string, number>();
    let missed = 0;
    await eventually('all are published', async () => {
      for (const tenant of tenants) {
        // A reader must see all events up to the last position, and none may appear below it later.
        const storedEvents = await events(tenant);
        const last = storedEvents.at(-1)?.position ?? 0;
        if (storedEvents.length !== last) missed += 1;
        lastPositions.set(tenant, last);
      }
      return (await left()) === 0 && [...lastPositions.values()].every((last) => last === 700);
    });
    await Promise.all(outboxes.map((outbox) => outbox.stop()));
    assert.equal(missed, 0);
    for (const tenant of tenants) {
      const storedEvents = await events(tenant);
      assert.equal(new Set(storedEvents.map((event) => event.event_id)).size, 700);
      assert.ok(notifiedOrganizations.includes(tenant));
    }
  });

  test('a feed that another process has locked waits, and no position is used twice', async (t) => {
    const { database, open, insert, left, events } = await setUp(t);
    const tenant = randomUUID();
    await insert(tenant, 3);
    const outbox = open();
    await database
      .transaction(async (trx) => {
        await trx.query('INSERT INTO feed_heads VALUES ($1, 5)', [tenant]);
        outbox.start();
        await eventually('the outbox waits for the head', async () => {
          const [row] = await database.query<{ n: number }>(
            `SELECT count(*)::int AS n FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'
               AND query LIKE '%INTO feed_heads%'`,
          );
          return (row?.n ?? 0) > 0;
        });
        throw new Error('rolled back');
      })
      .catch(() => {});
    await eventually('published', async () => (await left()) === 0);
    await outbox.stop();
    assert.deepEqual(
      (await events(tenant)).map(({ position }) => position),
      [1, 2, 3],
    );
  });

  // Spec: QRPROV-27
  test('the body has the form of Standard Webhooks, and deliveries are planned with it', async (t) => {
    const { open, insert, left, events, planned } = await setUp(t);
    const tenant = randomUUID();
    await insert(tenant, 1);
    const outbox = open();
    outbox.start();
    await eventually('published', async () => (await left()) === 0);
    await outbox.stop();
    const [event] = await events(tenant);
    const body = JSON.parse(event?.body ?? '');
    assert.deepEqual(Object.keys(body), ['type', 'timestamp', 'data']);
    assert.equal(body.type, 'thing.made');
    assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(body.data, { organizationId: tenant, thing: 'thing.made', sequence: 1 });
    assert.equal(planned[0]?.body, event?.body);
    assert.equal(planned[0]?.position, 1);
  });

  // Spec: QRPROV-27
  test('an event body above the size limit is replaced by its identifiers', async (t) => {
    const { open, insert, left, events } = await setUp(t, {
      read: async (rows) =>
        new Map(
          rows.map((row) => [
            row.outboxId,
            { merchantId: null, data: { text: 'ü'.repeat(bodyBytesMax) } },
          ]),
        ),
    });
    const tenant = randomUUID();
    await insert(tenant, 1);
    const outbox = open();
    outbox.start();
    await eventually('published', async () => (await left()) === 0);
    await outbox.stop();
    const [event] = await events(tenant);
    assert.ok(Buffer.byteLength(event?.body ?? '') < bodyBytesMax);
    assert.deepEqual(JSON.parse(event?.body ?? '').data, {
      organizationId: tenant,
      subjectId: tenant,
      sequence: 1,
      abridged: true,
    });
  });

  test('a row without a mapper or without its subject does not block other rows', async (t) => {
    const { open, insert, left, events } = await setUp(t, {
      read: async (rows) =>
        new Map(
          rows
            .filter(({ sequence }) => sequence !== 2)
            .map((row) => [row.outboxId, { merchantId: null, data: {} }]),
        ),
    });
    const tenant = randomUUID();
    await insert(tenant, 3);
    await insert(tenant, 2, 'nobody.knows');
    const outbox = open();
    outbox.start();
    await eventually('the outbox is empty', async () => (await left()) === 0);
    await outbox.stop();
    const storedEvents = await events(tenant);
    assert.deepEqual(
      storedEvents.map(({ position, type }) => [position, type]),
      [
        [1, 'thing.made'],
        [2, 'thing.made'],
      ],
    );
  });

  test('an event kind of a newer version waits until a newer process runs', async (t) => {
    const { database, open, jobsOf, facts, insert, left, events } = await setUp(t);
    const tenant = randomUUID();
    const older = jobsOf();
    const first = open([facts], older);
    await insert(tenant, 2, 'newer.made');
    await insert(tenant, 1);
    const made = await database.query<{ outbox_id: string; kind: string }>(
      'SELECT outbox_id, kind FROM outbox',
    );
    first.start();
    older.start();
    await eventually('the older one has looked at it', async () => {
      const [job] = await database.query<{ last_error: string | null }>('SELECT * FROM jobs');
      return (await left()) === 0 && /newer\.made/.test(job?.last_error ?? '');
    });
    assert.deepEqual(
      (await events(tenant)).map(({ type }) => type),
      ['thing.made'],
    );
    await Promise.all([first.stop(), older.stop()]);
    const newer = jobsOf();
    const second = open([facts, { ...facts, prefix: 'newer.' }], newer);
    second.start();
    newer.start();
    await eventually('it is published', async () => (await events(tenant)).length === 3);
    await Promise.all([second.stop(), newer.stop()]);
    const published = await events(tenant);
    assert.deepEqual(
      published.map((event) => event.event_id).toSorted(),
      made.map((row) => row.outbox_id).toSorted(),
    );
    assert.deepEqual(await database.query('SELECT job_id FROM jobs'), []);
  });

  test('a postponed event is published once, even if the process dies before its job ends', async (t) => {
    const { database, open, jobsOf, facts, insert, left, events } = await setUp(t);
    const tenant = randomUUID();
    const jobs = jobsOf();
    const first = open([facts], jobs);
    await insert(tenant, 2, 'newer.made');
    first.start();
    await eventually('it is set aside', async () => (await left()) === 0);
    await first.stop();
    const eventMappers = [facts, { ...facts, prefix: 'newer.' }];
    const handlers: JobHandler[] = [];
    const capturingJobs = {
      ...jobs,
      handle: (_kind: string, handler: JobHandler) => void handlers.push(handler),
    };
    const second = open(eventMappers, capturingJobs);
    const [job] = await database.query<{ job_id: string; payload: Record<string, unknown> }>(
      'SELECT job_id, payload FROM jobs',
    );
    const { job_id: jobId = '', payload = {} } = job ?? {};
    const again = () =>
      handlers[0]?.({ organizationId: tenant, jobId, kind: '', payload, attempts: 0, dueAt: 0 });
    await again();
    second.start();
    await eventually('it is published', async () => (await events(tenant)).length === 2);
    await again();
    assert.equal(await left(), 0, 'no event is published again');
    await second.stop();
    assert.deepEqual(await database.query('SELECT job_id FROM jobs'), []);
  });

  test('a fault within the commit leaves neither a position nor an event behind', async (t) => {
    let faults = 2;
    const { open, insert, left, events } = await setUp(t, {
      read: async (rows) => {
        if (faults > 0) {
          faults -= 1;
          throw new Error('the source is away');
        }
        return new Map(rows.map((row) => [row.outboxId, { merchantId: null, data: {} }]));
      },
    });
    const tenant = randomUUID();
    await insert(tenant, 20);
    const outbox = open();
    outbox.start();
    await eventually('published', async () => {
      outbox.wake();
      return (await left()) === 0;
    });
    await outbox.stop();
    assert.deepEqual(
      (await events(tenant)).map(({ position }) => position),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });
});
