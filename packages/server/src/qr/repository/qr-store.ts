// Stores QR payments: each write is one guarded statement in a batch.
import { CompiledQuery, type Kysely } from 'kysely';
import {
  createGroupCommit,
  type Database,
  type DueClock,
  type Ids,
  isoTime,
  type Numbering,
} from '../../platform/index.ts';
import type { Change, LoadedQr, QrKey, QrRow, StoredEvent } from '../transaction/records.ts';
import { isPublished } from './published-events.ts';
import { type EventRow, type LoadedRow, toEvent, toLoaded } from './qr-rows.ts';
import * as statements from './statements-sql.ts';

export type DueKey = QrKey & { providerId: string };

export type QrStore = {
  /** Stores the intent. Returns false if the client's identifier is taken. */
  begin(row: QrRow, event: StoredEvent): Promise<boolean>;
  /** Stores one change. Returns false after a concurrent change. @throws OperationIdTaken */
  commit(change: Change): Promise<boolean>;
  /** Stores the change and runs `beside` in one transaction. */
  commitBeside(change: Change, beside: (trx: Kysely<unknown>) => Promise<void>): Promise<boolean>;
  find(key: QrKey): Promise<LoadedQr | undefined>;
  /** Returns a few payments at most: each merchant can use a client identifier once. */
  findByClientId(
    organizationId: string,
    clientTransactionId: string,
    merchantId?: string,
  ): Promise<LoadedQr[]>;
  /** Finds a payment by its provider, with whether the event is already stored. */
  findForProvider(
    providerId: string,
    transactionId: string,
    eventId: string,
  ): Promise<(LoadedQr & { isKnown: boolean }) | undefined>;
  findOperation(key: {
    organizationId: string;
    merchantId: string;
    kind: string;
    clientOperationId: string;
  }): Promise<{ transactionId: string; number: number } | undefined>;
  eventsAfter(key: QrKey, after: number, limit: number): Promise<StoredEvent[]>;
  /** The events that the view of a payment needs. */
  shownEvents(key: QrKey): Promise<StoredEvent[]>;
  list(query: ListQuery, page: { limit: number; after?: string }): Promise<LoadedQr[]>;
  /** The same for many payments, without displays. */
  shownEventsOf(
    organizationId: string,
    transactionIds: readonly string[],
  ): Promise<ReadonlyMap<string, StoredEvent[]>>;
  /** The versions that are newer than the given ones. */
  versions(asked: VersionsAsked): Promise<(QrKey & { version: number })[]>;
  /** Claims due payments for `forMs`; `busy` are the excluded providers. */
  claim(forMs: number, limit: number, busy: readonly string[]): Promise<DueKey[]>;
  /** Sets the next poll of an unchanged payment. */
  postpone(row: QrRow, dueAt: number, looks: number): Promise<void>;
  /** The waiting writes as a share of the queue limit. */
  pressure(): number;
  drain(): Promise<void>;
};

/** Encoded PostgreSQL arrays of the same length: the keys of payments and their known versions. */
export type VersionsAsked = { organizations: string; payments: string; versions: string };

export type ListQuery = {
  organizationId: string;
  merchantId?: string | undefined;
  storeId?: string | undefined;
  held?: boolean | undefined;
};

/** Another operation or event already has the identifier. */
export class OperationIdTaken extends Error {}

type Wanted = {
  organizationId: string;
  transactionId: string | null;
  clientTransactionId: string | null;
  merchantId: string | null;
};

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
  const dueText = ({ dueAt }: QrRow): string | null =>
    dueAt === undefined ? null : isoTime(dueClock.toDue(dueAt));
  const loadedOf = (row: LoadedRow): LoadedQr => toLoaded(row, dueClock.fromDue);

  const begins = createGroupCommit<{ row: QrRow; event: StoredEvent }, boolean>({
    name: 'qr-begin',
    queueLimit: queueMax,
    key: ({ row }) => `${row.organizationId}${row.clientTransactionId}${row.merchantId}`,
    run: async (rows) => {
      const batch = rows.map(({ row, event }) => statements.beginRow(row, event, dueText(row)));
      const onCommitted = numbering.beginWrite();
      const made = await database.hot<{ id: string }>(statements.begin, [JSON.stringify(batch)]);
      const inserted = new Set(made.map(({ id }) => id));
      acknowledge(onCommitted, rows.find(({ row }) => inserted.has(row.transactionId))?.row);
      return rows.map(({ row }) => inserted.has(row.transactionId));
    },
  });

  function rowOf(change: Change, i: number): Record<string, unknown> {
    const outboxId = isPublished(change.event.type) ? ids.uuid() : undefined;
    return statements.commitRow(change, i, { outboxId, dueAt: dueText(change.after) });
  }

  const commits = createGroupCommit<Change, boolean>({
    name: 'qr-commit',
    queueLimit: queueMax,
    key: ({ after }) => sortKey(after),
    run: async (changes) => {
      const batch = changes.map(rowOf);
      const onCommitted = numbering.beginWrite();
      const made = await database.hot<{ i: number }>(statements.commit, [JSON.stringify(batch)]);
      const done = new Set(made.map(({ i }) => i));
      acknowledge(onCommitted, changes.find((_, i) => done.has(i))?.after);
      return changes.map((_, i) => done.has(i));
    },
  });

  const reads = createGroupCommit<Wanted, LoadedQr | undefined>({
    name: 'qr-read',
    key: ({ organizationId, transactionId, clientTransactionId }) =>
      organizationId + (transactionId ?? clientTransactionId),
    allowsSameKey: true,
    run: async (all) => {
      const found: (LoadedQr | undefined)[] = all.map(() => undefined);
      const rows = await database.hot<LoadedRow & { i: number }>(statements.find, [
        all.map((each) => each.organizationId),
        all.map((each) => each.transactionId),
        all.map((each) => each.clientTransactionId),
        all.map((each) => each.merchantId),
      ]);
      for (const row of rows) found[row.i - 1] = loadedOf(row);
      return found;
    },
  });

  return {
    begin: (row, event) => begins.submit({ row, event }),
    async commit(change) {
      try {
        return await commits.submit(change);
      } catch (error) {
        if (isUniqueViolation(error)) throw new OperationIdTaken();
        throw error;
      }
    },
    commitBeside: (change, beside) =>
      database.transaction(async (trx) => {
        const values = [JSON.stringify([rowOf(change, 0)])];
        const done = await trx.executeQuery(CompiledQuery.raw(statements.commit.text, values));
        if (done.rows.length === 0) return false;
        await beside(trx);
        return true;
      }),
    find: ({ organizationId, transactionId }) =>
      reads.submit({ organizationId, transactionId, clientTransactionId: null, merchantId: null }),
    async findByClientId(organizationId, clientTransactionId, merchantId) {
      if (merchantId !== undefined) {
        const one = { organizationId, transactionId: null, clientTransactionId, merchantId };
        return [await reads.submit(one)].filter((each) => each !== undefined);
      }
      const values = [organizationId, clientTransactionId, matchesMax];
      return (await database.hot<LoadedRow>(statements.findByClientId, values)).map(loadedOf);
    },
    async findForProvider(providerId, transactionId, eventId) {
      const values = [providerId, transactionId, eventId];
      type Found = LoadedRow & { is_known: boolean };
      const [row] = await database.hot<Found>(statements.findForProvider, values);
      return row === undefined ? undefined : { ...loadedOf(row), isKnown: row.is_known };
    },
    async findOperation({ organizationId, merchantId, kind, clientOperationId }) {
      type Found = { transaction_id: string; number: number };
      const [row] = await database.hot<Found>(statements.findOperation, [
        organizationId,
        clientOperationId,
        merchantId,
        kind,
      ]);
      return row && { transactionId: row.transaction_id, number: row.number };
    },
    async eventsAfter({ organizationId, transactionId }, after, limit) {
      const values = [organizationId, transactionId, after, limit];
      return (await database.hot<EventRow>(statements.eventsAfter, values)).map(toEvent);
    },
    async shownEvents({ organizationId, transactionId }) {
      const values = [organizationId, transactionId];
      return (await database.hot<EventRow>(statements.shownEvents, values)).map(toEvent);
    },
    async list({ organizationId, merchantId, storeId, held }, { limit, after }) {
      const kind = held === undefined ? 'any' : held ? 'held' : 'free';
      const statement = statements.listOf(kind, merchantId !== undefined);
      const filters = [storeId ?? null, merchantId ?? null];
      const values = [organizationId, after ?? null, limit, ...filters];
      return (await database.hot<LoadedRow>(statement, values)).map(loadedOf);
    },
    async shownEventsOf(organizationId, transactionIds) {
      type Found = EventRow & { transaction_id: string };
      const values = [organizationId, transactionIds];
      const rows = await database.hot<Found>(statements.shownEventsOf, values);
      const found = new Map<string, StoredEvent[]>();
      for (const row of rows) {
        const events = found.get(row.transaction_id) ?? [];
        found.set(row.transaction_id, [...events, toEvent(row)]);
      }
      return found;
    },
    async versions({ organizations, payments, versions }) {
      type Found = { organization_id: string; transaction_id: string; version: number };
      const values = [organizations, payments, versions];
      const rows = await database.hot<Found>(statements.versions, values);
      return rows.map((row) => ({
        organizationId: row.organization_id,
        transactionId: row.transaction_id,
        version: row.version,
      }));
    },
    async claim(forMs, limit, busy) {
      const now = dueClock.now();
      type Found = { organization_id: string; transaction_id: string; provider_id: string };
      const values = [isoTime(now), isoTime(now + forMs), limit, busy];
      const rows = await database.hot<Found>(statements.claim, values);
      return rows.map((row) => ({
        organizationId: row.organization_id,
        transactionId: row.transaction_id,
        providerId: row.provider_id,
      }));
    },
    async postpone({ organizationId, transactionId, version }, dueAt, looks) {
      const values = [
        organizationId,
        transactionId,
        version,
        isoTime(dueClock.toDue(dueAt)),
        looks,
      ];
      await database.hot(statements.postpone, values);
    },
    pressure: () => Math.max(begins.waiting(), commits.waiting()) / queueMax,
    async drain() {
      await Promise.all([begins.drain(), commits.drain(), reads.drain()]);
    },
  };
}
