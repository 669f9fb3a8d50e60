// Checks the ledger of an organisation against the invariants I1 to I9 and against the host.
import assert from 'node:assert/strict';
import { eventDefinitions } from '@switchyard/contract';
import { numericOf } from '@switchyard/money';
import { Check } from 'typebox/value';
import {
  applyPositionChanges,
  deriveState,
  isApprovedPhase,
  type Position,
  remainingAuthorized,
  zeroAmounts,
} from '../../../src/payments/transaction/state-machine.ts';
import type { EventData, OperationDetails } from '../../../src/payments/transaction/transaction.ts';
import type { Database, Queries } from '../../../src/platform/index.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

type Event = { sequence: number; type: string; data: EventData };
type Operation = {
  operationNumber: number;
  operationId: string;
  kind: 'Capture' | 'Refund' | 'Cancel' | 'Reversal';
  status: string;
  amount: number;
  details: OperationDetails;
};
export type TransactionLedger = {
  transactionId: string;
  merchantId: string;
  contractId: string;
  state: string;
  currency: string;
  amount: number;
  overCapture: number;
  version: number;
  operationCount: number;
  position: Position;
  events: Event[];
  operations: Operation[];
};

const settleLimitMs = 120_000;
const openWorkMax = 60;

/** The organisation to check; `database` is set if its ledger is not in the shared database. */
export type LedgerSource = Pick<TestOrganization, 'organizationId'> & {
  readonly database?: Database;
};

const databaseOf = async ({ database }: LedgerSource): Promise<Database> =>
  database ?? (await testDatabase());

/** Work in progress: payments, operations with their jobs, batch captures. */
const selectOpen = `SELECT json_build_object('transaction', transaction_id, 'state', state,
    'phase', phase, 'amount', amount, 'updatedAt', updated_at) AS open
  FROM transactions WHERE organization_id = $1
    AND (state IN ('Received', 'Stored', 'Reversing') OR phase = 'AwaitingConfirmation')
  UNION ALL SELECT json_build_object('transaction', transaction_id, 'operationNumber', operation_number,
    'kind', kind, 'status', status, 'amount', amount, 'updatedAt', updated_at)
  FROM operations WHERE organization_id = $1 AND status IN ('Sent', 'Pending')
  UNION ALL SELECT json_build_object('batch', batch_id, 'updatedAt', updated_at)
  FROM capture_batches WHERE organization_id = $1 AND state = 'Running'`;

const selectJobsAndEvents = `SELECT json_build_object('job', kind, 'payload', payload, 'dueAt', due_at,
    'attempts', attempts, 'leaseUntil', lease_until, 'error', last_error) AS open
  FROM jobs WHERE organization_id = $1
  UNION ALL SELECT json_build_object('transaction', transaction_id, 'event', type, 'at', at,
    'sequence', sequence) FROM transaction_events
  WHERE organization_id = $1 AND transaction_id = ANY($2)`;

type OpenWork = { open: { transaction?: string } };

/**
 * Waits until no work is in progress; after the limit the error lists it with its jobs and events.
 */
export async function waitUntilSettled(source: LedgerSource): Promise<void> {
  const database = await databaseOf(source);
  const { organizationId } = source;
  let open: OpenWork[] = [];
  const isSettled = async () => {
    open = await database.query<OpenWork>(selectOpen, [organizationId]);
    return open.length === 0 ? true : undefined;
  };
  const describeOpenWork = async () => {
    const ids = open.flatMap(({ open: { transaction } }) => transaction ?? []);
    const jobsAndEvents = await database.query<OpenWork>(selectJobsAndEvents, [
      organizationId,
      ids,
    ]);
    const lines = [...open, ...jobsAndEvents]
      .slice(0, openWorkMax)
      .map((row) => JSON.stringify(row.open));
    return `everything to be settled:\n${lines.join('\n')}`;
  };
  await until(isSettled, describeOpenWork, settleLimitMs);
}

/** Every transaction of an organisation as the database stores it. */
export async function readLedgers(source: LedgerSource): Promise<TransactionLedger[]> {
  const database = await databaseOf(source);
  const rows = await database.query<Omit<TransactionLedger, 'position'> & Position>(
    `SELECT transaction_id AS "transactionId", merchant_id AS "merchantId",
      contract_id AS "contractId", state, currency, amount, over_capture_allowance AS "overCapture", version,
      operation_count AS "operationCount", phase, authorized, captured, cancelled, refunded,
      capture_reserved AS "captureReserved", cancel_reserved AS "cancelReserved",
      refund_reserved AS "refundReserved",
      (SELECT json_agg(json_build_object('sequence', sequence, 'type', type, 'data', data)
        ORDER BY sequence) FROM transaction_events e WHERE e.bucket = t.bucket
        AND e.transaction_id = t.transaction_id) AS events,
      coalesce((SELECT json_agg(json_build_object('operationNumber', operation_number, 'operationId', operation_id,
        'kind', kind, 'status', status, 'amount', amount, 'details', details) ORDER BY operation_number)
        FROM operations o WHERE o.bucket = t.bucket
        AND o.transaction_id = t.transaction_id), '[]') AS operations
    FROM transactions t WHERE organization_id = $1`,
    [source.organizationId],
  );
  return rows.map(({ phase, authorized, captured, cancelled, refunded, ...row }) => {
    const { captureReserved, cancelReserved, refundReserved, ...rest } = row;
    const reserved = { captureReserved, cancelReserved, refundReserved };
    const position = { phase, authorized, captured, cancelled, refunded, ...reserved };
    return { ...rest, position };
  });
}

/** Checks I1 and I2. */
function assertBounds(
  { position, overCapture, transactionId }: TransactionLedger,
  totals: Position,
): void {
  const { authorized, captured, cancelled, refunded } = totals;
  const { captureReserved, cancelReserved, refundReserved } = totals;
  const message = `${transactionId} ${JSON.stringify(totals)} of ${JSON.stringify(position)}`;
  assert.ok(refunded >= 0 && refundReserved >= 0, message);
  assert.ok(refunded + refundReserved <= captured, `I1 ${message}`);
  const usedAmount = captured + captureReserved + cancelled + cancelReserved;
  assert.ok(usedAmount <= authorized + overCapture, `I2 ${message}`);
}

/** I4 and I7: the event sequence has no gap, and replaying its changes gives the stored state. */
function assertReplay(ledger: TransactionLedger): void {
  const { events, transactionId } = ledger;
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, index) => index + 1),
    `I4 ${transactionId}`,
  );
  assert.equal(ledger.version, events.length, `I4 ${transactionId}`);
  let position: Position = { phase: 'Received', ...zeroAmounts };
  for (const { data, type } of events) {
    position = applyPositionChanges(position, data.changes);
    assertBounds(ledger, position);
    assert.equal(data.state, deriveState(position), `I7 ${transactionId} ${type}`);
  }
  assert.deepEqual(position, ledger.position, `I7 ${transactionId}`);
  assert.equal(ledger.state, deriveState(position), `I7 ${transactionId}`);
}

const terminal = new Set(['Succeeded', 'Declined', 'Failed']);

/** I6: an operation ends once, and its row has the final status. */
function assertEnds({
  events,
  operations,
  operationCount,
  transactionId,
}: TransactionLedger): void {
  assert.deepEqual(
    operations.map(({ operationNumber }) => operationNumber),
    operations.map((_, index) => index + 1),
    transactionId,
  );
  assert.equal(operationCount, operations.length, transactionId);
  for (const { operationId, status } of operations) {
    const eventOperations = events
      .map(({ data }) => data.operation)
      .filter((each) => each?.operationId === operationId)
      .map((each) => String(each?.status));
    const ends = eventOperations.filter((each) => terminal.has(each));
    assert.ok(ends.length <= 1, `I6 ${transactionId} ${eventOperations}`);
    assert.equal(eventOperations.at(-1), status, `I6 ${transactionId} ${eventOperations}`);
  }
}

type Sums = { captured: number; refunded: number; cancelled: number };

const approvals: ReadonlySet<string> = new Set(['Approved', 'AwaitingConfirmation']);

/** The sums of the sale and its operations, calculated without the stored amounts. */
function sumsOf({ events, operations, position }: TransactionLedger): Sums {
  const sums: Sums = { captured: 0, refunded: 0, cancelled: 0 };
  const facts = events[0]?.data.context;
  const approval = events.find(({ data }) => approvals.has(data.changes.phase ?? ''))?.data;
  const isSale = facts?.kind === 'Sale' || facts?.kind === 'OfflineSale';
  if (isSale) sums.captured += approval?.amount ?? 0;
  for (const { kind, status, amount, details } of operations) {
    if (status !== 'Succeeded') continue;
    if (kind === 'Capture') sums.captured += amount;
    if (kind === 'Capture') sums.cancelled += details.releasedAmount ?? 0;
    if (kind === 'Refund') sums.refunded += amount;
    // A sale without a known approval has no amount to cancel.
    if (position.authorized === 0 || (kind !== 'Cancel' && kind !== 'Reversal')) continue;
    sums.cancelled += amount;
    // The reversal of an unconfirmed sale also reverses its capture.
    if (kind === 'Reversal' && isSale) sums.captured -= amount;
  }
  return sums;
}

function assertSums(ledger: TransactionLedger): void {
  const { captured, refunded, cancelled } = ledger.position;
  assert.deepEqual(
    sumsOf(ledger),
    { captured, refunded, cancelled },
    `sums ${ledger.transactionId}`,
  );
  const open = ledger.operations.filter(({ status }) => !terminal.has(status));
  const sum = (kind: string) =>
    open.reduce((all, each) => all + (each.kind === kind ? each.amount : 0), 0);
  const released = open.reduce((all, { details }) => all + (details.releasedAmount ?? 0), 0);
  assert.equal(ledger.position.captureReserved, sum('Capture'), ledger.transactionId);
  assert.equal(ledger.position.cancelReserved, sum('Cancel') + released, ledger.transactionId);
  assert.equal(ledger.position.refundReserved, sum('Refund'), ledger.transactionId);
}

/** I5: the debits of operations equal the credits of transactions in each currency. */
function assertDoubleEntry(ledgers: readonly TransactionLedger[]): void {
  const balances = new Map<string, number>();
  const post = (currency: string, account: string, amount: number) => {
    for (const key of [`${currency} ${account}`, `${currency} all`]) {
      balances.set(key, (balances.get(key) ?? 0) + amount);
    }
  };
  for (const ledger of ledgers) {
    const { currency, position } = ledger;
    const { captured, refunded } = sumsOf(ledger);
    post(currency, 'acquirer', captured - refunded);
    post(currency, 'merchant', -(position.captured - position.refunded));
  }
  for (const [key, balance] of balances) {
    if (key.endsWith(' all')) assert.equal(balance, 0, `I5 ${key}`);
  }
}

/** Each message of a merchant has unique numbers, so that the host can distinguish messages. */
function assertReferences(ledgers: readonly TransactionLedger[]): void {
  const seenReferences = new Set<string>();
  for (const { contractId, events, operations } of ledgers) {
    const references = operations.map(({ details }) => details.reference);
    const sale = events[0]?.data.context?.reference;
    for (const each of sale === undefined ? references : [sale, ...references]) {
      const key = `${contractId} ${each.terminalId} ${each.stan} ${each.transmittedAt.slice(0, 4)}`;
      assert.ok(!seenReferences.has(key), `a trace number twice: ${key}`);
      seenReferences.add(key);
    }
  }
}

/** The outbox kinds of transaction events; other modules have other kinds. */
const ofTransactions = "(o.kind LIKE 'transaction.%' OR o.kind LIKE 'offline.%')";

/**
 * Transaction events that were not published, were published twice, or were published but not
 * stored.
 */
const selectMismatches = `SELECT e.type, e.sequence, f.type AS "publishedType", count(*)::int AS times FROM (
    SELECT * FROM transaction_events
    WHERE organization_id = $1 AND type <> 'transaction.received') e
  FULL JOIN (SELECT * FROM feed_events WHERE organization_id = $1
      AND (type LIKE 'transaction.%' OR type LIKE 'offline.%')) f
    ON f.subject_id = e.transaction_id::text AND f.sequence = e.sequence AND f.type = e.type
  GROUP BY e.transaction_id, e.type, e.sequence, f.subject_id, f.type
  HAVING count(*) <> 1 OR e.type IS NULL OR f.type IS NULL`;

type EventMismatch = { readonly type: string | null; readonly publishedType: string | null };

/**
 * I8 as far as a reader sees it: each outbox row is a stored event, and each event is published
 * once.
 */
async function assertOutbox(source: LedgerSource): Promise<void> {
  const { organizationId } = source;
  const database = await databaseOf(source);
  const isEmptied = async () => {
    const unknownTransactions = await database.query(
      `SELECT 1 FROM outbox o LEFT JOIN transaction_events e
          ON e.bucket = o.bucket AND e.transaction_id = o.subject_id
            AND e.sequence = o.sequence AND e.type = o.kind
        WHERE o.organization_id = $1 AND ${ofTransactions} AND e.sequence IS NULL`,
      [organizationId],
    );
    assert.equal(unknownTransactions.length, 0, 'I8');
    const [row] = await database.query<{ left: number }>(
      'SELECT count(*)::int AS left FROM outbox WHERE organization_id = $1',
      [organizationId],
    );
    return row?.left === 0 ? true : undefined;
  };
  let mismatches: readonly EventMismatch[] = [];
  const isPublished = async () => {
    await until(isEmptied, 'the outbox to be emptied', settleLimitMs);
    mismatches = await database.query<EventMismatch>(selectMismatches, [organizationId]);
    // The event was committed after the outbox was empty, so its publication is still pending.
    return mismatches.some(({ publishedType }) => publishedType === null) ? undefined : true;
  };
  const describeUnpublished = () => `events to be published: ${JSON.stringify(mismatches)}`;
  await until(isPublished, describeUnpublished, settleLimitMs);
  assert.deepEqual(mismatches, [], 'I8: each event is published once');
  await assertPublished(database, organizationId);
}

/** Published events match their definition in the catalogue, and their positions have no gap. */
async function assertPublished(database: Queries, organizationId: string) {
  const feedEvents = await database.query<{ position: number; type: string; body: string }>(
    'SELECT position, type, body FROM feed_events WHERE organization_id = $1 ORDER BY position',
    [organizationId],
  );
  for (const { type, body } of feedEvents) {
    const definition = eventDefinitions.get(type);
    assert.ok(definition, `${type} is not in the catalogue`);
    const { data, ...head } = JSON.parse(body);
    assert.equal(head.type, type);
    assert.ok(Check(definition.data, data), body);
  }
}

/** The totals of each merchant and currency equal the totals of the host. */
async function assertHost(
  source: LedgerSource & Pick<TestOrganization, 'host'>,
  ledgers: readonly TransactionLedger[],
) {
  const database = await databaseOf(source);
  const contracts = await database.query<{ contractId: string; merchantNumber: string }>(
    `SELECT contract_id AS "contractId", acquirer_merchant_id AS "merchantNumber"
      FROM acquirer_contracts WHERE organization_id = $1`,
    [source.organizationId],
  );
  const numbers = new Map(contracts.map((each) => [each.contractId, each.merchantNumber]));
  type Totals = { captured: number; refunded: number; openHolds: number };
  const nothing = (): Totals => ({ captured: 0, refunded: 0, openHolds: 0 });
  const ownTotals = new Map<string, Totals>();
  for (const { contractId, currency, position } of ledgers) {
    const key = `${numbers.get(contractId)} ${currency}`;
    const totals = ownTotals.get(key) ?? nothing();
    totals.captured += position.captured;
    totals.refunded += position.refunded;
    if (isApprovedPhase(position)) totals.openHolds += remainingAuthorized(position);
    ownTotals.set(key, totals);
  }
  const hostTotals = source.host.ledger().totals;
  for (const [key, totals] of ownTotals) {
    const [merchant, currency = ''] = key.split(' ');
    const hostTotal = hostTotals.find(
      (each) => each.merchant === merchant && each.currency === numericOf(currency),
    );
    const { captured, refunded, openHolds } = hostTotal ?? nothing();
    assert.deepEqual(totals, { captured, refunded, openHolds }, `the host's totals of ${key}`);
  }
}

/** Waits until all work is done, then checks everything that needs no API call. */
export async function assertAgreement(
  source: LedgerSource & Pick<TestOrganization, 'host'>,
): Promise<readonly TransactionLedger[]> {
  await waitUntilSettled(source);
  const ledgers = await readLedgers(source);
  for (const ledger of ledgers) {
    assertReplay(ledger);
    assertEnds(ledger);
    assertSums(ledger);
  }
  assertDoubleEntry(ledgers);
  assertReferences(ledgers);
  await assertOutbox(source);
  await assertHost(source, ledgers);
  return ledgers;
}
