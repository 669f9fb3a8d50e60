// Compares in the background: first the lines of the file, then movements that the file lacks.
import {
  type Clock,
  type Database,
  dayMs,
  isoTime,
  type Job,
  nilUuid,
  type Queries,
  type Reschedule,
} from '../../platform/index.ts';
import { matchMovements } from './match-movements.ts';
import type {
  Counts,
  PlatformMovementKey,
  ReconciliationRow,
  ReconciliationStore,
} from './reconciliation-sql.ts';

const linesPerStep = 2_000;
/** A reference belongs to one payment, so a file with more lines for one reference is not valid. */
const linesPerReferenceMax = 1_000;
const movementsPerStep = 2_000;
const jobTimeMs = 5_000;

export const compareFileJobKind = 'reconciliation-match';

export type CompareFileDeps = {
  readonly database: Pick<Database, 'transaction'>;
  readonly clock: Clock;
  readonly store: ReconciliationStore;
};

/** The position of the comparison: after a reference of the file, or after a movement of a day. */
type ComparisonPosition =
  | { readonly reference: string }
  | { readonly day: string; readonly behind: PlatformMovementKey };

const noMovement: PlatformMovementKey = { paymentId: nilUuid, sequence: -1 };
const zeroCounts: Counts = { matched: 0, different: 0, missingHere: 0, missingThere: 0 };

const parsePosition = ({ place }: ReconciliationRow): ComparisonPosition =>
  place === '' ? { reference: '' } : (JSON.parse(place) as ComparisonPosition);

const dayAfter = (day: string): string =>
  isoTime(Date.parse(`${day}T00:00:00Z`) + dayMs).slice(0, 10);

type StepResult = { readonly counts: Counts; readonly next: ComparisonPosition | undefined };
/** The failure of a file in which too many lines have the same reference. */
const referenceRepeated = 'reference_repeated';

export function createCompareFileJob({ database, clock, store }: CompareFileDeps) {
  async function compareLines(
    queries: Queries,
    row: ReconciliationRow,
    after: string,
  ): Promise<StepResult | typeof referenceRepeated> {
    const rowAtPosition = { ...row, place: after };
    const pageEnd = await store.findPageEnd(queries, rowAtPosition, linesPerStep);
    const linesMax = linesPerStep + linesPerReferenceMax;
    const acquirerLines = await store.readAcquirerLines(
      queries,
      rowAtPosition,
      pageEnd,
      linesMax + 1,
    );
    if (acquirerLines.length > linesMax) return referenceRepeated;
    const references = [...new Set(acquirerLines.map((line) => line.retrievalReferenceNumber))];
    const matches = matchMovements(
      acquirerLines,
      await store.readMovements(queries, row, references),
    );
    await store.recordMatches(queries, row, matches, isoTime(clock.now()));
    const count = (outcome: string) => matches.filter((each) => each.outcome === outcome).length;
    return {
      counts: {
        ...zeroCounts,
        matched: count('Matched'),
        different: count('Different'),
        missingHere: count('MissingHere'),
      },
      next:
        pageEnd === undefined ? { day: row.fromDay, behind: noMovement } : { reference: pageEnd },
    };
  }

  async function findMissingOfDay(
    queries: Queries,
    row: ReconciliationRow,
    from: { readonly day: string; readonly behind: PlatformMovementKey },
  ): Promise<StepResult> {
    const { missed, count, last } = await store.recordMissing(queries, row, from, movementsPerStep);
    const counts = { ...zeroCounts, missingThere: missed };
    if (count === movementsPerStep && last !== undefined) {
      const { paymentId, sequence } = last;
      return { counts, next: { day: from.day, behind: { paymentId, sequence } } };
    }
    const isLast = from.day >= row.toDay;
    return {
      counts,
      next: isLast ? undefined : { day: dayAfter(from.day), behind: noMovement },
    };
  }

  /**
   * Runs one step in one transaction.
   *
   * @returns true if this process has more steps to do
   */
  async function runStep(trx: Queries, row: ReconciliationRow): Promise<boolean> {
    const position = parsePosition(row);
    const result =
      'reference' in position
        ? await compareLines(trx, row, position.reference)
        : await findMissingOfDay(trx, row, position);
    if (result === referenceRepeated) {
      await store.changeState(trx, row, {
        from: 'Matching',
        to: 'Failed',
        failure: referenceRepeated,
      });
      return false;
    }
    const { counts, next } = result;
    if (
      !(await store.updateProgress(
        trx,
        row,
        next === undefined ? 'end' : JSON.stringify(next),
        counts,
      ))
    ) {
      // Another process did this step, so this transaction must be rolled back.
      throw new ConcurrentComparisonError();
    }
    if (next === undefined) await store.complete(trx, row, isoTime(clock.now()));
    return next !== undefined;
  }

  return async ({ organizationId, payload }: Job): Promise<Reschedule | undefined> => {
    const reconciliationId = String(payload['reconciliationId']);
    const until = performance.now() + jobTimeMs;
    for (;;) {
      const row = await store.find(organizationId, reconciliationId);
      if (row?.state !== 'Matching') return undefined;
      const isMore = await database.transaction((trx) => runStep(trx, row));
      if (!isMore) return undefined;
      if (performance.now() > until) return { retryAt: clock.now(), countAttempt: false };
    }
  };
}

/** The job runs again, and continues at the position of the other process. */
class ConcurrentComparisonError extends Error {
  constructor() {
    super('another process compares this file');
    this.name = 'Overtaken';
  }
}
