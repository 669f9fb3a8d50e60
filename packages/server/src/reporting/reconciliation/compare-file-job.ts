// Compares in the background: first the lines of the file, then movements that the file lacks.
import type { Kysely } from 'kysely';
import {
  type Clock,
  type Database,
  isoTime,
  type Job,
  type Reschedule,
} from '../../platform/index.ts';
import { nil, type RunQuery, runIn } from '../infrastructure/run-query.ts';
import { compare } from './match-movements.ts';
import type {
  Counts,
  MovementKey,
  ReconciliationRow,
  ReconciliationStore,
} from './reconciliation-sql.ts';

const linesPerStep = 2_000;
/** A reference belongs to one payment, so a file with more lines for one reference is not valid. */
const linesPerReferenceMax = 1_000;
const movementsPerStep = 2_000;
const turnMs = 5_000;
const dayMs = 86_400_000;

export const matchJob = 'reconciliation-match';

export type WorkDeps = {
  readonly database: Pick<Database, 'transaction'>;
  readonly clock: Clock;
  readonly store: ReconciliationStore;
};

/** The position of the comparison: after a reference of the file, or after a movement of a day. */
type Place =
  | { readonly reference: string }
  | { readonly day: string; readonly behind: MovementKey };

const noMovement: MovementKey = { paymentId: nil, sequence: -1 };
const nothing: Counts = { matched: 0, different: 0, missingHere: 0, missingThere: 0 };

const placeOf = ({ place }: ReconciliationRow): Place =>
  place === '' ? { reference: '' } : (JSON.parse(place) as Place);

const dayAfter = (day: string): string =>
  isoTime(Date.parse(`${day}T00:00:00Z`) + dayMs).slice(0, 10);

type Step = { readonly counts: Counts; readonly next: Place | undefined };
/** The failure of a file in which too many lines have the same reference. */
const repeated = 'reference_repeated';

export function createMatchWork({ database, clock, store }: WorkDeps) {
  async function compareLines(
    run: RunQuery,
    row: ReconciliationRow,
    after: string,
  ): Promise<Step | typeof repeated> {
    const at = { ...row, place: after };
    const bound = await store.bound(run, at, linesPerStep);
    const most = linesPerStep + linesPerReferenceMax;
    const theirs = await store.theirs(run, at, bound, most + 1);
    if (theirs.length > most) return repeated;
    const references = [...new Set(theirs.map((line) => line.retrievalReferenceNumber))];
    const found = compare(theirs, await store.ours(run, row, references));
    await store.note(run, row, found, isoTime(clock.now()));
    const count = (outcome: string) => found.filter((each) => each.outcome === outcome).length;
    return {
      counts: {
        ...nothing,
        matched: count('Matched'),
        different: count('Different'),
        missingHere: count('MissingHere'),
      },
      next: bound === undefined ? { day: row.fromDay, behind: noMovement } : { reference: bound },
    };
  }

  async function missDay(
    run: RunQuery,
    row: ReconciliationRow,
    from: { readonly day: string; readonly behind: MovementKey },
  ): Promise<Step> {
    const { missed, count, last } = await store.miss(run, row, from, movementsPerStep);
    const counts = { ...nothing, missingThere: missed };
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
  async function step(trx: Kysely<unknown>, row: ReconciliationRow): Promise<boolean> {
    const run = runIn(trx);
    const place = placeOf(row);
    const done =
      'reference' in place
        ? await compareLines(run, row, place.reference)
        : await missDay(run, row, place);
    if (done === repeated) {
      await store.turn(run, row, { from: 'Matching', to: 'Failed', failure: repeated });
      return false;
    }
    const { counts, next } = done;
    if (!(await store.move(run, row, next === undefined ? 'end' : JSON.stringify(next), counts))) {
      // Another process did this step, so this transaction must be rolled back.
      throw new Overtaken();
    }
    if (next === undefined) await store.complete(run, row, isoTime(clock.now()));
    return next !== undefined;
  }

  return async ({ organizationId, payload }: Job): Promise<Reschedule | undefined> => {
    const reconciliationId = String(payload['reconciliationId']);
    const until = performance.now() + turnMs;
    for (;;) {
      const row = await store.find(organizationId, reconciliationId);
      if (row?.state !== 'Matching') return undefined;
      const isMore = await database.transaction((trx) => step(trx, row));
      if (!isMore) return undefined;
      if (performance.now() > until) return { retryAt: clock.now(), countAttempt: false };
    }
  };
}

/** The job runs again, and continues at the position of the other process. */
class Overtaken extends Error {
  constructor() {
    super('another process compares this file');
    this.name = 'Overtaken';
  }
}
