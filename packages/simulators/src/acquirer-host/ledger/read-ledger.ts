// Reads a ledger from its files, recalculates the totals and checks them.
import { defined } from '@switchyard/contract';
import { isApprovalCode } from '../decisions/test-amounts-and-cards.ts';
import {
  createTotals,
  entryEffect,
  type LedgerEntry,
  type LedgerTotals,
  type OriginalTransaction,
} from './ledger-entries.ts';
import { listSegments, readSegment, segmentPath } from './ledger-files.ts';

/** An amount that was booked or taken back. */
export type LedgerMovement = Pick<LedgerEntry, 'at' | 'kind' | 'rrn' | 'amount'> &
  Pick<OriginalTransaction, 'merchant' | 'terminal' | 'currency'>;

/** A ledger as read from its files. */
export type LedgerReport = {
  /** By merchant and currency, sorted; added up from every entry. */
  totals: LedgerTotals[];
  /** The latest approved sales, captures, refunds and reversals, oldest first. */
  movements: LedgerMovement[];
  /** The originals that changed last, oldest first. */
  originals: OriginalTransaction[];
  /** Number of older originals that the report leaves out. */
  originalsLeftOut: number;
  entries: number;
  /** Errors: totals that differ, amounts above their limits. Empty in a correct ledger. */
  faults: string[];
};

const faultsMax = 100;

/** Default limit of originals in a report. */
const reportedOriginalsMax = 100_000;

function amountFault({ original }: LedgerEntry): string | undefined {
  const { refunded, captured, held, approved, kind } = original;
  const isOverCaptured = captured === held && kind === 'hold';
  const ordered =
    0 <= refunded &&
    refunded <= captured &&
    captured <= held &&
    (held <= approved || isOverCaptured);
  if (!ordered) return 'amounts above their limits';
  return kind === 'sale' && captured !== held ? 'a sale that is not captured' : undefined;
}

/**
 * Reads the ledger of a directory, also while its host runs.
 *
 * @param directory the host's ledger directory
 * @param options `originalsMax`: how many originals to hold
 * @throws Error when a line cannot be read
 * @example
 * ```ts
 * const { totals, faults } = readLedger(ledgerDir);
 * assert.deepEqual(faults, []);
 * ```
 */
export function readLedger(
  directory: string,
  options: { originalsMax?: number } = {},
): LedgerReport {
  const { originalsMax = reportedOriginalsMax } = options;
  const sums = createTotals(isApprovalCode);
  const originals = new Map<string, OriginalTransaction>();
  const movements: LedgerMovement[] = [];
  const faults: string[] = [];
  let entries = 0;
  let originalsCount = 0;

  function addFault(where: string, fault: string | undefined): void {
    if (fault !== undefined && faults.length < faultsMax) faults.push(`${where}: ${fault}`);
  }

  function addMovement({ at, kind, rrn, amount, code, original }: LedgerEntry): void {
    if (kind === 'hold' || !isApprovalCode(code)) return;
    const { merchant, terminal, currency } = original;
    movements.push({ at, kind, ...defined({ rrn }), amount, merchant, terminal, currency });
    if (movements.length > 2 * originalsMax) movements.splice(0, originalsMax);
  }

  function addEntry(entry: LedgerEntry, where: string): void {
    const { original } = entry;
    const before = originals.get(original.key);
    sums.add(entry);
    entries++;
    addMovement(entry);
    addFault(where, amountFault(entry));
    const isFirst = entry.key === original.key;
    if (isFirst) originalsCount++;
    if (before !== undefined || isFirst) {
      const expected = entryEffect(before, original);
      const isSame = expected.every((amount, index) => amount === entry.effect[index]);
      if (!isSame) addFault(where, 'an effect that is not the change of the original');
    }
    originals.delete(original.key);
    originals.set(original.key, original);
    if (originals.size > originalsMax) {
      for (const oldest of originals.keys()) {
        originals.delete(oldest);
        break;
      }
    }
  }

  for (const segment of listSegments(directory)) {
    const path = segmentPath(directory, segment);
    const read = readSegment(path);
    if (read === undefined) continue;
    const { opening, entries: lines } = read;
    if (JSON.stringify(opening.totals) !== JSON.stringify(sums.rows())) {
      addFault(path, 'opening sums differ from the entries before');
    }
    for (const [index, entry] of lines.entries()) addEntry(entry, `${path}:${index + 2}`);
  }
  const originalsLeftOut = originalsCount - originals.size;
  return {
    totals: sums.rows(),
    movements,
    originals: [...originals.values()],
    originalsLeftOut,
    entries,
    faults,
  };
}
