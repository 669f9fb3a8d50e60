// Brings the reports of an organisation up to some of its payments: each event is counted once, in one commit.
import { readTransactions } from '../../payments/index.ts';
import { plainArray } from '../../platform/index.ts';
import { readQrPayments } from '../../qr/index.ts';
import type { RunQuery } from '../run.ts';
import { reportedCard } from './cards.ts';
import { addCell, addEntry, type Cells, textOfKey } from './cells.ts';
import { currencyGroup, type Numbered, type Numbering } from './dictionary.ts';
import type { PaymentLine, Reported, SettlementMove } from './model.ts';
import { reportedQr } from './qr.ts';
import {
  countText,
  type KnownPayment,
  knownText,
  movementRow,
  movementsText,
  readCells,
  type SettlementSums,
  upsertRow,
  upsertText,
  writeCells,
  writeSettlements,
} from './store.ts';

export type Subjects = { readonly cards: readonly string[]; readonly qr: readonly string[] };

type Work = Reported &
  Numbered & { readonly currencyGroupId: number; readonly known: KnownPayment | undefined };

async function readReported(
  run: RunQuery,
  organizationId: string,
  { cards, qr }: Subjects,
): Promise<Reported[]> {
  const transactions = await readTransactions(run, organizationId, cards);
  const payments = await readQrPayments(run, organizationId, qr);
  return [...transactions.map(reportedCard), ...payments.map(reportedQr)];
}

async function readKnown(
  run: RunQuery,
  organizationId: string,
  all: readonly Reported[],
): Promise<Map<string, KnownPayment>> {
  const rows = await run<KnownPayment>(knownText, [
    organizationId,
    plainArray(all.map(({ line }) => line.createdAt)),
    plainArray(all.map(({ line }) => line.paymentId)),
  ]);
  return new Map(rows.map((row) => [row.paymentId, row]));
}

/** How many payments have come into a class, or have left it. */
function changesOf(work: readonly Work[]): Map<number, number> {
  const changes = new Map<number, number>();
  const change = (classId: number, by: number) =>
    changes.set(classId, (changes.get(classId) ?? 0) + by);
  for (const { known, classId } of work) {
    if (known?.classId === classId) continue;
    if (known !== undefined) change(known.classId, -1);
    change(classId, 1);
  }
  return changes;
}

function cellsOf(work: readonly Work[]): Cells {
  const cells: Cells = new Map();
  for (const { known, entries, line, groupId, currencyGroupId } of work) {
    const counted = known?.counted ?? 0;
    for (const [sequence, entry] of entries) {
      if (sequence <= counted || sequence > line.version) continue;
      addEntry(cells, entry, line, { groupId, currencyGroupId });
    }
  }
  return cells;
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

function settlementsOf(moved: readonly Moved[]): SettlementSums[] {
  const all = new Map<string, SettlementSums>();
  for (const { line, linkId, move } of moved) {
    const { merchantId, group } = line;
    const key = { date: move.date, linkId, merchantId, currency: group.currency };
    const text = Object.values(key).join('|');
    const settlement = all.get(text) ?? { ...key, sums: new Map<string, bigint>() };
    all.set(text, settlement);
    const { sums } = settlement;
    const [counts, amounts] = columnsOf[move.kind];
    sums.set(counts, (sums.get(counts) ?? 0n) + BigInt(move.count));
    sums.set(amounts, (sums.get(amounts) ?? 0n) + BigInt(move.amount));
  }
  return [...all.values()];
}

async function storeMoves(
  run: RunQuery,
  { organizationId, at }: { organizationId: string; at: string },
  moved: readonly Moved[],
): Promise<void> {
  if (moved.length === 0) return;
  await writeSettlements(run, organizationId, settlementsOf(moved), at);
  const rows = moved.flatMap(({ line, linkId, move }) =>
    move.movement === undefined ? [] : [movementRow(line, linkId, move, move.movement)],
  );
  if (rows.length > 0) await run(movementsText, [organizationId, JSON.stringify(rows)]);
}

async function storeCells(run: RunQuery, organizationId: string, cells: Cells): Promise<void> {
  // In the order of the key, so that pages of the index are filled one after the other.
  const sorted = [...cells.values()].sort((one, other) =>
    textOfKey(one) < textOfKey(other) ? -1 : 1,
  );
  if (sorted.length === 0) return;
  const stored = await readCells(run, organizationId, sorted);
  for (const [place, cell] of sorted.entries()) {
    const before = stored.get(place);
    if (before !== undefined) addCell(cell, before);
  }
  await writeCells(run, organizationId, sorted);
}

/**
 * Writes the lines of payments as they stand now, and counts those of their events that are not counted
 * yet: whoever calls it twice, or for what is older than the reports, changes nothing. The caller holds the
 * organisation, and commits.
 *
 * @returns how many lines were written
 */
export async function project(
  run: RunQuery,
  { organizationId, numbering, at }: { organizationId: string; numbering: Numbering; at: string },
  subjects: Subjects,
): Promise<number> {
  const reported = await readReported(run, organizationId, subjects);
  if (reported.length === 0) return 0;
  const known = await readKnown(run, organizationId, reported);
  const fresh = reported.filter(
    ({ line }) => line.version > (known.get(line.paymentId)?.counted ?? 0),
  );
  if (fresh.length === 0) return 0;
  const numbers = await numbering.numbersOf(run, [
    ...fresh.map(({ line }) => line),
    ...fresh.map(({ line }) => ({ group: currencyGroup(line.group.currency), state: '' })),
  ]);
  const work: Work[] = fresh.map((each, place) => ({
    ...each,
    ...(numbers[place] ?? { groupId: 0, classId: 0 }),
    currencyGroupId: numbers[fresh.length + place]?.groupId ?? 0,
    known: known.get(each.line.paymentId),
  }));
  const rows = work.map(({ line, classId }) => upsertRow(line, classId));
  await run(upsertText, [organizationId, JSON.stringify(rows)]);
  const changes = [...changesOf(work)].filter(([, delta]) => delta !== 0);
  if (changes.length > 0) {
    await run(countText, [
      organizationId,
      plainArray(changes.map(([classId]) => classId)),
      plainArray(changes.map(([, delta]) => delta)),
    ]);
  }
  await storeCells(run, organizationId, cellsOf(work));
  await storeMoves(run, { organizationId, at }, movedOf(work));
  return work.length;
}
