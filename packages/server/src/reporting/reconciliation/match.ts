// Pairs the lines of an acquirer's file with our movements, and says where they differ. Pure.
import type { MovementType, ReconciliationOutcome } from '@switchyard/contract';

/** What both sides say of a movement; the amount in minor units. */
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
  /** The terminal (DE41), where the file names it. */
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
 * What two of one reference must have alike to be the same movement, the surest first: where two
 * captures share a reference, each finds its own before one takes what is left.
 */
const passes: readonly (readonly (keyof Said)[])[] = [
  ['acquirerMerchantId', 'type', 'amount', 'currency', 'settlementDate'],
  ['acquirerMerchantId', 'type', 'amount', 'currency'],
  ['acquirerMerchantId', 'type', 'currency'],
  ['acquirerMerchantId', 'type'],
  ['acquirerMerchantId', 'amount', 'currency'],
];
/** What two have alike that may be the same although their terminals are not. */
const surePasses = passes.slice(0, 2);
/** Whatever a pass finds is alike in one of these. */
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

/** What has found nothing yet. */
type Open = { readonly lines: Set<Theirs>; readonly movements: Set<Ours> };

/** Takes out what is alike in these members, in the order in which it came. */
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

/** The movements that no line which names its terminal may find in a later pass. */
function freeOf({ lines, movements }: Open): Ours[] {
  const keysOf = (said: Theirs | Ours) =>
    widePasses.map((members, index) => `${index}${keyOf(said, [...members, 'terminalId'])}`);
  const needed = new Set([...lines].filter(isNamed).flatMap(keysOf));
  if (needed.size === 0) return [...movements];
  return [...movements].filter((each) => !keysOf(each).some((key) => needed.has(key)));
}

/**
 * One pass: a line that names its terminal finds what this terminal did; one that names none, what
 * no line that does may still need. References are one terminal's, so two may give the same.
 */
function pass(open: Open, members: readonly Member[]): Compared[] {
  const own = take(open, [...members, 'terminalId'], { is: isNamed });
  return [...own, ...take(open, members, { is: isNameless, of: freeOf(open) })];
}

/** Acquirers may write a terminal their own way: one line and one movement that are left belong together. */
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
 * What is left of `ours` belongs to other files, or is missing in this one: that is not judged here.
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
