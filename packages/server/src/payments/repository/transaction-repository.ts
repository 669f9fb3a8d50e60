// Transaction repository. Each write is a row of a statement with a version check, in a group commit.
import {
  bucketOf,
  type Clock,
  createMemoryReleasingMap,
  createShardedGroupCommit,
  type Database,
  findInAllShards,
  type HotStatement,
  type Ids,
  isoTime,
  type Numbering,
  type Queries,
  runInTransaction,
  type Span,
  shardOf,
} from '../../platform/index.ts';
import type {
  StoredEvent,
  TransactionChange,
  TransactionRecord,
  TransactionRow,
} from '../transaction/transaction.ts';
import * as statements from './transaction-sql.ts';
import { type TransactionResultRow, toTransactionRecord } from './transaction-sql.ts';
import * as writeStatements from './transaction-write-sql.ts';

export type TransactionKey = { organizationId: string; transactionId: string };
type OperationKey = { transactionId: string; operationNumber: number };

/** By the server's identifier, or by the client's and the merchant. */
type TransactionLookup = { organizationId: string } & (
  | { transactionId: string; clientTransactionId?: undefined; merchantId?: undefined }
  | { transactionId?: undefined; clientTransactionId: string; merchantId: string }
);

/** The intent of a sale with its event, or the outcome of a sale without an operation. */
type SaleWrite = { row: TransactionRow } & (
  | { intent: StoredEvent; outcome?: undefined }
  | { intent?: undefined; outcome: TransactionChange }
);

/** The transaction of a row that a statement has stored. */
type StoredId = { id: string };

/** Another operation of the merchant has the same client identifier. */
export class DuplicateOperationId extends Error {}

const uniqueViolation = '23505';

function throwDuplicateId(error: unknown): never {
  const isDuplicate = error instanceof Error && 'code' in error && error.code === uniqueViolation;
  throw isDuplicate ? new DuplicateOperationId() : error;
}

const maxMatches = 20;
/** Limit of queued writes. In load tests a few hundred wait at the saturation point. */
const maxQueuedWrites = 5000;
/** More, so that new sales cannot take the places of the outcomes of sales that were sent. */
const maxQueuedOutcomes = 2 * maxQueuedWrites;

type Ports = { database: Database; ids: Ids; clock: Clock; numbering: Numbering };

/** @example const transactions = createTransactionRepository({ database, ids, clock, numbering }); */
export function createTransactionRepository({ database, ids, clock, numbering }: Ports) {
  const toUpdateRow = (change: TransactionChange) =>
    writeStatements.toUpdateRow(change, ids.uuid());

  type OnCommitted = ReturnType<Numbering['beginWrite']>;

  function acknowledge(onCommitted: OnCommitted, row: TransactionRow): void {
    const { organizationId, transactionId, version } = row;
    onCommitted({ table: 'transactions', organizationId, transactionId, version });
  }

  /**
   * True for each row that was stored: a new identifier, or a version that no other request has changed. A transaction
   * has one row in a commit.
   */
  function acknowledgeStored(
    onCommitted: OnCommitted,
    rows: readonly TransactionRow[],
    stored: readonly StoredId[],
  ): boolean[] {
    const storedIds = new Set(stored.map(({ id }) => id));
    // One row represents all that were committed together.
    const first = rows.find(({ transactionId }) => storedIds.has(transactionId));
    if (first !== undefined) acknowledge(onCommitted, first);
    return rows.map(({ transactionId }) => storedIds.has(transactionId));
  }

  async function commitSaleWrites(
    writes: readonly SaleWrite[],
    buckets?: readonly number[],
  ): Promise<boolean[]> {
    const intents: unknown[] = [];
    const outcomes: unknown[] = [];
    for (const write of writes) {
      if (write.intent === undefined) outcomes.push(toUpdateRow(write.outcome));
      else intents.push(writeStatements.toInsertRow(write.row, write.intent));
    }
    const commits: HotStatement[] = [];
    if (intents.length > 0)
      commits.push([writeStatements.insertTransaction, [JSON.stringify(intents)], buckets]);
    if (outcomes.length > 0)
      commits.push([writeStatements.updateWithEvent, [JSON.stringify(outcomes)], buckets]);
    const onCommitted = numbering.beginWrite();
    const stored = (await database.hotCommit(commits)).flat() as StoredId[];
    const rows = writes.map(({ row }) => row);
    return acknowledgeStored(onCommitted, rows, stored);
  }

  /** Intents and outcomes of sales are committed together: a commit costs more than its rows. */
  const saleWrites = createShardedGroupCommit<SaleWrite, boolean>({
    name: 'payments-sale',
    database,
    bucketOf: ({ row }) => bucketOf(row.transactionId),
    queueLimit: ({ intent }) => (intent === undefined ? maxQueuedOutcomes : maxQueuedWrites),
    // Two batches with the same unique key would block each other.
    key: ({ row, intent }) =>
      intent === undefined ? row.transactionId : row.clientTransactionId + row.merchantId,
    run: commitSaleWrites,
  });

  // Operations have their own queue, so that sales do not wait behind batch captures.
  const operationUpdates = createShardedGroupCommit<TransactionChange, boolean>({
    name: 'payments-operation',
    database,
    bucketOf: ({ after }) => bucketOf(after.transactionId),
    queueLimit: maxQueuedWrites,
    key: ({ after }) => after.transactionId,
    run: async (changes, buckets) => {
      const onCommitted = numbering.beginWrite();
      const values = [JSON.stringify(changes.map(toUpdateRow))];
      const stored = await database.hot<StoredId>(
        writeStatements.updateWithOperation,
        values,
        buckets,
      );
      const rows = changes.map(({ after }) => after);
      return acknowledgeStored(onCommitted, rows, stored);
    },
  });

  const bucketOfLookup = ({ transactionId, merchantId }: TransactionLookup) =>
    bucketOf(transactionId ?? merchantId);

  const transactionReads = createShardedGroupCommit<
    TransactionLookup,
    TransactionRecord | undefined
  >({
    name: 'payments-read',
    database,
    bucketOf: bucketOfLookup,
    key: ({ organizationId, transactionId, clientTransactionId }) =>
      organizationId + (transactionId ?? clientTransactionId ?? ''),
    allowsSameKey: true,
    run: async (lookups, buckets) => {
      type Row = TransactionResultRow & { i: number };
      const records: (TransactionRecord | undefined)[] = lookups.map(() => undefined);
      const values = [
        lookups.map(bucketOfLookup),
        lookups.map((each) => each.organizationId),
        lookups.map((each) => each.transactionId ?? null),
        lookups.map((each) => each.clientTransactionId ?? null),
        lookups.map((each) => each.merchantId ?? null),
      ];
      const rows = await database.hot<Row>(statements.findTransactions, values, buckets);
      for (const row of rows) records[row.i - 1] = toTransactionRecord(row);
      return records;
    },
  });

  const durationListeners = new Set<(ms: number) => void>();
  function measureWrite(write: Promise<boolean>): Promise<boolean> {
    if (durationListeners.size === 0) return write;
    const startedAt = clock.now();
    const notifyListeners = () => {
      for (const listener of durationListeners) listener(clock.now() - startedAt);
    };
    write.then(notifyListeners, notifyListeners);
    return write;
  }

  return {
    /** @throws ProblemError recovery_required if the database may lack the transaction that was not found */
    requireComplete(): void {
      if (numbering.isRecoveryRequired()) numbering.requireAvailable();
    },
    /** False if the client's identifier is taken. */
    insert: (row: TransactionRow, event: StoredEvent, span?: Span): Promise<boolean> =>
      measureWrite(saleWrites.submit({ row, intent: event }, span)),
    /** False if another request changed the transaction first. */
    update(change: TransactionChange, span?: Span): Promise<boolean> {
      const isOutcome = change.operation === undefined && change.job === undefined;
      const write = isOutcome
        ? measureWrite(saleWrites.submit({ row: change.after, outcome: change }, span))
        : operationUpdates.submit(change, span);
      return write.catch(throwDuplicateId);
    },
    /** Commits a change with an operation and further writes in one database transaction. */
    async updateWith(
      change: TransactionChange,
      writeAlso: (trx: Queries) => Promise<void>,
    ): Promise<boolean> {
      const onCommitted = numbering.beginWrite();
      const write = database.transaction(async (trx) => {
        const values = [JSON.stringify([toUpdateRow(change)])];
        const buckets = await shardOf(database, bucketOf(change.after.transactionId));
        const statement = writeStatements.updateWithOperation;
        const updatedRows = await runInTransaction(trx, statement, values, buckets);
        if (updatedRows.length === 0) return false;
        await writeAlso(trx);
        return true;
      });
      const isUpdated = await write.catch(throwDuplicateId);
      if (isUpdated) acknowledge(onCommitted, change.after);
      return isUpdated;
    },
    /** @throws DuplicateOperationId if another operation by web has the identifier */
    async claimWebOperationId(trx: Queries, change: TransactionChange): Promise<void> {
      const { organizationId, merchantId, transactionId } = change.after;
      const { clientOperationId, operationNumber } = change.operation ?? {};
      const rows = await trx.query(writeStatements.claimWebOperationId, [
        bucketOf(transactionId),
        organizationId,
        clientOperationId,
        merchantId,
        transactionId,
        operationNumber,
      ]);
      if (rows.length === 0) throw new DuplicateOperationId();
    },
    /** False when another request changed the sale first or the sale is no longer in progress. */
    async updateRoute(
      before: TransactionRow,
      after: TransactionRow,
      event: StoredEvent,
    ): Promise<boolean> {
      const updatedRows = await database.query(writeStatements.updateRoute, [
        bucketOf(before.transactionId),
        before.organizationId,
        before.transactionId,
        before.version,
        after.contractId,
        after.overCaptureAllowance,
        after.version,
        event.at,
        event.type,
        JSON.stringify(event.data),
        ids.uuid(),
      ]);
      return updatedRows.length > 0;
    },
    findById: (organizationId: string, transactionId: string) =>
      transactionReads.submit({ organizationId, transactionId }),
    /**
     * Each merchant may use a client identifier once. The transaction has another identifier when it is an
     * offline sale that was uploaded again under this one.
     */
    async findByClientId(
      organizationId: string,
      clientTransactionId: string,
      merchantId?: string,
    ): Promise<TransactionRecord[]> {
      if (merchantId !== undefined) {
        const lookup = { organizationId, clientTransactionId, merchantId };
        return [await transactionReads.submit(lookup)].filter((each) => each !== undefined);
      }
      const values = [organizationId, clientTransactionId, maxMatches];
      const statement = statements.findTransactionsByClientId;
      return (await database.hot<TransactionResultRow>(statement, values)).map(toTransactionRecord);
    },
    async findOperation(key: statements.OperationLookup): Promise<OperationKey | undefined> {
      const values = statements.findOperationValues(key);
      return (await database.hot<OperationKey>(statements.findOperation, values))[0];
    },
    /** Acquirer links of any status with an unfinished sale or operation. */
    async findLinksInUse(): Promise<string[]> {
      const rows = await database.query<{ linkId: string | null }>(statements.selectLinksInUse);
      return rows.flatMap(({ linkId }) => linkId ?? []);
    },
    /** Sales whose deadline has passed without an outcome. */
    findSalesWithoutOutcome: (limit: number) =>
      findInAllShards<TransactionKey>(database, statements.selectSalesWithoutOutcome, {
        values: [limit],
        limit,
      }),
    findOperationsWithoutOutcome: (limit: number) =>
      findInAllShards<TransactionKey & OperationKey>(
        database,
        statements.selectOperationsWithoutOutcome,
        { values: [limit], limit },
      ),
    /** @param at epoch ms */
    findExpiredAuthorizations: (at: number, limit: number) =>
      findInAllShards<TransactionKey>(database, statements.selectExpiredAuthorizations, {
        values: [isoTime(at), limit],
        limit,
      }),
    /** Reports the duration of each sale write in ms. The returned function ends the subscription. */
    onSaleWrite(onDuration: (ms: number) => void): () => void {
      durationListeners.add(onDuration);
      return () => void durationListeners.delete(onDuration);
    },
    /** Share of the queue for new writes that is in use, 0 to 1. */
    queueUtilization: (): number =>
      Math.min(1, Math.max(saleWrites.waiting(), operationUpdates.waiting()) / maxQueuedWrites),
    async flush(): Promise<void> {
      const queues = [saleWrites, operationUpdates, transactionReads];
      await Promise.all(queues.map((queue) => queue.drain()));
    },
  };
}

export type TransactionRepository = ReturnType<typeof createTransactionRepository>;

/** Enough entries for some seconds of sales; each saves one read from the database. */
const defaultMaxEntries = 4096;

/** @example const recent = createRecentTransactions(); recent.add(transaction); */
export function createRecentTransactions(maxEntries = defaultMaxEntries) {
  const entries = createMemoryReleasingMap<TransactionRecord>();
  return {
    add(transaction: TransactionRecord): void {
      const { transactionId, version } = transaction.row;
      entries.delete(transactionId);
      if (transaction.events.length !== version) return;
      entries.set(transactionId, transaction);
      const oldest = entries.size() > maxEntries ? entries.oldest() : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
    find(organizationId: string, transactionId: string, minEventCount: number) {
      const transaction = entries.get(transactionId);
      if (transaction?.row.organizationId !== organizationId) return undefined;
      return transaction.row.version >= minEventCount ? transaction : undefined;
    },
    remove: entries.delete,
  };
}

export type RecentTransactions = ReturnType<typeof createRecentTransactions>;
