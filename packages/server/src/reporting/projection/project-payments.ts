// Updates reports with some payments, and counts each event once in one transaction.
import {
  type RecentTransactions,
  readTransactions,
  type TransactionRecord,
} from '../../payments/index.ts';
import { encodeSimpleArray } from '../../platform/index.ts';
import { readQrPayments } from '../../qr/index.ts';
import type { RunQuery } from '../infrastructure/run-query.ts';
import { addCells } from './daily-aggregate-sql.ts';
import { addEntry, type Cells } from './daily-aggregates.ts';
import { currencyGroup, type Numbered, type Numbering } from './group-dictionary.ts';
import { type KnownPayment, writeLines } from './payment-line-sql.ts';
import { reportedCard } from './project-card-payment.ts';
import { reportedQr } from './project-qr-payment.ts';
import { countText, type SettlementSums, writeSettlements } from './projection-sql.ts';
import type { PaymentLine, Reported, SettlementMove } from './reported-payment-types.ts';

export type Subjects = {
  /** The minimum number of events of each payment, from the events in the feed. */
  readonly cards: ReadonlyMap<string, number>;
  readonly qr: readonly string[];
};

const everyEvent = Number.POSITIVE_INFINITY;

/** For payments without feed events: the server reads them from the database, not from memory. */
export const notToldOf = (cards: readonly string[]): Subjects['cards'] =>
  new Map(cards.map((id) => [id, everyEvent]));

type Work = Reported &
  Numbered & { readonly currencyGroupId: number; readonly known: KnownPayment | undefined };

/** The server does not read sales again that this process has committed. */
async function readCards(
  run: RunQuery,
  { organizationId, recent }: Pick<Held, 'organizationId' | 'recent'>,
  cards: Subjects['cards'],
): Promise<TransactionRecord[]> {
  const found: TransactionRecord[] = [];
  const unknown: string[] = [];
  for (const [id, events] of cards) {
    const known = recent?.find(organizationId, id, events);
    // A walk over all payments leaves the record in memory for the feed event of the payment.
    if (events !== everyEvent) recent?.remove(id);
    if (known === undefined) unknown.push(id);
    else found.push(known);
  }
  return [...found, ...(await readTransactions(run, organizationId, unknown))];
}

async function readReported(
  run: RunQuery,
  held: Pick<Held, 'organizationId' | 'recent'>,
  { cards, qr }: Subjects,
): Promise<Reported[]> {
  const transactions = await readCards(run, held, cards);
  const payments = await readQrPayments(run, held.organizationId, qr);
  return [...transactions.map(reportedCard), ...payments.map(reportedQr)];
}

/** Counts the payments that have entered or left each class. */
function addChanges(changes: Map<number, number>, work: readonly Work[]): void {
  const change = (classId: number, by: number) =>
    changes.set(classId, (changes.get(classId) ?? 0) + by);
  for (const { known, classId } of work) {
    if (known?.classId === classId) continue;
    if (known !== undefined) change(known.classId, -1);
    change(classId, 1);
  }
}

function addEntries(cells: Cells, work: readonly Work[]): void {
  for (const { known, entries, line, groupId, currencyGroupId } of work) {
    const counted = known?.counted ?? 0;
    for (const [sequence, entry] of entries) {
      if (sequence <= counted || sequence > line.version) continue;
      addEntry(cells, entry, line, { groupId, currencyGroupId });
    }
  }
}

const columnsOf: Readonly<Record<SettlementMove['kind'], readonly [string, string]>> = {
  Capture: ['captures', 'captured'],
  Refund: ['refunds', 'refunded'],
  Reversal: ['reversals', 'reversed'],
  Pending: ['pending_captures', 'pending'],
};

type Moved = { readonly line: PaymentLine; readonly linkId: string; readonly move: SettlementMove };

/** The new moves of payments that have an acquirer link. */
function movedOf(work: readonly Work[]): Moved[] {
  return work.flatMap(({ known, moves, line }) => {
    const { linkId, version } = line;
    if (linkId === undefined) return [];
    return [...moves]
      .filter(([sequence]) => sequence > (known?.counted ?? 0) && sequence <= version)
      .flatMap(([, each]) => each.map((move) => ({ line, linkId, move })));
  });
}

type Settlements = Map<string, SettlementSums>;

function addSettlements(all: Settlements, moved: readonly Moved[]): void {
  for (const { line, linkId, move } of moved) {
    const { merchantId, group } = line;
    const key = { date: move.date, linkId, merchantId, currency: group.currency };
    const text = `${move.date}|${linkId}|${merchantId}|${group.currency}`;
    const settlement = all.get(text) ?? { ...key, sums: new Map<string, bigint>() };
    all.set(text, settlement);
    const { sums } = settlement;
    const [counts, amounts] = columnsOf[move.kind];
    sums.set(counts, (sums.get(counts) ?? 0n) + BigInt(move.count));
    sums.set(amounts, (sums.get(amounts) ?? 0n) + BigInt(move.amount));
  }
}

/** The cells of one statement; between statements, other work of the process can run. */
const cellsAtOnce = 100;

async function storeCells(run: RunQuery, organizationId: string, cells: Cells): Promise<void> {
  // In the order of the key, so that PostgreSQL fills the pages of the index one after the other.
  const sorted = [...cells].sort(([one], [other]) => (one < other ? -1 : 1));
  for (let from = 0; from < sorted.length; from += cellsAtOnce) {
    const some = sorted.slice(from, from + cellsAtOnce).map(([, cell]) => cell);
    await addCells(run, organizationId, some);
  }
}

type Held = {
  readonly organizationId: string;
  readonly numbering: Numbering;
  readonly at: string;
  readonly recent: RecentTransactions | undefined;
};

/** Writes the lines of some payments, and returns their data for the sums. */
async function projectSome(
  run: RunQuery,
  held: Omit<Held, 'at'>,
  subjects: Subjects,
): Promise<Work[]> {
  const { organizationId, numbering } = held;
  const reported = await readReported(run, held, subjects);
  if (reported.length === 0) return [];
  const numbers = await numbering.numbersOf(run, [
    ...reported.map(({ line }) => line),
    ...reported.map(({ line }) => ({ group: currencyGroup(line.group.currency), state: '' })),
  ]);
  const numbered = reported.map((each, place) => ({
    ...each,
    ...(numbers[place] ?? { groupId: 0, classId: 0 }),
    currencyGroupId: numbers[reported.length + place]?.groupId ?? 0,
  }));
  const known = await writeLines(run, organizationId, numbered);
  return numbered
    .map((each): Work => ({ ...each, known: known.get(each.line.paymentId) }))
    .filter(({ line, known: before }) => line.version > (before?.counted ?? 0));
}

/** The payments of one statement; between statements, sales of the same process can run. */
const paymentsAtOnce = 100;

function* partsOf({ cards, qr }: Subjects): Generator<Subjects> {
  const all = [...cards];
  for (let from = 0; from < all.length; from += paymentsAtOnce) {
    yield { cards: new Map(all.slice(from, from + paymentsAtOnce)), qr: [] };
  }
  for (let from = 0; from < qr.length; from += paymentsAtOnce) {
    yield { cards: new Map(), qr: qr.slice(from, from + paymentsAtOnce) };
  }
}

/**
 * Writes the current lines of payments, and counts their events that are not counted yet. A second
 * call, or a call with older data, changes nothing. The caller holds the lock of the organisation
 * and commits. Each sum is written once for all payments.
 */
export async function project(run: RunQuery, held: Held, subjects: Subjects): Promise<void> {
  const { organizationId, at } = held;
  const cells: Cells = new Map();
  const changes = new Map<number, number>();
  const settlements: Settlements = new Map();
  for (const part of partsOf(subjects)) {
    const work = await projectSome(run, held, part);
    addEntries(cells, work);
    addChanges(changes, work);
    addSettlements(settlements, movedOf(work));
  }
  const changed = [...changes].filter(([, delta]) => delta !== 0);
  if (changed.length > 0) {
    await run(countText, [
      organizationId,
      encodeSimpleArray(changed.map(([classId]) => classId)),
      encodeSimpleArray(changed.map(([, delta]) => delta)),
    ]);
  }
  await storeCells(run, organizationId, cells);
  if (settlements.size > 0) {
    await writeSettlements(run, organizationId, [...settlements.values()], at);
  }
}
