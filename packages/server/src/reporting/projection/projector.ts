// Brings the reports of an organisation up to some of its payments: each event is counted once, in one commit.
import {
  type RecentTransactions,
  readTransactions,
  type TransactionRecord,
} from '../../payments/index.ts';
import { encodeSimpleArray } from '../../platform/index.ts';
import { readQrPayments } from '../../qr/index.ts';
import type { RunQuery } from '../run.ts';
import { reportedCard } from './cards.ts';
import { addEntry, type Cells } from './cells.ts';
import { currencyGroup, type Numbered, type Numbering } from './dictionary.ts';
import type { PaymentLine, Reported, SettlementMove } from './model.ts';
import { reportedQr } from './qr.ts';
import { countText, type SettlementSums, writeSettlements } from './store.ts';
import { addCells } from './store-cells.ts';
import { type KnownPayment, writeLines } from './store-lines.ts';

export type Subjects = {
  /** By payment, how many of its events it must have at least: those that were told of. */
  readonly cards: ReadonlyMap<string, number>;
  readonly qr: readonly string[];
};

const everyEvent = Number.POSITIVE_INFINITY;

/** Payments of which nothing was told: as they stand now, whatever anybody remembers. */
export const notToldOf = (cards: readonly string[]): Subjects['cards'] =>
  new Map(cards.map((id) => [id, everyEvent]));

type Work = Reported &
  Numbered & { readonly currencyGroupId: number; readonly known: KnownPayment | undefined };

/** What this process has committed itself is not read again. */
async function readCards(
  run: RunQuery,
  { organizationId, recent }: Pick<Held, 'organizationId' | 'recent'>,
  cards: Subjects['cards'],
): Promise<TransactionRecord[]> {
  const found: TransactionRecord[] = [];
  const unknown: string[] = [];
  for (const [id, events] of cards) {
    const known = recent?.find(organizationId, id, events);
    // Who walks over all of them leaves it to whoever was told of it.
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

/** How many payments have come into a class, or have left it. */
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

/** What has moved since, of payments that an acquirer has to do with. */
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

/** Cells of one statement; what is between lets others have their turn. */
const cellsAtOnce = 100;

async function storeCells(run: RunQuery, organizationId: string, cells: Cells): Promise<void> {
  // In the order of the key, so that pages of the index are filled one after the other.
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

/** Writes the lines of a few payments, and gives what they come to. */
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

/** Payments of one statement: sales of the same process have their turn between. */
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
 * Writes the lines of payments as they stand now, and counts those of their events that are not counted
 * yet: whoever calls it twice, or for what is older than the reports, changes nothing. The caller holds the
 * organisation, and commits. Sums are written once for all, however many payments add to them.
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
