// Stores QR payments: each write is one guarded statement in a batch.
import {
  bucketOf,
  createShardedGroupCommit,
  type Database,
  type DueClock,
  forEachShard,
  type Ids,
  isoTime,
  type Numbering,
  type Queries,
  runInTransaction,
  shardOf,
  toRecords,
} from '../../platform/index.ts';
import type {
  LoadedPayment,
  PaymentChange,
  QrKey,
  QrRow,
  StoredEvent,
} from '../transaction/records.ts';
import { isPublishedEventType } from './qr-event-mapper.ts';
import { type EventRow, type PaymentRow, toEvent, toLoadedPayment } from './qr-rows.ts';
import * as statements from './statements-sql.ts';

export type DueKey = QrKey & { providerId: string };

export type QrStore = {
  /** Stores the intent. Returns false if the client's identifier is taken. */
  begin(row: QrRow, event: StoredEvent): Promise<boolean>;
  /** Stores one change. Returns false after a concurrent change. @throws OperationIdTakenError */
  commit(change: PaymentChange): Promise<boolean>;
  /** Stores the change and runs `work` in one transaction. */
  commitWith(change: PaymentChange, work: (trx: Queries) => Promise<void>): Promise<boolean>;
  find(key: QrKey): Promise<LoadedPayment | undefined>;
  /** Returns a few payments at most: each merchant can use a client identifier once. */
  findByClientId(
    organizationId: string,
    clientTransactionId: string,
    merchantId?: string,
  ): Promise<LoadedPayment[]>;
  /** Finds a payment by its provider, with whether the event is already stored. */
  findForProvider(
    providerId: string,
    transactionId: string,
    eventId: string,
  ): Promise<(LoadedPayment & { isKnown: boolean }) | undefined>;
  findOperation(key: {
    organizationId: string;
    merchantId: string;
    kind: string;
    clientOperationId: string;
  }): Promise<{ transactionId: string; number: number } | undefined>;
  eventsAfter(key: QrKey, after: number, limit: number): Promise<StoredEvent[]>;
  /** The events that the view of a payment needs. */
  eventsForView(key: QrKey): Promise<StoredEvent[]>;
  list(query: ListQuery, page: { limit: number; after?: string }): Promise<LoadedPayment[]>;
  /** The same for many payments, without displays. */
  eventsForViews(
    organizationId: string,
    transactionIds: readonly string[],
  ): Promise<ReadonlyMap<string, StoredEvent[]>>;
  /** The versions that are newer than the given ones. */
  newerVersions(query: VersionQuery): Promise<(QrKey & { version: number })[]>;
  /** Claims due payments for `forMs`; `busy` are the excluded providers. */
  claim(forMs: number, limit: number, busy: readonly string[]): Promise<DueKey[]>;
  /** Sets the next poll of an unchanged payment. */
  postpone(row: QrRow, dueAt: number, pollAttempts: number): Promise<void>;
  /** The waiting writes as a share of the queue limit. */
  pressure(): number;
  drain(): Promise<void>;
};

/** Encoded PostgreSQL arrays of the same length: buckets and identifiers of payments and their known versions. */
export type VersionQuery = { buckets: string; payments: string; newerVersions: string };

export type ListQuery = {
  organizationId: string;
  merchantId?: string | undefined;
  storeId?: string | undefined;
  held?: boolean | undefined;
};

/** Another operation or event already has the identifier. */
export class OperationIdTakenError extends Error {}

type ReadKey = { organizationId: string } & (
  | { transactionId: string; clientTransactionId: null; merchantId: null }
  | { transactionId: null; clientTransactionId: string; merchantId: string }
);

const uniqueViolation = '23505';
const matchesMax = 20;
const queueMax = 5000;

function isUniqueViolation(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error
    ? error.code === uniqueViolation
    : false;
}

const sortKey = (row: QrKey) => row.organizationId + row.transactionId;

/** @example const store = createQrStore({ database, dueClock, ids, numbering }); */
export function createQrStore({
  database,
  dueClock,
  ids,
  numbering,
}: {
  database: Database;
  dueClock: DueClock;
  ids: Ids;
  numbering: Numbering;
}): QrStore {
  /** One row represents the whole statement, because all rows commit together. */
  function acknowledge(
    onCommitted: ReturnType<Numbering['beginWrite']>,
    row: QrRow | undefined,
  ): void {
    if (row === undefined) return;
    const { organizationId, transactionId, version } = row;
    onCommitted({ table: 'qr_transactions', organizationId, transactionId, version });
  }

  /** Rows use the process clock; the table uses the clock of the due comparison. */
  const dueAtText = ({ dueAt }: QrRow): string | null =>
    dueAt === undefined ? null : isoTime(dueClock.toDue(dueAt));
  const loadRow = (row: PaymentRow): LoadedPayment => toLoadedPayment(row, dueClock.fromDue);

  const insertBatches = createShardedGroupCommit<{ row: QrRow; event: StoredEvent }, boolean>({
    name: 'qr-begin',
    database,
    bucketOf: ({ row }) => bucketOf(row.transactionId),
    queueLimit: queueMax,
    key: ({ row }) => `${row.organizationId}${row.clientTransactionId}${row.merchantId}`,
    run: async (rows, buckets) => {
      const batch = rows.map(({ row, event }) =>
        statements.paymentInsertRow(row, event, dueAtText(row)),
      );
      const onCommitted = numbering.beginWrite();
      const values = [JSON.stringify(batch)];
      const result = await database.hot<{ id: string }>(statements.insertPayment, values, buckets);
      const inserted = new Set(result.map(({ id }) => id));
      acknowledge(onCommitted, rows.find(({ row }) => inserted.has(row.transactionId))?.row);
      return rows.map(({ row }) => inserted.has(row.transactionId));
    },
  });

  function toChangeRow(change: PaymentChange, i: number): Record<string, unknown> {
    const outboxId = isPublishedEventType(change.event.type) ? ids.uuid() : undefined;
    return statements.toStatementChange(change, i, { outboxId, dueAt: dueAtText(change.after) });
  }

  const commitBatches = createShardedGroupCommit<PaymentChange, boolean>({
    name: 'qr-commit',
    database,
    bucketOf: ({ after }) => bucketOf(after.transactionId),
    queueLimit: queueMax,
    key: ({ after }) => sortKey(after),
    run: async (changes, buckets) => {
      const batch = changes.map(toChangeRow);
      const onCommitted = numbering.beginWrite();
      const values = [JSON.stringify(batch)];
      const result = await database.hot<{ i: number }>(statements.commitChange, values, buckets);
      const done = new Set(result.map(({ i }) => i));
      acknowledge(onCommitted, changes.find((_, i) => done.has(i))?.after);
      return changes.map((_, i) => done.has(i));
    },
  });

  const bucketOfKey = (key: ReadKey) => bucketOf(key.transactionId ?? key.merchantId);

  const readBatches = createShardedGroupCommit<ReadKey, LoadedPayment | undefined>({
    name: 'qr-read',
    database,
    bucketOf: bucketOfKey,
    key: ({ organizationId, transactionId, clientTransactionId }) =>
      organizationId + (transactionId ?? clientTransactionId),
    allowsSameKey: true,
    run: async (all, buckets) => {
      type Row = PaymentRow & { i: number };
      const payments: (LoadedPayment | undefined)[] = all.map(() => undefined);
      const values = [
        all.map(bucketOfKey),
        all.map((each) => each.organizationId),
        all.map((each) => each.transactionId),
        all.map((each) => each.clientTransactionId),
        all.map((each) => each.merchantId),
      ];
      const rows = await database.hot<Row>(statements.findPayment, values, buckets);
      for (const row of rows) payments[row.i - 1] = loadRow(row);
      return payments;
    },
  });

  return {
    begin: (row, event) => insertBatches.submit({ row, event }),
    async commit(change) {
      try {
        return await commitBatches.submit(change);
      } catch (error) {
        if (isUniqueViolation(error)) throw new OperationIdTakenError();
        throw error;
      }
    },
    commitWith: (change, work) =>
      database.transaction(async (trx) => {
        const values = [JSON.stringify([toChangeRow(change, 0)])];
        const buckets = await shardOf(database, bucketOf(change.after.transactionId));
        const done = await runInTransaction(trx, statements.commitChange, values, buckets);
        if (done.length === 0) return false;
        await work(trx);
        return true;
      }),
    find: ({ organizationId, transactionId }) =>
      readBatches.submit({
        organizationId,
        transactionId,
        clientTransactionId: null,
        merchantId: null,
      }),
    async findByClientId(organizationId, clientTransactionId, merchantId) {
      if (merchantId !== undefined) {
        const one = { organizationId, transactionId: null, clientTransactionId, merchantId };
        return [await readBatches.submit(one)].filter((each) => each !== undefined);
      }
      const values = [organizationId, clientTransactionId, matchesMax];
      return (await database.hot<PaymentRow>(statements.findByClientId, values)).map(loadRow);
    },
    async findForProvider(providerId, transactionId, eventId) {
      const bucket = bucketOf(transactionId);
      const values = [bucket, providerId, transactionId, eventId];
      const buckets = await shardOf(database, bucket);
      type FoundRow = PaymentRow & { is_known: boolean };
      const [row] = await database.hot<FoundRow>(statements.findForProvider, values, buckets);
      return row === undefined ? undefined : { ...loadRow(row), isKnown: row.is_known };
    },
    async findOperation({ organizationId, merchantId, kind, clientOperationId }) {
      const rows = await database.hot(statements.findOperation, [
        bucketOf(merchantId),
        organizationId,
        clientOperationId,
        merchantId,
        kind,
      ]);
      return toRecords<{ transactionId: string; number: number }>(rows)[0];
    },
    async eventsAfter({ organizationId, transactionId }, after, limit) {
      const values = [bucketOf(transactionId), organizationId, transactionId, after, limit];
      return (await database.hot<EventRow>(statements.eventsAfter, values)).map(toEvent);
    },
    async eventsForView({ organizationId, transactionId }) {
      const values = [bucketOf(transactionId), organizationId, transactionId];
      return (await database.hot<EventRow>(statements.eventsForView, values)).map(toEvent);
    },
    async list({ organizationId, merchantId, storeId, held }, { limit, after }) {
      const kind = held === undefined ? 'any' : held ? 'held' : 'free';
      const statement = statements.listPayments(kind, merchantId !== undefined);
      const filters = [storeId ?? null, merchantId ?? null];
      const values = [organizationId, after ?? null, limit, ...filters];
      return (await database.hot<PaymentRow>(statement, values)).map(loadRow);
    },
    async eventsForViews(organizationId, transactionIds) {
      type FoundRow = EventRow & { transaction_id: string };
      const buckets = [...new Set(transactionIds.map(bucketOf))];
      const values = [buckets, organizationId, transactionIds];
      const rows = await database.hot<FoundRow>(statements.eventsForViews, values);
      const payments = new Map<string, StoredEvent[]>();
      for (const row of rows) {
        const events = payments.get(row.transaction_id) ?? [];
        payments.set(row.transaction_id, [...events, toEvent(row)]);
      }
      return payments;
    },
    async newerVersions({ buckets, payments, newerVersions: versions }) {
      const values = [buckets, payments, versions];
      return toRecords(await database.hot(statements.newerVersions, values));
    },
    async claim(forMs, limit, busy) {
      const now = dueClock.now();
      const claimed: DueKey[] = [];
      const due = [statements.findDue, [isoTime(now)]] as const;
      await forEachShard(database, due, async (buckets) => {
        const free = limit - claimed.length;
        if (free <= 0) return;
        const values = [isoTime(now), isoTime(now + forMs), free, busy];
        const rows = await database.hot(statements.claimDuePayments, values, buckets);
        claimed.push(...toRecords<DueKey>(rows));
      });
      return claimed;
    },
    async postpone({ transactionId, version }, dueAt, pollAttempts) {
      const values = [
        bucketOf(transactionId),
        transactionId,
        version,
        isoTime(dueClock.toDue(dueAt)),
        pollAttempts,
      ];
      await database.hot(statements.postpone, values);
    },
    pressure: () => Math.max(insertBatches.waiting(), commitBatches.waiting()) / queueMax,
    async drain() {
      await Promise.all([insertBatches.drain(), commitBatches.drain(), readBatches.drain()]);
    },
  };
}
