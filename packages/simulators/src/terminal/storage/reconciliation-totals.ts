// What the terminal has counted: totals of the open period, and of the periods that were closed.
import { type Structure, toAmount } from '@switchyard/nexo';

/** One line of the journal of the terminal. */
export type TotalsEntry = {
  readonly type: string;
  readonly brand: string;
  readonly currency: string;
  /** In minor units. */
  readonly amount: number;
  readonly saleId: string;
  readonly operatorId?: string;
  readonly shift?: string;
  readonly group?: string;
};

/** Sums of what is alike. */
type TotalsLine = TotalsEntry & { readonly count: number };

type Period = { readonly number: number; readonly lines: readonly TotalsLine[] };

export type ReconciliationPeriods = { readonly open: Period; readonly closed: readonly Period[] };

export const noPeriods: ReconciliationPeriods = { open: { number: 1, lines: [] }, closed: [] };

/** How many closed periods are kept. */
const periodsMax = 50;

const keyOf = ({ amount: _amount, ...entry }: TotalsEntry & { count?: number }): string =>
  [
    entry.type,
    entry.brand,
    entry.currency,
    entry.saleId,
    entry.operatorId,
    entry.shift,
    entry.group,
  ].join('\n');

/** Lines are sums from the start: a period of a million sales is as small as its kinds are few. */
export function addToTotals(
  books: ReconciliationPeriods,
  entry: TotalsEntry,
): ReconciliationPeriods {
  const { lines, number } = books.open;
  const key = keyOf(entry);
  const at = lines.findIndex((line) => keyOf(line) === key);
  const line = lines[at];
  if (line === undefined) {
    return { ...books, open: { number, lines: [...lines, { ...entry, count: 1 }] } };
  }
  const summed = { ...line, amount: line.amount + entry.amount, count: line.count + 1 };
  return { ...books, open: { number, lines: lines.with(at, summed) } };
}

export function closePeriod(books: ReconciliationPeriods): ReconciliationPeriods {
  const { open, closed: before } = books;
  return {
    open: { number: open.number + 1, lines: [] },
    closed: [...before, open].slice(-periodsMax),
  };
}

/** The period of a number; without one the last that was closed. */
export function findPeriod(
  { closed: periods }: ReconciliationPeriods,
  number?: string,
): Period | undefined {
  if (number === undefined) return periods.at(-1);
  return periods.find((period) => String(period.number) === number);
}

const memberOf = {
  SaleID: 'saleId',
  OperatorID: 'operatorId',
  ShiftNumber: 'shift',
  TotalsGroupID: 'group',
} as const satisfies Record<string, keyof TotalsEntry>;

type Detail = keyof typeof memberOf;
const details = Object.keys(memberOf) as Detail[];

function matchesFilter(line: TotalsLine, filter: Structure<'TotalFilter'>): boolean {
  return details.every((detail) => {
    const expected = filter[detail];
    return expected === undefined || line[memberOf[detail]] === expected;
  });
}

/** Sums by brand and currency, and by what was asked for besides. */
export function periodTotals(
  { lines }: Period,
  poiId: string,
  requestedDetails: readonly string[] = [],
  filter: Structure<'TotalFilter'> = {},
): Structure<'TransactionTotals'>[] {
  const groupedDetails = details.filter((detail) => requestedDetails.includes(detail));
  const groups = new Map<string, TotalsLine[]>();
  for (const line of lines.filter((each) => matchesFilter(each, filter))) {
    const key = [
      line.brand,
      line.currency,
      ...groupedDetails.map((detail) => line[memberOf[detail]]),
    ];
    groups.set(key.join('\n'), [...(groups.get(key.join('\n')) ?? []), line]);
  }
  return [...groups.values()].map((group) =>
    groupTotals(group, groupedDetails, poiId, requestedDetails),
  );
}

function groupTotals(
  group: readonly TotalsLine[],
  groupedDetails: readonly Detail[],
  poiId: string,
  requestedDetails: readonly string[],
): Structure<'TransactionTotals'> {
  const [first] = group;
  const currency = first?.currency ?? 'EUR';
  const types = [...new Set(group.map(({ type }) => type))];
  return {
    PaymentInstrumentType: 'Card',
    CardBrand: first?.brand ?? '',
    PaymentCurrency: currency,
    ...(requestedDetails.includes('POIID') ? { POIID: poiId } : {}),
    ...Object.fromEntries(
      groupedDetails
        .map((detail) => [detail, first?.[memberOf[detail]]] as const)
        .filter(([, value]) => value !== undefined),
    ),
    PaymentTotals: types.map((type) => {
      const alike = group.filter((line) => line.type === type);
      return {
        TransactionType: type,
        TransactionCount: alike.reduce((sum, { count }) => sum + count, 0),
        TransactionAmount: toAmount(
          alike.reduce((sum, { amount }) => sum + amount, 0),
          currency,
        ),
      };
    }),
  };
}
