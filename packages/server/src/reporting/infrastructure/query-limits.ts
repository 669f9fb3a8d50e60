// Runs report queries: few at once and with a timeout, so that payments keep the database.
import { ProblemError } from '@switchyard/contract';
import { createConcurrencyLimit, type Database, type Queries } from '../../platform/index.ts';

/** Most connections of the process stay available for other work. */
const maxConcurrentQueries = 3;
const maxWaitingQueries = 60;
const statementTimeoutMs = 5_000;
const retryAfterMs = 2_000;

export type ReportQueryRunner = {
  /** The queries of one call see one snapshot of the database, and time out after some seconds. */
  run<Result>(work: (trx: Queries) => Promise<Result>): Promise<Result>;
};

/** @example const page = await queries.run((trx) => findPayments(trx, paymentClasses, search, page)); */
export function createReportQueryRunner(
  database: Pick<Database, 'transaction'>,
): ReportQueryRunner {
  const limit = createConcurrencyLimit({
    maxConcurrent: maxConcurrentQueries,
    waitLimit: {
      maxWaiting: maxWaitingQueries,
      error: () =>
        new ProblemError('overloaded', 'Too many report requests run at the moment; retry later.', {
          retryAfterMs,
        }),
    },
  });
  return {
    run: (work) =>
      limit.run(() =>
        database.transaction(async (trx) => {
          await trx.query(
            `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
            SET LOCAL statement_timeout = ${statementTimeoutMs}`,
          );
          return work(trx);
        }),
      ),
  };
}
