// Transaction repository. Each write is one statement with a version check, in a group commit.
import { CompiledQuery, type Kysely } from 'kysely';
import type { Clock, Database, HotStatement, Ids } from '../../platform/index.ts';
import { createGroupCommit, isoTime } from '../../platform/index.ts';
import type {
  StoredEvent,
  TransactionChange,
  TransactionRecord,
  TransactionRow,
} from '../transaction/transaction.ts';
import { type TransactionResultRow, toTransactionRecord } from './transaction-mapper.ts';
import * as statements from './transaction-sql.ts';

export type TransactionRepository = {
  /** Makes the intent durable. False where the client's identifier is taken. */
  insert(row: TransactionRow, event: StoredEvent): Promise<boolean>;
  /** Commits one change. False when another request changed the transaction first. */
  update(change: TransactionChange): Promise<boolean>;
  /** Commits a change with an operation and further writes in one database transaction. */
  updateWith(
    change: TransactionChange,
    writeAlso: (trx: Kysely<unknown>) => Promise<void>,
  ): Promise<boolean>;
  findById(organizationId: string, transactionId: string): Promise<TransactionRecord | undefined>;
  /**
   * At most a few: each merchant may use a client identifier once. The transaction has another identifier
   * when it is an offline sale that was uploaded again under this one.
   */
  findByClientId(
    organizationId: string,
    clientTransactionId: string,
    merchantId?: string,
  ): Promise<TransactionRecord[]>;
  findOperation(key: {
    organizationId: string;
    merchantId: string;
    kind: string;
    clientOperationId: string;
  }): Promise<{ transactionId: string; operationNumber: number } | undefined>;
  /** Sales whose deadline has passed without an outcome. */
  findSalesWithoutOutcome(limit: number): Promise<TransactionKey[]>;
  findOperationsWithoutOutcome(
    limit: number,
  ): Promise<(TransactionKey & { operationNumber: number })[]>;
  /** Sales with a remaining amount whose authorization has expired at this time (epoch ms). */
  findExpiredAuthorizations(at: number, limit: number): Promise<TransactionKey[]>;
  /** Reports the duration of each sale write in ms. The returned function ends the subscription. */
  onSaleWrite(onDuration: (ms: number) => void): () => void;
  /** Share of the write queue that is in use, 0 to 1. */
  queueUtilization(): number;
  flush(): Promise<void>;
};

export type TransactionKey = { organizationId: string; transactionId: string };

/** By the server's identifier, or by the client's and the merchant. */
type TransactionLookup = {
  organizationId: string;
  transactionId: string | null;
  clientTransactionId: string | null;
  merchantId: string | null;
};

/** A second operation with the client's identifier of a first. */
export class DuplicateOperationId extends Error {}

function throwDuplicateId(error: unknown): never {
  throw isUniqueViolation(error) ? new DuplicateOperationId() : error;
}

const uniqueViolation = '23505';
const maxMatches = 20;
/** Limit of queued writes. In load tests a few hundred wait at the saturation point. */
const maxQueuedWrites = 5000;

function isUniqueViolation(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error
    ? error.code === uniqueViolation
    : false;
}

const transactionKey = (row: TransactionKey) => row.organizationId + row.transactionId;

type Deps = { database: Database; ids: Ids; clock: Clock };

/** @example const store = createStore({ database, ids, clock }); */
export function createTransactionRepository({ database, ids, clock }: Deps): TransactionRepository {
  const inserts = createGroupCommit<{ row: TransactionRow; event: StoredEvent }, boolean>({
    name: 'payments-insert',
    queueLimit: maxQueuedWrites,
    // The unique key of the client's identifier is what two batches could fight over.
    key: ({ row }) => `${row.organizationId}${row.clientTransactionId}${row.merchantId}`,
    run: async (rows) => {
      const batch = rows.map(({ row, event }) => statements.toInsertRow(row, event));
      const insertedRows = await database.hot(statements.insertTransaction, [
        JSON.stringify(batch),
      ]);
      const inserted = new Set(insertedRows.map((each) => (each as { id: string }).id));
      return rows.map(({ row }) => inserted.has(row.transactionId));
    },
  });

  const createUpdateQueue = (name: string, statement: HotStatement) =>
    createGroupCommit<TransactionChange, boolean>({
      name,
      queueLimit: maxQueuedWrites,
      key: ({ after }) => transactionKey(after),
      run: async (changes) => {
        const batch = changes.map((change, i) => statements.toUpdateRow(change, i, ids.uuid()));
        const insertedRows = await database.hot(statement, [JSON.stringify(batch)]);
        const updatedIndexes = new Set(insertedRows.map((each) => (each as { i: number }).i));
        return changes.map((_, i) => updatedIndexes.has(i));
      },
    });

  // Sale outcomes have their own queue, so that they do not wait behind batch captures.
  const outcomeUpdates = createUpdateQueue('payments-outcome', statements.updateWithEvent);
  const operationUpdates = createUpdateQueue('payments-operation', statements.updateWithOperation);
  const chooseUpdateQueue = ({ operation, job }: TransactionChange) =>
    operation === undefined && job === undefined ? outcomeUpdates : operationUpdates;

  const transactionReads = createGroupCommit<TransactionLookup, TransactionRecord | undefined>({
    name: 'payments-read',
    key: ({ organizationId, transactionId, clientTransactionId }) =>
      organizationId + (transactionId ?? clientTransactionId),
    sameKeyTogether: true,
    run: async (lookups) => {
      const records: (TransactionRecord | undefined)[] = lookups.map(() => undefined);
      const rows = await database.hot<TransactionResultRow & { i: number }>(
        statements.findTransactions,
        [
          lookups.map((each) => each.organizationId),
          lookups.map((each) => each.transactionId),
          lookups.map((each) => each.clientTransactionId),
          lookups.map((each) => each.merchantId),
        ],
      );
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
    insert: (row, event) => measureWrite(inserts.submit({ row, event })),
    update(change) {
      const queue = chooseUpdateQueue(change);
      const write = queue.submit(change);
      return (queue === outcomeUpdates ? measureWrite(write) : write).catch(throwDuplicateId);
    },
    updateWith(change, writeAlso) {
      const write = database.transaction(async (trx) => {
        const values = [JSON.stringify([statements.toUpdateRow(change, 0, ids.uuid())])];
        const { text } = statements.updateWithOperation;
        const updateResult = await trx.executeQuery(CompiledQuery.raw(text, values));
        if (updateResult.rows.length === 0) return false;
        await writeAlso(trx);
        return true;
      });
      return write.catch(throwDuplicateId);
    },
    findById: (organizationId, transactionId) =>
      transactionReads.submit({
        organizationId,
        transactionId,
        clientTransactionId: null,
        merchantId: null,
      }),
    async findByClientId(organizationId, clientTransactionId, merchantId) {
      if (merchantId !== undefined) {
        const lookup = { organizationId, transactionId: null, clientTransactionId, merchantId };
        return [await transactionReads.submit(lookup)].filter((each) => each !== undefined);
      }
      const values = [organizationId, clientTransactionId, maxMatches];
      return (
        await database.hot<TransactionResultRow>(statements.findTransactionsByClientId, values)
      ).map(toTransactionRecord);
    },
    async findOperation({ organizationId, merchantId, kind, clientOperationId }) {
      const [row] = await database.hot(statements.findOperation, [
        organizationId,
        clientOperationId,
        merchantId,
        kind,
      ]);
      if (row === undefined) return undefined;
      const { transaction_id: transactionId, operation_number: operationNumber } = row as {
        transaction_id: string;
        operation_number: number;
      };
      return { transactionId, operationNumber };
    },
    async findSalesWithoutOutcome(limit) {
      const rows = await database.hot(statements.selectSalesWithoutOutcome, [limit]);
      return rows.map((row) => {
        const each = row as { organization_id: string; transaction_id: string };
        return { organizationId: each.organization_id, transactionId: each.transaction_id };
      });
    },
    async findOperationsWithoutOutcome(limit) {
      const rows = await database.hot(statements.selectOperationsWithoutOutcome, [limit]);
      return rows.map((row) => {
        const each = row as {
          organization_id: string;
          transaction_id: string;
          operation_number: number;
        };
        return {
          organizationId: each.organization_id,
          transactionId: each.transaction_id,
          operationNumber: each.operation_number,
        };
      });
    },
    async findExpiredAuthorizations(at, limit) {
      const rows = await database.hot(statements.selectExpiredAuthorizations, [isoTime(at), limit]);
      return rows.map((row) => {
        const each = row as { organization_id: string; transaction_id: string };
        return { organizationId: each.organization_id, transactionId: each.transaction_id };
      });
    },
    onSaleWrite(onDuration) {
      durationListeners.add(onDuration);
      return () => void durationListeners.delete(onDuration);
    },
    queueUtilization: () =>
      Math.max(...[inserts, outcomeUpdates, operationUpdates].map((queue) => queue.waiting())) /
      maxQueuedWrites,
    async flush() {
      await Promise.all(
        [inserts, outcomeUpdates, operationUpdates, transactionReads].map((queue) => queue.drain()),
      );
    },
  };
}
