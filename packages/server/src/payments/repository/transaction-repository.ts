// The SQL of the payments room: each write is one guarded statement, batched with its neighbours.
import { CompiledQuery, type Kysely } from 'kysely';
import type { Clock, Database, HotStatement, Ids } from '../../platform/index.ts';
import { createGroupCommit, isoTime } from '../../platform/index.ts';
import type {
  Change,
  LoadedTransaction,
  StoredEvent,
  TransactionRow,
} from '../transaction/transaction.ts';
import { type LoadedRow, toLoaded } from './transaction-mapper.ts';
import * as statements from './transaction-sql.ts';

export type Store = {
  /** Makes the intent durable. False where the client's identifier is taken. */
  begin(row: TransactionRow, event: StoredEvent): Promise<boolean>;
  /** Makes one change durable. False where somebody was faster. */
  commit(change: Change): Promise<boolean>;
  /** The same of a change with an operation, with what else is durable with it, or not at all. */
  commitBeside(change: Change, beside: (trx: Kysely<unknown>) => Promise<void>): Promise<boolean>;
  findById(organizationId: string, transactionId: string): Promise<LoadedTransaction | undefined>;
  /** At most a few: one client identifier may stand once for each merchant. */
  findByClientId(
    organizationId: string,
    clientTransactionId: string,
    merchantId?: string,
  ): Promise<LoadedTransaction[]>;
  findOperation(key: {
    organizationId: string;
    merchantId: string;
    kind: string;
    clientOperationId: string;
  }): Promise<{ transactionId: string; number: number } | undefined>;
  /** Sales whose deadline has passed without an outcome. */
  unansweredSales(limit: number): Promise<TransactionKey[]>;
  unansweredOperations(limit: number): Promise<(TransactionKey & { number: number })[]>;
  /** Sales of which something is open although its time is over at a moment, epoch ms. */
  lapsedHolds(at: number, limit: number): Promise<TransactionKey[]>;
  /** Tells of each write of a sale how long it took, ms, until what it gives is called. */
  watchSales(note: (ms: number) => void): () => void;
  /** Writes that wait for a lane, as a share of what may wait. */
  pressure(): number;
  drain(): Promise<void>;
};

export type TransactionKey = { organizationId: string; transactionId: string };

/** By the server's identifier, or by the client's and the merchant. */
type Wanted = {
  organizationId: string;
  transactionId: string | null;
  clientTransactionId: string | null;
  merchantId: string | null;
};

/** A second operation with the client's identifier of a first. */
export class OperationIdTaken extends Error {}

function tellTaken(error: unknown): never {
  throw isUniqueViolation(error) ? new OperationIdTaken() : error;
}

const uniqueViolation = '23505';
const matchesMax = 20;
/** Writes that may wait; at the bench's knee a few hundred do. */
const queueMax = 5000;

function isUniqueViolation(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error
    ? error.code === uniqueViolation
    : false;
}

const sortKey = (row: TransactionKey) => row.organizationId + row.transactionId;

type Deps = { database: Database; ids: Ids; clock: Clock };

/** @example const store = createStore({ database, ids, clock }); */
export function createStore({ database, ids, clock }: Deps): Store {
  const begins = createGroupCommit<{ row: TransactionRow; event: StoredEvent }, boolean>({
    name: 'payments-begin',
    queueLimit: queueMax,
    // The unique key of the client's identifier is what two batches could fight over.
    key: ({ row }) => `${row.organizationId}${row.clientTransactionId}${row.merchantId}`,
    run: async (rows) => {
      const batch = rows.map(({ row, event }) => statements.beginRow(row, event));
      const made = await database.hot(statements.begin, [JSON.stringify(batch)]);
      const inserted = new Set(made.map((each) => (each as { id: string }).id));
      return rows.map(({ row }) => inserted.has(row.transactionId));
    },
  });

  const commitsBy = (name: string, statement: HotStatement) =>
    createGroupCommit<Change, boolean>({
      name,
      queueLimit: queueMax,
      key: ({ after }) => sortKey(after),
      run: async (changes) => {
        const batch = changes.map((change, i) => statements.commitRow(change, i, ids.uuid()));
        const made = await database.hot(statement, [JSON.stringify(batch)]);
        const done = new Set(made.map((each) => (each as { i: number }).i));
        return changes.map((_, i) => done.has(i));
      },
    });

  // Outcomes of sales go in lanes of their own: they are cheaper, and do not wait behind batches of captures.
  const outcomes = commitsBy('payments-outcome', statements.commitEvent);
  const operations = commitsBy('payments-operation', statements.commitOperation);
  const laneOf = ({ operation, job }: Change) =>
    operation === undefined && job === undefined ? outcomes : operations;

  const reads = createGroupCommit<Wanted, LoadedTransaction | undefined>({
    name: 'payments-read',
    key: ({ organizationId, transactionId, clientTransactionId }) =>
      organizationId + (transactionId ?? clientTransactionId),
    sameKeyTogether: true,
    run: async (all) => {
      const found: (LoadedTransaction | undefined)[] = all.map(() => undefined);
      const rows = await database.hot<LoadedRow & { i: number }>(statements.find, [
        all.map((each) => each.organizationId),
        all.map((each) => each.transactionId),
        all.map((each) => each.clientTransactionId),
        all.map((each) => each.merchantId),
      ]);
      for (const row of rows) found[row.i - 1] = toLoaded(row);
      return found;
    },
  });

  const watchers = new Set<(ms: number) => void>();
  function watched(write: Promise<boolean>): Promise<boolean> {
    if (watchers.size === 0) return write;
    const from = clock.now();
    const note = () => {
      for (const watcher of watchers) watcher(clock.now() - from);
    };
    write.then(note, note);
    return write;
  }

  return {
    begin: (row, event) => watched(begins.submit({ row, event })),
    commit(change) {
      const lane = laneOf(change);
      const write = lane.submit(change);
      return (lane === outcomes ? watched(write) : write).catch(tellTaken);
    },
    commitBeside(change, beside) {
      const write = database.transaction(async (trx) => {
        const values = [JSON.stringify([statements.commitRow(change, 0, ids.uuid())])];
        const { text } = statements.commitOperation;
        const done = await trx.executeQuery(CompiledQuery.raw(text, values));
        if (done.rows.length === 0) return false;
        await beside(trx);
        return true;
      });
      return write.catch(tellTaken);
    },
    findById: (organizationId, transactionId) =>
      reads.submit({ organizationId, transactionId, clientTransactionId: null, merchantId: null }),
    async findByClientId(organizationId, clientTransactionId, merchantId) {
      if (merchantId !== undefined) {
        const one = { organizationId, transactionId: null, clientTransactionId, merchantId };
        return [await reads.submit(one)].filter((each) => each !== undefined);
      }
      const values = [organizationId, clientTransactionId, matchesMax];
      return (await database.hot<LoadedRow>(statements.findByClientId, values)).map(toLoaded);
    },
    async findOperation({ organizationId, merchantId, kind, clientOperationId }) {
      const [row] = await database.hot(statements.findOperation, [
        organizationId,
        clientOperationId,
        merchantId,
        kind,
      ]);
      if (row === undefined) return undefined;
      const { transaction_id: transactionId, number } = row as {
        transaction_id: string;
        number: number;
      };
      return { transactionId, number };
    },
    async unansweredSales(limit) {
      const rows = await database.hot(statements.unansweredSales, [limit]);
      return rows.map((row) => {
        const each = row as { organization_id: string; transaction_id: string };
        return { organizationId: each.organization_id, transactionId: each.transaction_id };
      });
    },
    async unansweredOperations(limit) {
      const rows = await database.hot(statements.unansweredOperations, [limit]);
      return rows.map((row) => {
        const each = row as { organization_id: string; transaction_id: string; number: number };
        return {
          organizationId: each.organization_id,
          transactionId: each.transaction_id,
          number: each.number,
        };
      });
    },
    async lapsedHolds(at, limit) {
      const rows = await database.hot(statements.lapsedHolds, [isoTime(at), limit]);
      return rows.map((row) => {
        const each = row as { organization_id: string; transaction_id: string };
        return { organizationId: each.organization_id, transactionId: each.transaction_id };
      });
    },
    watchSales(note) {
      watchers.add(note);
      return () => void watchers.delete(note);
    },
    pressure: () =>
      Math.max(...[begins, outcomes, operations].map((lane) => lane.waiting())) / queueMax,
    async drain() {
      await Promise.all([begins, outcomes, operations, reads].map((lane) => lane.drain()));
    },
  };
}
