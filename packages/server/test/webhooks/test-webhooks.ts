// Webhooks over a separate database: it publishes events and sends them over real sockets, with
// short times.
import { randomUUID } from 'node:crypto';
import { type CreatedWebhookEndpoint, defined } from '@switchyard/contract';
import { createAudit, platformAuthor } from '../../src/audit/index.ts';
import {
  bucketSql,
  type Clock,
  createDueClock,
  createJobs,
  createLog,
  createMetrics,
  createOutbox,
  createOutgoingCalls,
  type Database,
  migrate,
  type OutboxEventMapper,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../src/platform/index.ts';
import type { AddressLookup } from '../../src/platform/net/dns-lookup.ts';
import { findDueEndpointsText } from '../../src/webhooks/delivery/send-deliveries-sql.ts';
import { createPostponeUnknownEvents } from '../../src/webhooks/feed/postpone-unknown-events.ts';
import { createEventPublisher } from '../../src/webhooks/feed/publish-events.ts';
import { createDeliveries, type DeliveryTimes } from '../../src/webhooks/index.ts';
import { migrationsFolder, testDatabaseCopyUrl } from '../support/database/test-database.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const masterKey = Buffer.alloc(32, 9);

export const quickTimes: DeliveryTimes = {
  pollMs: 10,
  dueSearchMs: 40,
  // Longer than a busy machine delays a working receiver.
  leaseMs: 15_000,
  timeoutMs: 800,
  retryDelaysMs: Array.from({ length: 40 }, () => 60),
  pausesMs: [80, 120, 160],
};

const facts: OutboxEventMapper = {
  prefix: 'transaction.',
  read: async (rows) =>
    new Map(
      rows.map((row) => [
        row.outboxId,
        { merchantId: null, data: { transactionId: row.subjectId, amount: row.sequence } },
      ]),
    ),
};

export type TestWebhooks = Awaited<ReturnType<typeof startTestWebhooks>>;

/**
 * @param on the database URL of other test webhooks, to act as a second process
 * @param onDueSearch is called at each search for endpoints without a lease
 */
export async function startTestWebhooks(
  options: {
    times?: DeliveryTimes;
    clock?: Clock;
    lookup?: AddressLookup;
    authorities?: string;
    allowsLoopback?: boolean;
    databaseUrl?: string;
    onDueSearch?: () => void;
  } = {},
) {
  const { clock = systemClock, allowsLoopback = true } = options;
  // Keeps the process alive, because connections to the test database do not.
  const awake = setInterval(() => {}, 1_000);
  const url = options.databaseUrl ?? (await testDatabaseCopyUrl());
  const opened = openDatabase({ url, log });
  const database: Database = {
    ...opened,
    async query(text, values) {
      const rows = await opened.query(text, values);
      if (text === findDueEndpointsText) options.onDueSearch?.();
      return rows as never;
    },
  };
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  const metrics = createMetrics();
  const calls = createOutgoingCalls({
    allowsLoopback,
    ...defined({ lookup: options.lookup, caCertificates: options.authorities }),
  });
  const dueClock = createDueClock(clock, log);
  const jobs = createJobs({
    database,
    clock,
    dueClock,
    ids: systemIdGenerator,
    log,
    metrics,
    pollMs: 20,
  });
  const deliveries = createDeliveries({
    database,
    clock,
    dueClock,
    ids: systemIdGenerator,
    log,
    metrics,
    jobs,
    calls,
    masterKey,
    audit: createAudit({ database, clock, jobs, masterKey }),
    retentionDays: 30,
    times: { ...quickTimes, ...options.times },
    requireMerchant: async () => {},
  });
  const outbox = createOutbox({ database, log, metrics, pollMs: 20 });
  const eventMappers = [facts, deliveries.events];
  const postponeUnknownEvents = createPostponeUnknownEvents({ database, jobs, eventMappers });
  outbox.subscribe(
    createEventPublisher({
      eventMappers,
      log,
      metrics,
      deliveries,
      postponeUnknownEvents,
      notifyReaders: () => {},
    }),
  );
  const organizationId = randomUUID();
  const authoredScope = { organizationId, author: platformAuthor };

  return {
    url,
    database,
    organizationId,
    metrics,
    by: authoredScope,
    ...deliveries.operations,
    start() {
      jobs.start();
      outbox.start();
      deliveries.start();
    },
    async stop() {
      await outbox.stop();
      await deliveries.stop();
      await jobs.stop();
      calls.close();
      await database.close();
      clearInterval(awake);
    },
    async endpoint(
      to: string,
      eventTypes = ['*'],
      organization = organizationId,
    ): Promise<CreatedWebhookEndpoint> {
      const input = { url: to, eventTypes };
      const made = await deliveries.operations.endpoints.create(
        { ...authoredScope, organizationId: organization },
        input,
      );
      return { ...made.view, secret: made.secret };
    },
    /** Publishes this number of events at once. */
    async happen(count: number, organization = organizationId): Promise<void> {
      const identifiers = Array.from({ length: count }, () => systemIdGenerator.uuid());
      await database.query(
        `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
         SELECT ${bucketSql('i')}, $1, i, 'transaction.captured', i, n, now()
         FROM unnest($2::uuid[]) WITH ORDINALITY AS r(i, n)`,
        [organization, identifiers],
      );
      outbox.wake();
    },
    /** The number of deliveries of an endpoint in each state. */
    async counts(endpointId: string): Promise<Record<string, number>> {
      const rows = await database.query<{ status: string; n: number }>(
        `SELECT status, count(*)::int AS n FROM webhook_deliveries
         WHERE endpoint_id = $1 GROUP BY status`,
        [endpointId],
      );
      return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
    },
  };
}
