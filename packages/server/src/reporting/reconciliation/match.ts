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
export type Difference = (typeof compared)[number];

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

type Member = keyof Said | 'terminalId';

const keyOf = (said: Said & { readonly terminalId?: string }, members: readonly Member[]): string =>
  JSON.stringify([said.retrievalReferenceNumber, ...members.map((member) => said[member])]);

const differencesOf = (theirs: Theirs, ours: Ours): Difference[] =>
  compared.filter((member) => theirs[member] !== ours[member]);

function pairOf(theirs: Theirs, ours: Ours): Compared {
  const differences = differencesOf(theirs, ours);
  return { outcome: differences.length === 0 ? 'Matched' : 'Different', differences, theirs, ours };
}

/** Takes out of both what is alike in these members, in the order in which they came. */
function take(
  members: readonly Member[],
  lines: readonly Theirs[],
  theirs: Set<Theirs>,
  ours: Set<Ours>,
): Compared[] {
  const byKey = Map.groupBy(ours, (each) => keyOf(each, members));
  const found: Compared[] = [];
  for (const line of lines) {
    const own = byKey.get(keyOf(line, members))?.shift();
    if (own === undefined) continue;
    theirs.delete(line);
    ours.delete(own);
    found.push(pairOf(line, own));
  }
  return found;
}

/**
 * One pass: a line that names its terminal finds what this terminal did and nothing else, before
 * lines that name none take what is left. References are one terminal's, so two may give the same.
 */
function pass(members: readonly (keyof Said)[], theirs: Set<Theirs>, ours: Set<Ours>): Compared[] {
  const named = [...theirs].filter(({ terminalId }) => terminalId !== undefined);
  const found = take([...members, 'terminalId'], named, theirs, ours);
  const unnamed = [...theirs].filter(({ terminalId }) => terminalId === undefined);
  return [...found, ...take(members, unnamed, theirs, ours)];
}

/**
 * What is left of `ours` belongs to other files, or is missing in this one: that is not judged here.
 *
 * @param ours the movements of the references of `theirs`
 * @example compare(lines, movements);
 */
export function compare(theirs: readonly Theirs[], ours: readonly Ours[]): Compared[] {
  const lines = new Set(theirs);
  const movements = new Set(ours);
  const pairs = passes.flatMap((members) => pass(members, lines, movements));
  const alone = [...lines].map(
    (line): Compared => ({ outcome: 'MissingHere', differences: [], theirs: line }),
  );
  return [...pairs, ...alone];
}
