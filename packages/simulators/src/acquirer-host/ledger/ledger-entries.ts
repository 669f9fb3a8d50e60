// Ledger entries, and the totals of a merchant and currency.
import { defined } from '@switchyard/contract';
import type { OriginalMessage } from '@switchyard/iso8583';
import { createTwoGenerationCache } from '../../two-generation-cache.ts';

/**
 * A hold (0100) or a sale (0200), approved or declined, with its captures, refunds and reversals. Always
 * `0 <= refunded <= captured <= held`. `held` exceeds `approved` only after an over-capture, which captures all of
 * it; of a sale, all that is held is captured.
 */
export type OriginalTransaction = {
  /** Message class, merchant, terminal, trace number, transmission time (DE42, 41, 11, 7). */
  readonly key: string;
  readonly kind: 'hold' | 'sale';
  readonly terminal: string;
  readonly merchant: string;
  /** DE49, numeric. */
  readonly currency: string;
  readonly rrn: string;
  /** Minor units requested (DE4). */
  readonly requested?: number;
  /** Local date and time (DE13, DE12). */
  readonly localTime?: string;
  /** First six and last four digits. */
  readonly pan: string;
  readonly code: string;
  readonly approval: string;
  /** Minor units approved at first; 0 when declined. */
  readonly approved: number;
  /** The approved amount less reversals; an over-capture raises it to the captured amount. */
  readonly held: number;
  readonly captured: number;
  readonly refunded: number;
  /** Reason of the reversal, where it has one: 4000 customer, 4020 answer, 4021 time-out … */
  readonly reason?: string;
};

/** The change of the totals by an entry: open holds, captured, refunded, reversed, in minor units. */
export type EntryEffect = readonly [
  open: number,
  captured: number,
  refunded: number,
  reversed: number,
];

export type LedgerEntryKind = 'hold' | 'sale' | 'capture' | 'refund' | 'reversal';

/** One line of the ledger. */
export type LedgerEntry = {
  /** When the host decided. */
  readonly at: string;
  readonly key: string;
  readonly kind: LedgerEntryKind;
  /** DE37 of this message. */
  readonly rrn?: string;
  readonly requested: number;
  readonly amount: number;
  readonly code: string;
  readonly approval: string;
  /** How the host sent the answer; absent for an ordinary answer. */
  readonly delivery?: string;
  /** The original as it is after this entry. */
  readonly original: OriginalTransaction;
  readonly effect: EntryEffect;
};

/** The sums of one merchant and currency, in minor units. */
export type LedgerTotals = {
  merchant: string;
  currency: string;
  /** Authorised, and neither captured nor reversed. */
  openHolds: number;
  captured: number;
  refunded: number;
  reversed: number;
  /** `captured - refunded`. */
  net: number;
  approvals: number;
  declines: number;
  captures: number;
  refunds: number;
  reversals: number;
};

/** The recorded answer, which the host repeats for a repeated message. */
export type RecordedAnswer = { code: string; approval: string; amount: number; rrn?: string };

const openOf = (original: OriginalTransaction): number =>
  original.kind === 'hold' ? original.held - original.captured : 0;

/** The change of the totals between two states of an original. */
export function entryEffect(
  before: OriginalTransaction | undefined,
  after: OriginalTransaction,
): EntryEffect {
  return [
    openOf(after) - (before === undefined ? 0 : openOf(before)),
    after.captured - (before?.captured ?? 0),
    after.refunded - (before?.refunded ?? 0),
    // An over-capture raises the held amount.
    before === undefined ? 0 : Math.max(0, before.held - after.held),
  ];
}

/** The key of the totals of a merchant and currency. */
export function totalsKey(account: { merchant: string; currency: string }): string {
  return `${account.merchant}|${account.currency}`;
}

function emptyTotals({ merchant, currency }: OriginalTransaction): LedgerTotals {
  const amounts = { openHolds: 0, captured: 0, refunded: 0, reversed: 0, net: 0 };
  const counts = { approvals: 0, declines: 0, captures: 0, refunds: 0, reversals: 0 };
  return { merchant, currency, ...amounts, ...counts };
}

function count(totals: LedgerTotals, entry: LedgerEntry, approved: boolean): void {
  if (!approved) totals.declines++;
  else if (entry.kind === 'capture') totals.captures++;
  else if (entry.kind === 'refund') totals.refunds++;
  else if (entry.kind === 'reversal') totals.reversals++;
  else totals.approvals++;
}

/** Adds entries up by merchant and currency. */
export function createTotals(approves: (code: string) => boolean) {
  const sums = new Map<string, LedgerTotals>();
  return {
    add(entry: LedgerEntry): void {
      const { original, effect } = entry;
      const key = totalsKey(original);
      let totals = sums.get(key);
      if (totals === undefined) {
        totals = emptyTotals(original);
        sums.set(key, totals);
      }
      totals.openHolds += effect[0];
      totals.captured += effect[1];
      totals.refunded += effect[2];
      totals.reversed += effect[3];
      totals.net = totals.captured - totals.refunded;
      count(totals, entry, approves(entry.code));
    },
    load(rows: readonly LedgerTotals[]): void {
      for (const row of rows) sums.set(totalsKey(row), { ...row });
    },
    has: (key: string) => sums.has(key),
    size: () => sums.size,
    rows: (): LedgerTotals[] =>
      [...sums.values()]
        .map((row) => ({ ...row }))
        .sort((a, b) => (totalsKey(a) < totalsKey(b) ? -1 : 1)),
  };
}

/** Identifies an original where a message has no DE90: by the parts in `original`, or by its own DE37. */
export type OriginalReference = {
  merchant: string;
  terminal: string;
  rrn: string;
  original?: OriginalMessage;
};

const traceNumberOf = ({ key }: OriginalTransaction): string | undefined => key.split('.').at(-2);

/** A host compares the digits that a message has: a shorter number has no leading digits. */
const endsAlike = (a: string, b: string | undefined): boolean =>
  b !== undefined && (a.endsWith(b) || b.endsWith(a));

function isReferredTo(transaction: OriginalTransaction, reference: OriginalReference): boolean {
  const { rrn, terminal, original = { rrn } } = reference;
  const { date = '', time = '', amount } = original;
  const localTime = transaction.localTime ?? '';
  return (
    transaction.merchant === reference.merchant &&
    transaction.terminal === terminal &&
    (original.rrn === undefined || original.rrn === transaction.rrn) &&
    (original.stan === undefined || endsAlike(original.stan, traceNumberOf(transaction))) &&
    (original.approval === undefined || original.approval === transaction.approval.trim()) &&
    localTime.startsWith(date) &&
    localTime.endsWith(time) &&
    (amount === undefined || Number(amount) === transaction.requested)
  );
}

/** The recent entries, by the keys that later messages use. */
export function createRecentEntries() {
  const answers = createTwoGenerationCache<RecordedAnswer>();
  const originals = createTwoGenerationCache<OriginalTransaction>();

  return {
    add(entry: LedgerEntry): void {
      const { key, original, code, approval, amount, rrn } = entry;
      originals.set(original.key, original);
      if (key !== original.key) answers.set(key, { code, approval, amount, ...defined({ rrn }) });
    },
    answered(key: string): RecordedAnswer | undefined {
      const original = originals.get(key);
      if (original === undefined) return answers.get(key);
      const { code, approval, approved, rrn } = original;
      return { code, approval, amount: approved, rrn };
    },
    original: originals.get,
    /** Searches all originals; few messages identify an original in this way. Trace numbers repeat: the last counts. */
    originalOf(reference: OriginalReference): OriginalTransaction | undefined {
      if (reference.rrn === '' && reference.original === undefined) return undefined;
      return [...originals.values()].findLast((each) => isReferredTo(each, reference));
    },
    originals: originals.values,
    rotate(): void {
      answers.rotate();
      originals.rotate();
    },
  };
}
