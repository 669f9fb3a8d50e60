// Pairs the lines of an acquirer's file with the platform's movements, and finds differences.
import type { MovementType, ReconciliationOutcome } from '@switchyard/contract';

/** The members of a movement on both sides; the amount in minor units. */
type Said = {
  readonly type: MovementType;
  readonly retrievalReferenceNumber: string;
  readonly acquirerMerchantId: string;
  readonly amount: number;
  readonly currency: string;
  /** YYYY-MM-DD. */
  readonly settlementDate: string;
};

export type Theirs = Said & {
  readonly number: number;
  /** The terminal (DE41), if the file contains it. */
  readonly terminalId?: string;
};
export type Ours = Said & {
  readonly terminalId: string;
  readonly transactionId: string;
  readonly sequence: number;
  readonly merchantId: string;
};

const compared = ['type', 'amount', 'currency', 'settlementDate'] as const;
export type Difference = (typeof compared)[number] | 'terminalId';

export type Compared = {
  readonly outcome: Exclude<ReconciliationOutcome, 'MissingThere'>;
  readonly differences: readonly Difference[];
  readonly theirs: Theirs;
  readonly ours?: Ours;
};

/**
 * The members that a line and a movement of one reference must share, strictest first. If two
 * captures share a reference, each gets its exact match before a weaker match is possible.
 */
const passes: readonly (readonly (keyof Said)[])[] = [
  ['acquirerMerchantId', 'type', 'amount', 'currency', 'settlementDate'],
  ['acquirerMerchantId', 'type', 'amount', 'currency'],
  ['acquirerMerchantId', 'type', 'currency'],
  ['acquirerMerchantId', 'type'],
  ['acquirerMerchantId', 'amount', 'currency'],
];
/** The members that must match although the terminals differ. */
const surePasses = passes.slice(0, 2);
/** Every match of any pass is equal in one of these lists of members. */
const widePasses = passes.slice(3);

type Member = keyof Said | 'terminalId';

const keyOf = (said: Said & { readonly terminalId?: string }, members: readonly Member[]): string =>
  JSON.stringify([said.retrievalReferenceNumber, ...members.map((member) => said[member])]);

const isNamed = ({ terminalId }: Theirs): boolean => terminalId !== undefined;
const isNameless = (line: Theirs): boolean => !isNamed(line);

const differencesOf = (theirs: Theirs, ours: Ours): Difference[] => [
  ...compared.filter((member) => theirs[member] !== ours[member]),
  ...(isNameless(theirs) || theirs.terminalId === ours.terminalId ? [] : ['terminalId' as const]),
];

function pairOf(theirs: Theirs, ours: Ours): Compared {
  const differences = differencesOf(theirs, ours);
  return { outcome: differences.length === 0 ? 'Matched' : 'Different', differences, theirs, ours };
}

/** The lines and movements without a match. */
type Open = { readonly lines: Set<Theirs>; readonly movements: Set<Ours> };

/** Matches lines and movements with equal members in order, and removes them from the open ones. */
function take(
  { lines, movements }: Open,
  members: readonly Member[],
  { is, of = movements }: { is(line: Theirs): boolean; of?: Iterable<Ours> },
): Compared[] {
  const byKey = Map.groupBy(of, (each) => keyOf(each, members));
  const found: Compared[] = [];
  for (const line of [...lines].filter(is)) {
    const own = byKey.get(keyOf(line, members))?.shift();
    if (own === undefined) continue;
    lines.delete(line);
    movements.delete(own);
    found.push(pairOf(line, own));
  }
  return found;
}

/** The movements that no line with a terminal can match in a later pass. */
function freeOf({ lines, movements }: Open): Ours[] {
  const keysOf = (said: Theirs | Ours) =>
    widePasses.map((members, index) => `${index}${keyOf(said, [...members, 'terminalId'])}`);
  const needed = new Set([...lines].filter(isNamed).flatMap(keysOf));
  if (needed.size === 0) return [...movements];
  return [...movements].filter((each) => !keysOf(each).some((key) => needed.has(key)));
}

/**
 * One pass. A line with a terminal matches a movement of that terminal. A line without a terminal
 * matches a movement that no line with a terminal may still need. Two terminals may use the same
 * reference.
 */
function pass(open: Open, members: readonly Member[]): Compared[] {
  const own = take(open, [...members, 'terminalId'], { is: isNamed });
  return [...own, ...take(open, members, { is: isNameless, of: freeOf(open) })];
}

/**
 * Acquirers may write a terminal id in another form. A single remaining line therefore matches a
 * single remaining movement.
 */
function takeOnly(open: Open, members: readonly Member[]): Compared[] {
  const byKey = Map.groupBy([...open.lines].filter(isNamed), (line) => keyOf(line, members));
  const ours = Map.groupBy(open.movements, (each) => keyOf(each, members));
  const isOnly = (line: Theirs) => {
    const key = keyOf(line, members);
    return isNamed(line) && byKey.get(key)?.length === 1 && ours.get(key)?.length === 1;
  };
  return take(open, members, { is: isOnly });
}

/**
 * The rest of `ours` belongs to other files or is missing in this one; the caller decides which.
 *
 * @param ours the movements of the references of `theirs`
 * @example compare(lines, movements);
 */
export function compare(theirs: readonly Theirs[], ours: readonly Ours[]): Compared[] {
  const open: Open = { lines: new Set(theirs), movements: new Set(ours) };
  const pairs = [
    ...passes.flatMap((members) => pass(open, members)),
    ...passes.flatMap((members) => take(open, members, { is: isNameless })),
    ...surePasses.flatMap((members) => takeOnly(open, members)),
  ];
  const alone = [...open.lines].map(
    (line): Compared => ({ outcome: 'MissingHere', differences: [], theirs: line }),
  );
  return [...pairs, ...alone];
}
