// Runs report queries: few at once and with a timeout, so that payments keep the database.
import { ProblemError } from '@switchyard/contract';
import { CompiledQuery } from 'kysely';
import type { Database } from '../../platform/index.ts';
import { type RunQuery, runIn } from './run-query.ts';

/** Most connections of the process stay available for other work. */
const atOnce = 3;
const waitingMax = 60;
const statementTimeoutMs = 5_000;
const retryAfterMs = 2_000;

export type Queries = {
  /** The queries of one call see one snapshot of the database, and time out after some seconds. */
  ask<Result>(work: (run: RunQuery) => Promise<Result>): Promise<Result>;
};

/** @example const page = await queries.ask((run) => findLines(run, classes, search, cut)); */
export function createQueries(database: Pick<Database, 'transaction'>): Queries {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function enter(): Promise<void> {
    if (running < atOnce) {
      running += 1;
      return;
    }
    if (waiting.length >= waitingMax) {
      throw new ProblemError('overloaded', 'Too many reports are asked for at the moment.', {
        retryAfterMs,
      });
    }
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function leave(): void {
    const next = waiting.shift();
    // The place passes directly to the next waiting call, so that no later call can take it.
    if (next === undefined) running -= 1;
    else next();
  }

  return {
    async ask(work) {
      await enter();
      try {
        return await database.transaction(async (trx) => {
          await trx.executeQuery(
            CompiledQuery.raw(
              `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
              SET LOCAL statement_timeout = ${statementTimeoutMs}`,
            ),
          );
          return work(runIn(trx));
        });
      } finally {
        leave();
      }
    },
  };
}
