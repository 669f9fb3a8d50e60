// Totals of the open reconciliation period and of the closed periods.
import { type Structure, toAmount } from '@switchyard/nexo';

/** One transaction for the totals. */
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

/** The sum of equal transactions. */
type TotalsLine = TotalsEntry & { readonly count: number };

type Period = { readonly number: number; readonly lines: readonly TotalsLine[] };

export type ReconciliationPeriods = { readonly open: Period; readonly closed: readonly Period[] };

export const noPeriods: ReconciliationPeriods = { open: { number: 1, lines: [] }, closed: [] };

/** Limit of stored closed periods. */
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

/** Adds a transaction to its line. Lines are sums, so the size of a period does not depend on its number of sales. */
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

/** The closed period with a number; without a number the last closed period. */
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

/** Totals by brand and currency, and by the requested details. */
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
