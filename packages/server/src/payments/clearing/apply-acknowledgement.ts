// Applies an acknowledgement to the captures of a clearing file. An interrupted job continues safely.
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { Job, Later } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { settleOperation } from '../operations/settle-operation.ts';
import { createLinkConcurrency, createPacer } from '../runtime/link-concurrency.ts';
import type { ClearingLineRow, ClearingStore } from './clearing-sql.ts';

export const applyAcknowledgementJob = 'payments.apply-acknowledgement';

const pageSize = 500;
const maxConcurrentLines = 16;
/** Low rate: no caller waits for this job. */
const linesPerSecond = 1000;
const approvedCode = '00';

export type AcknowledgementDeps = PaymentsDeps & { clearing: ClearingStore };

function lineOutcome({ amount, code }: ClearingLineRow): AcquirerOutcome {
  if (code !== undefined) return { outcome: 'Declined', responseCode: code };
  return { outcome: 'Approved', responseCode: approvedCode, amount };
}

/** @example jobs.handle(clearingJob, createClearingWork(deps)); */
export function createAcknowledgementHandler(
  deps: AcknowledgementDeps,
): (job: Job) => Promise<Later | undefined> {
  const concurrency = createLinkConcurrency(maxConcurrentLines);
  const waitForSlot = createPacer(deps.clock, () => linesPerSecond);

  async function settleLine(organizationId: string, row: ClearingLineRow) {
    const release = await concurrency.acquire(organizationId);
    try {
      await waitForSlot();
      const { transactionId, operationNumber: number } = row;
      const transaction = await deps.transactions.findById(organizationId, transactionId);
      if (transaction === undefined)
        throw new Error('the transaction of a clearing line does not exist');
      const settled = await settleOperation(deps, transaction, number, lineOutcome(row));
      const operation = settled.transaction.operations.find((each) => each.number === number);
      return { line: row.line, accepted: operation?.status === 'Succeeded' };
    } finally {
      release();
    }
  }

  return async (job) => {
    const { organizationId } = job;
    const { fileId } = job.payload as { fileId: string };
    const key = { organizationId, fileId };
    for (let after = 0; ; ) {
      const rows = await deps.clearing.lines({ ...key, after, limit: pageSize, status: 'Filed' });
      const settled = await Promise.all(rows.map((row) => settleLine(organizationId, row)));
      await deps.clearing.settleLines(key, settled);
      if (deps.inFlightTransactions.isStopping())
        return { retryAt: deps.clock.now(), untried: true };
      if (rows.length < pageSize) break;
      after = rows.at(-1)?.line ?? after;
    }
    await deps.clearing.settleFile(key);
    return undefined;
  };
}
