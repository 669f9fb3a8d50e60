// Settles the captures of an acknowledged clearing file, each once, however often it is interrupted.
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { Job, Later } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { settleOperation } from '../operations/run-operation.ts';
import { createBatchPlaces, createPace } from '../runtime/link-concurrency.ts';
import type { ClearingStore, LineRow } from './clearing-sql.ts';

export const clearingJob = 'payments.clearing';

const pageSize = 500;
const placesMax = 16;
/** Nobody waits for it. */
const linesPerSecond = 1000;
const approvedCode = '00';

export type SettleDeps = PaymentsDeps & { clearing: ClearingStore };

function outcomeOf({ amount, code }: LineRow): AcquirerOutcome {
  if (code !== undefined) return { outcome: 'Declined', responseCode: code };
  return { outcome: 'Approved', responseCode: approvedCode, amount };
}

/** @example jobs.handle(clearingJob, createClearingWork(deps)); */
export function createClearingWork(deps: SettleDeps): (job: Job) => Promise<Later | undefined> {
  const places = createBatchPlaces(placesMax);
  const pace = createPace(deps.clock, () => linesPerSecond);

  async function settleLine(organizationId: string, row: LineRow) {
    const leave = await places.enter(organizationId);
    try {
      await pace();
      const { transactionId, number } = row;
      const loaded = await deps.store.findById(organizationId, transactionId);
      if (loaded === undefined) throw new Error('a transaction of a clearing file has vanished');
      const standing = await settleOperation(deps, loaded, number, outcomeOf(row));
      const operation = standing.operations.find((each) => each.number === number);
      return { line: row.line, accepted: operation?.status === 'Succeeded' };
    } finally {
      leave();
    }
  }

  return async (job) => {
    const { organizationId } = job;
    const { fileId } = job.payload as { fileId: string };
    const key = { organizationId, fileId };
    for (let after = 0; ; ) {
      const rows = await deps.clearing.lines({ ...key, after, limit: pageSize, status: 'Filed' });
      const settled = await Promise.all(rows.map((row) => settleLine(organizationId, row)));
      await deps.clearing.settle(key, settled);
      if (deps.running.isStopping()) return { retryAt: deps.clock.now(), untried: true };
      if (rows.length < pageSize) break;
      after = rows.at(-1)?.line ?? after;
    }
    await deps.clearing.finish(key);
    return undefined;
  };
}
