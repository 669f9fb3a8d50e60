// Pairs the lines of an acquirer's file with the platform's movements, and finds differences.
import type { MovementType, ReconciliationOutcome } from '@switchyard/contract';

/** The members of a movement on both sides; the amount in minor units. */
type MovementData = {
  readonly type: MovementType;
  readonly retrievalReferenceNumber: string;
  readonly acquirerMerchantId: string;
  readonly amount: number;
  readonly currency: string;
  /** YYYY-MM-DD. */
  readonly settlementDate: string;
};

export type AcquirerLine = MovementData & {
  readonly number: number;
  /** The terminal (DE41), if the file contains it. */
  readonly terminalId?: string;
};
export type PlatformMovement = MovementData & {
  readonly terminalId: string;
  readonly transactionId: string;
  readonly sequence: number;
  readonly merchantId: string;
};

const comparedMembers = ['type', 'amount', 'currency', 'settlementDate'] as const;
export type Difference = (typeof comparedMembers)[number] | 'terminalId';

export type ComparedLine = {
  readonly outcome: Exclude<ReconciliationOutcome, 'MissingThere'>;
  readonly differences: readonly Difference[];
  readonly theirs: AcquirerLine;
  readonly ours?: PlatformMovement;
};

/**
 * The members that a line and a movement of one reference must share, strictest first. If two
 * captures share a reference, each gets its exact match before a weaker match is possible.
 */
const matchPasses: readonly (readonly (keyof MovementData)[])[] = [
  ['acquirerMerchantId', 'type', 'amount', 'currency', 'settlementDate'],
  ['acquirerMerchantId', 'type', 'amount', 'currency'],
  ['acquirerMerchantId', 'type', 'currency'],
  ['acquirerMerchantId', 'type'],
  ['acquirerMerchantId', 'amount', 'currency'],
];
/** The members that must match although the terminals differ. */
const strictPasses = matchPasses.slice(0, 2);
/** Every match of any pass is equal in one of these lists of members. */
const loosePasses = matchPasses.slice(3);

type Member = keyof MovementData | 'terminalId';

const matchKey = (
  movement: MovementData & { readonly terminalId?: string },
  members: readonly Member[],
): string =>
  JSON.stringify([movement.retrievalReferenceNumber, ...members.map((member) => movement[member])]);

const hasTerminal = ({ terminalId }: AcquirerLine): boolean => terminalId !== undefined;
const hasNoTerminal = (line: AcquirerLine): boolean => !hasTerminal(line);

const listDifferences = (line: AcquirerLine, movement: PlatformMovement): Difference[] => [
  ...comparedMembers.filter((member) => line[member] !== movement[member]),
  ...(hasNoTerminal(line) || line.terminalId === movement.terminalId
    ? []
    : ['terminalId' as const]),
];

function toPair(line: AcquirerLine, movement: PlatformMovement): ComparedLine {
  const differences = listDifferences(line, movement);
  return {
    outcome: differences.length === 0 ? 'Matched' : 'Different',
    differences,
    theirs: line,
    ours: movement,
  };
}

/** The lines and movements without a match. */
type Unmatched = { readonly lines: Set<AcquirerLine>; readonly movements: Set<PlatformMovement> };

/** Matches lines and movements with equal members in order, and removes them from the open ones. */
function matchByMembers(
  { lines, movements }: Unmatched,
  members: readonly Member[],
  {
    is: accepts,
    candidates = movements,
  }: { is(line: AcquirerLine): boolean; candidates?: Iterable<PlatformMovement> },
): ComparedLine[] {
  const byKey = Map.groupBy(candidates, (each) => matchKey(each, members));
  const matches: ComparedLine[] = [];
  for (const line of [...lines].filter(accepts)) {
    const movement = byKey.get(matchKey(line, members))?.shift();
    if (movement === undefined) continue;
    lines.delete(line);
    movements.delete(movement);
    matches.push(toPair(line, movement));
  }
  return matches;
}

/** The movements that no line with a terminal can match in a later pass. */
function listFreeMovements({ lines, movements }: Unmatched): PlatformMovement[] {
  const listKeys = (movement: AcquirerLine | PlatformMovement) =>
    loosePasses.map(
      (members, index) => `${index}${matchKey(movement, [...members, 'terminalId'])}`,
    );
  const neededKeys = new Set([...lines].filter(hasTerminal).flatMap(listKeys));
  if (neededKeys.size === 0) return [...movements];
  return [...movements].filter((each) => !listKeys(each).some((key) => neededKeys.has(key)));
}

/**
 * One pass. A line with a terminal matches a movement of that terminal. A line without a terminal
 * matches a movement that no line with a terminal may still need. Two terminals may use the same
 * reference.
 */
function runPass(unmatched: Unmatched, members: readonly Member[]): ComparedLine[] {
  const withTerminal = matchByMembers(unmatched, [...members, 'terminalId'], { is: hasTerminal });
  return [
    ...withTerminal,
    ...matchByMembers(unmatched, members, {
      is: hasNoTerminal,
      candidates: listFreeMovements(unmatched),
    }),
  ];
}

/**
 * Acquirers may write a terminal id in another form. A single remaining line therefore matches a
 * single remaining movement.
 */
function matchSingleCandidates(unmatched: Unmatched, members: readonly Member[]): ComparedLine[] {
  const byKey = Map.groupBy([...unmatched.lines].filter(hasTerminal), (line) =>
    matchKey(line, members),
  );
  const movementsByKey = Map.groupBy(unmatched.movements, (each) => matchKey(each, members));
  const isSingle = (line: AcquirerLine) => {
    const key = matchKey(line, members);
    return (
      hasTerminal(line) && byKey.get(key)?.length === 1 && movementsByKey.get(key)?.length === 1
    );
  };
  return matchByMembers(unmatched, members, { is: isSingle });
}

/**
 * The rest of `movements` belongs to other files or is missing in this one; the caller decides which.
 *
 * @param movements the movements with the references of `lines`
 * @example matchMovements(lines, movements);
 */
export function matchMovements(
  lines: readonly AcquirerLine[],
  movements: readonly PlatformMovement[],
): ComparedLine[] {
  const unmatched: Unmatched = { lines: new Set(lines), movements: new Set(movements) };
  const pairs = [
    ...matchPasses.flatMap((members) => runPass(unmatched, members)),
    ...matchPasses.flatMap((members) => matchByMembers(unmatched, members, { is: hasNoTerminal })),
    ...strictPasses.flatMap((members) => matchSingleCandidates(unmatched, members)),
  ];
  const missing = [...unmatched.lines].map(
    (line): ComparedLine => ({ outcome: 'MissingHere', differences: [], theirs: line }),
  );
  return [...pairs, ...missing];
}
