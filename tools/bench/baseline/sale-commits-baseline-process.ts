// The baseline, a process of its own: `pg` doing the two commits of a sale, one statement each, and no more.
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import * as statements from '../../../packages/server/src/payments/repository/transaction-write-sql.ts';
import type {
  AuthorizationContext,
  EventData,
  StoredEvent,
  TransactionChange,
  TransactionRow,
} from '../../../packages/server/src/payments/transaction/transaction.ts';
import {
  bucketOf,
  createLog,
  isoTime,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import { offerFunctions } from '../bench-process.ts';
import { migrations } from '../environment/platform.ts';
import { type CallersRun, measureCallers } from './measure-callers.ts';

const deadlineMs = 15_000;
const devices = Array.from({ length: 512 }, () => randomUUID());
const organizationId = randomUUID();
const merchantId = randomUUID();
const storeId = randomUUID();
const contractId = randomUUID();
const linkId = randomUUID();

/** What a session of the server's hot pool has set for itself: its planner and its limits. */
const ownSettings = {
  name: 'bench-own-settings',
  text: `SELECT name, setting FROM pg_settings WHERE source = 'client'
    AND name NOT IN ('application_name', 'client_encoding')`,
};

type BaselineOptions = { url: string; postgresPid: number };
type Opened = BaselineOptions & { options: string };

/** Makes the tables and learns the settings of the hot pool from the pool itself, so that both are alike. */
async function open({ url, postgresPid }: BaselineOptions): Promise<Opened> {
  const log = createLog({ logLevel: 'silent', instanceName: 'bench' });
  const database = openDatabase({ url, log });
  await migrate(database, migrations, { log, clock: systemClock, ids: systemIdGenerator });
  const settings = await database.hot<{ name: string; setting: string }>(ownSettings, []);
  await database.close();
  const options = settings.map(({ name, setting }) => `-c ${name}=${setting}`).join(' ');
  return { url, postgresPid, options };
}

/** The authorization context of a keyed sale, as the payments module stores it. */
function createContext(number: number): AuthorizationContext {
  const trace = String(number % 1_000_000).padStart(6, '0');
  return {
    captureMode: 'Immediate',
    entryMode: 'Keyed',
    card: { scheme: 'Visa', maskedNumber: '411111******1111', token: merchantId },
    request: {
      amount: 1234,
      currency: 'EUR',
      entryMode: 'Keyed',
      storeId,
      deviceId: devices[number % devices.length],
      instrument: merchantId,
    },
    linkId,
    acquirerMerchantId: 'BENCH0000000001',
    merchantName: 'Bench merchant 1',
    mcc: '5411',
    timeZone: 'Europe/Paris',
    kind: 'Sale',
    reference: {
      mti: '0200',
      terminalId: 'BNCH0001',
      stan: trace,
      rrn: `601210${trace}`,
      transmittedAt: '0112101530',
      localTime: '111530',
      localDate: '0112',
    },
    partialApproval: false,
  };
}

function intent(number: number): { row: TransactionRow; event: StoredEvent } {
  const now = systemClock.now();
  const at = isoTime(now);
  const amounts = { authorized: 0, captured: 0, cancelled: 0, refunded: 0 };
  const reserved = { captureReserved: 0, cancelReserved: 0, refundReserved: 0 };
  const row: TransactionRow = {
    organizationId,
    transactionId: systemIdGenerator.uuid(bucketOf(merchantId)),
    merchantId,
    clientTransactionId: randomUUID(),
    storeId,
    deviceId: devices[number % devices.length],
    contractId,
    amount: 1234,
    currency: 'EUR',
    overCaptureAllowance: 0,
    position: { phase: 'Received', ...amounts, ...reserved },
    state: 'Received',
    version: 1,
    operationCount: 0,
    deadline: now + deadlineMs,
    createdAt: at,
    updatedAt: at,
  };
  const data: EventData = {
    state: 'Received',
    changes: { phase: 'Received' },
    amount: 1234,
    context: createContext(number),
  };
  return { row, event: { sequence: 1, type: 'transaction.received', at, data } };
}

function outcome(before: TransactionRow): TransactionChange {
  const at = isoTime(systemClock.now());
  const changes = { phase: 'Approved', authorized: 1234, captured: 1234 } as const;
  const data: EventData = {
    amount: 1234,
    response: { code: '00' },
    authorizationCode: '123456',
    state: 'Captured',
    changes,
  };
  const after: TransactionRow = {
    ...before,
    position: { ...before.position, ...changes },
    state: 'Captured',
    version: 2,
    updatedAt: at,
  };
  return { before, after, event: { sequence: 2, type: 'transaction.captured', at, data } };
}

async function commit(
  pool: pg.Pool,
  { name, text }: { name: string; text: string },
  row: unknown,
): Promise<void> {
  const { rowCount } = await pool.query({ name, text, values: [JSON.stringify([row])] });
  if (rowCount !== 1) throw new Error(`${name} wrote ${rowCount} rows`);
}

async function sale(pool: pg.Pool, number: number): Promise<void> {
  const { row, event } = intent(number);
  await commit(pool, statements.insertTransaction, statements.toInsertRow(row, event));
  const change = outcome(row);
  const outcomeRow = statements.toUpdateRow(change, systemIdGenerator.uuid());
  await commit(pool, statements.updateWithEvent, outcomeRow);
}

let opened: Opened | undefined;

const functions = {
  async open(options: BaselineOptions): Promise<void> {
    opened = await open(options);
  },
  /** Runs each number of callers for these seconds. */
  async run(seconds: number): Promise<CallersRun[]> {
    if (opened === undefined) throw new Error('the baseline is not open');
    const { url, postgresPid, options } = opened;
    return measureCallers({
      connection: { connectionString: url, options },
      postgresPid,
      seconds,
      // The server empties its outbox continuously; this one is emptied between the runs.
      prepare: (pool) => pool.query('TRUNCATE outbox'),
      sale,
    });
  },
};
export type SaleCommitsBaselineFunctions = typeof functions;

offerFunctions(functions);
