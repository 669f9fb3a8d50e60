// Callers that repeat a sale as fast as PostgreSQL answers: sales per second, and CPU time per sale.
import pg from 'pg';
import { readCpu } from '../report/process-times.ts';
import { costBetween, type Moment, type StepCost } from '../sales/measured-step.ts';

const callersTried = [8, 16, 32, 64];
const leadMs = 500;

/** `cpuUs.server` is the process of the callers. */
export type CallersRun = {
  callers: number;
  salesPerSecond: number;
  cpuUs: StepCost['cpuUs'];
};

export type CallersOptions = {
  connection: pg.PoolConfig;
  postgresPid: number;
  seconds: number;
  /** Before the callers start. */
  prepare(pool: pg.Pool): Promise<unknown>;
  sale(pool: pg.Pool, number: number): Promise<void>;
};

/** The sales of the middle of the time count. */
async function runCallers(options: CallersOptions, callers: number): Promise<CallersRun> {
  const { connection, postgresPid, seconds, prepare, sale } = options;
  const pool = new pg.Pool({ ...connection, max: callers, idleTimeoutMillis: 0 });
  const watched = { server: process.pid, postgres: postgresPid, load: 0 };
  let started = 0;
  let answered = 0;
  let isOver = false;

  async function caller(): Promise<void> {
    while (!isOver) {
      started += 1;
      await sale(pool, started);
      answered += 1;
    }
  }

  function readMoment(): Moment & { ms: number } {
    return { cpu: readCpu(watched), answered, ms: performance.now() };
  }

  try {
    await prepare(pool);
    const running = Promise.all(Array.from({ length: callers }, caller));
    const timed = (async () => {
      await new Promise((resolve) => setTimeout(resolve, leadMs));
      const begin = readMoment();
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      const end = readMoment();
      const salesPerSecond = ((end.answered - begin.answered) * 1000) / (end.ms - begin.ms);
      return { callers, salesPerSecond, cpuUs: costBetween(begin, end).cpuUs };
    })();
    const result = await Promise.race([timed, running.then(() => timed)]);
    isOver = true;
    await running;
    return result;
  } finally {
    isOver = true;
    await pool.end();
  }
}

/** One run for each number of callers. */
export async function measureCallers(options: CallersOptions): Promise<CallersRun[]> {
  const results: CallersRun[] = [];
  for (const callers of callersTried) results.push(await runCallers(options, callers));
  return results;
}

/** The best number of callers of each round. */
export function bestRuns(rounds: readonly CallersRun[][]): CallersRun[] {
  return rounds.flatMap((runs) =>
    runs.toSorted((one, other) => other.salesPerSecond - one.salesPerSecond).slice(0, 1),
  );
}
