// Updates reports with some payments, and counts each event once in one transaction.
import {
  type RecentTransactions,
  readTransactions,
  type TransactionRecord,
} from '../../payments/index.ts';
import { encodeSimpleArray, type Queries } from '../../platform/index.ts';
import { readQrPayments } from '../../qr/index.ts';
import { addAggregates } from './daily-aggregate-sql.ts';
import { addSumEntry, type DailyAggregates } from './daily-aggregates.ts';
import {
  currencyGroup,
  type DictionarySession,
  type PaymentGroupAndStateIds,
  requireIds,
} from './group-dictionary.ts';
import { type StoredPayment, writeLines } from './payment-line-sql.ts';
import { projectCardPayment } from './project-card-payment.ts';
import { projectQrPayment } from './project-qr-payment.ts';
import {
  markFrequentClassesSql,
  type SettlementSums,
  updateClassCountsSql,
  writeSettlements,
} from './projection-sql.ts';
import type {
  PaymentLine,
  ProjectedPayment,
  SettlementMovement,
} from './reported-payment-types.ts';

export type PaymentsToProject = {
  /** The minimum number of events of each payment, from the events in the feed. */
  readonly cards: ReadonlyMap<string, number>;
  readonly qr: readonly string[];
};

const everyEvent = Number.POSITIVE_INFINITY;

/** For payments without feed events: the server reads them from the database, not from memory. */
export const withoutFeedEvents = (cards: readonly string[]): PaymentsToProject['cards'] =>
  new Map(cards.map((id) => [id, everyEvent]));

type PaymentWithIds = ProjectedPayment &
  PaymentGroupAndStateIds & {
    readonly currencyGroupId: number;
    readonly existing: StoredPayment | undefined;
  };

/** The server does not read sales again that this process has committed. */
async function readCards(
  queries: Queries,
  { organizationId, recent }: Pick<ProjectionContext, 'organizationId' | 'recent'>,
  cards: PaymentsToProject['cards'],
): Promise<TransactionRecord[]> {
  const recentRecords: TransactionRecord[] = [];
  const missingIds: string[] = [];
  for (const [id, events] of cards) {
    const recentRecord = recent?.find(organizationId, id, events);
    // A run over all payments leaves the record in memory for the feed event of the payment.
    if (events !== everyEvent) recent?.remove(id);
    if (recentRecord === undefined) missingIds.push(id);
    else recentRecords.push(recentRecord);
  }
  return [...recentRecords, ...(await readTransactions(queries, organizationId, missingIds))];
}

async function readProjectedPayments(
  queries: Queries,
  context: Pick<ProjectionContext, 'organizationId' | 'recent'>,
  { cards, qr }: PaymentsToProject,
): Promise<ProjectedPayment[]> {
  const transactions = await readCards(queries, context, cards);
  const payments = await readQrPayments(queries, context.organizationId, qr);
  return [...transactions.map(projectCardPayment), ...payments.map(projectQrPayment)];
}

/** Counts the payments that have entered or left each class. */
function countClassChanges(
  changes: Map<number, number>,
  payments: readonly PaymentWithIds[],
): void {
  const change = (classId: number, difference: number) =>
    changes.set(classId, (changes.get(classId) ?? 0) + difference);
  for (const { existing, classId } of payments) {
    if (existing?.classId === classId) continue;
    if (existing !== undefined) change(existing.classId, -1);
    change(classId, 1);
  }
}

function addSumEntries(aggregates: DailyAggregates, payments: readonly PaymentWithIds[]): void {
  for (const { existing, entries, line, groupId, currencyGroupId } of payments) {
    const countedEvents = existing?.counted ?? 0;
    for (const [sequence, entry] of entries) {
      if (sequence <= countedEvents || sequence > line.version) continue;
      addSumEntry(aggregates, entry, line, { groupId, currencyGroupId });
    }
  }
}

const settlementColumnsByKind: Readonly<
  Record<SettlementMovement['kind'], readonly [string, string]>
> = {
  Capture: ['captures', 'captured'],
  Refund: ['refunds', 'refunded'],
  Reversal: ['reversals', 'reversed'],
  Pending: ['pending_captures', 'pending'],
};

type NewMovement = {
  readonly line: PaymentLine;
  readonly linkId: string;
  readonly movement: SettlementMovement;
};

/** The new movements of payments that have an acquirer link. */
function listNewMovements(payments: readonly PaymentWithIds[]): NewMovement[] {
  return payments.flatMap(({ existing, movements, line }) => {
    const { linkId, version } = line;
    if (linkId === undefined) return [];
    return [...movements]
      .filter(([sequence]) => sequence > (existing?.counted ?? 0) && sequence <= version)
      .flatMap(([, each]) => each.map((movement) => ({ line, linkId, movement })));
  });
}

type SettlementsByKey = Map<string, SettlementSums>;

function addSettlements(all: SettlementsByKey, movements: readonly NewMovement[]): void {
  for (const { line, linkId, movement } of movements) {
    const { merchantId, group } = line;
    const key = { date: movement.date, linkId, merchantId, currency: group.currency };
    const text = `${movement.date}|${linkId}|${merchantId}|${group.currency}`;
    const settlement = all.get(text) ?? { ...key, sums: new Map<string, bigint>() };
    all.set(text, settlement);
    const { sums } = settlement;
    const [countColumn, amountColumn] = settlementColumnsByKind[movement.kind];
    sums.set(countColumn, (sums.get(countColumn) ?? 0n) + BigInt(movement.count));
    sums.set(amountColumn, (sums.get(amountColumn) ?? 0n) + BigInt(movement.amount));
  }
}

/** The cells of one statement; between statements, other work of the process can run. */
const aggregatesPerStatement = 100;

async function writeAggregates(
  queries: Queries,
  organizationId: string,
  aggregates: DailyAggregates,
): Promise<void> {
  // In the order of the key, so that PostgreSQL fills the pages of the index one after the other.
  const sorted = [...aggregates].sort(([one], [other]) => (one < other ? -1 : 1));
  for (let from = 0; from < sorted.length; from += aggregatesPerStatement) {
    const part = sorted.slice(from, from + aggregatesPerStatement).map(([, cell]) => cell);
    await addAggregates(queries, organizationId, part);
  }
}

type ProjectionContext = {
  readonly organizationId: string;
  readonly dictionary: DictionarySession;
  readonly at: string;
  readonly recent: RecentTransactions | undefined;
};

/** Writes the lines of some payments, and returns their data for the sums. */
async function projectPart(
  queries: Queries,
  context: Omit<ProjectionContext, 'at'>,
  payments: PaymentsToProject,
): Promise<PaymentWithIds[]> {
  const { organizationId, dictionary } = context;
  const reported = await readProjectedPayments(queries, context, payments);
  if (reported.length === 0) return [];
  const lines = reported.map(({ line }) => line);
  const currencies = lines.map(({ group }) => ({
    group: currencyGroup(group.currency),
    state: '',
  }));
  const ids = await dictionary.assignIds(queries, [...lines, ...currencies]);
  const withIds = reported.map((each, index) => ({
    ...each,
    ...requireIds(ids[index], each.line),
    currencyGroupId: requireIds(ids[lines.length + index], each.line).groupId,
  }));
  const existingById = await writeLines(queries, organizationId, withIds);
  return withIds
    .map((each): PaymentWithIds => ({ ...each, existing: existingById.get(each.line.paymentId) }))
    .filter(({ line, existing }) => line.version > (existing?.counted ?? 0));
}

/** The payments of one statement; between statements, sales of the same process can run. */
const paymentsPerStatement = 100;

function* splitIntoParts({ cards, qr }: PaymentsToProject): Generator<PaymentsToProject> {
  const all = [...cards];
  for (let from = 0; from < all.length; from += paymentsPerStatement) {
    yield { cards: new Map(all.slice(from, from + paymentsPerStatement)), qr: [] };
  }
  for (let from = 0; from < qr.length; from += paymentsPerStatement) {
    yield { cards: new Map(), qr: qr.slice(from, from + paymentsPerStatement) };
  }
}

/**
 * Writes the current lines of payments, and counts their events that are not counted yet. A second
 * call, or a call with older data, changes nothing. The caller holds the lock of the organisation
 * and commits. Each sum is written once for all payments.
 */
export async function projectPayments(
  queries: Queries,
  context: ProjectionContext,
  payments: PaymentsToProject,
): Promise<void> {
  const { organizationId, at } = context;
  const aggregates: DailyAggregates = new Map();
  const changes = new Map<number, number>();
  const settlements: SettlementsByKey = new Map();
  for (const part of splitIntoParts(payments)) {
    const projected = await projectPart(queries, context, part);
    addSumEntries(aggregates, projected);
    countClassChanges(changes, projected);
    addSettlements(settlements, listNewMovements(projected));
  }
  const changed = [...changes].filter(([, delta]) => delta !== 0);
  if (changed.length > 0) {
    await queries.query(updateClassCountsSql, [
      organizationId,
      encodeSimpleArray(changed.map(([classId]) => classId)),
      encodeSimpleArray(changed.map(([, delta]) => delta)),
    ]);
    const frequent = await queries.query<{ classId: number }>(markFrequentClassesSql, [
      organizationId,
    ]);
    context.dictionary.addFrequentClasses(frequent.map(({ classId }) => classId));
  }
  await writeAggregates(queries, organizationId, aggregates);
  if (settlements.size > 0) {
    await writeSettlements(queries, organizationId, [...settlements.values()], at);
  }
}
