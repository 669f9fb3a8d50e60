// The fixed line, a process of its own: `pg` does two minimal durable commits per sale. It uses no code of the platform.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { offerFunctions } from '../bench-process.ts';
import {
  commitIntent,
  commitOutcome,
  createFixedTables,
  durableOptions,
  emptyFixedTables,
} from './fixed-commits.ts';
import { type CallersRun, measureCallers } from './measure-callers.ts';

type FixedLineOptions = { url: string; postgresPid: number; seconds: number };

async function sale(pool: pg.Pool): Promise<void> {
  const transactionId = await commitIntent(pool, randomUUID());
  await commitOutcome(pool, transactionId, 'Captured');
}

const functions = {
  async createTables(url: string): Promise<void> {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    await createFixedTables(pool);
    await pool.end();
  },
  /** Runs each number of callers for these seconds. */
  run: ({ url, postgresPid, seconds }: FixedLineOptions): Promise<CallersRun[]> =>
    measureCallers({
      connection: { connectionString: url, options: durableOptions },
      postgresPid,
      seconds,
      prepare: emptyFixedTables,
      sale,
    }),
};
export type FixedLineFunctions = typeof functions;

offerFunctions(functions);
