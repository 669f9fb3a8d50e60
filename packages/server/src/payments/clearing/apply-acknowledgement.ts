// Applies an acknowledgement to the captures of a clearing file. An interrupted job continues safely.
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { createKeyedQueue, type Job, type Reschedule } from '../../platform/index.ts';
import {
  type StoreOutcomePorts,
  storeOperationOutcome,
} from '../operations/store-operation-outcome.ts';
import { createPacer } from '../runtime/capture-concurrency.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { operationByNumber } from '../transaction/transaction.ts';
import type { ClearingLineRow, ClearingStore } from './clearing-sql.ts';

export const applyAcknowledgementJob = 'payments.apply-acknowledgement';

const pageSize = 500;
const maxConcurrentLines = 16;
/** Low rate: no caller waits for this job. */
const linesPerSecond = 1000;
const approvedCode = '00';

type Ports = StoreOutcomePorts & {
  clearing: Pick<ClearingStore, 'listLines' | 'settleLines' | 'settleFile'>;
  inFlightTransactions: Pick<InFlightTransactions, 'isStopping'>;
};

const lineOutcome = ({ amount, code }: ClearingLineRow): AcquirerOutcome =>
  code === null
    ? { outcome: 'Approved', responseCode: approvedCode, amount }
    : { outcome: 'Declined', responseCode: code };

/** @example jobs.handle(applyAcknowledgementJob, createAcknowledgementHandler(ports)); */
export function createAcknowledgementHandler(
  ports: Ports,
): (job: Job) => Promise<Reschedule | undefined> {
  const lineQueue = createKeyedQueue(maxConcurrentLines);
  const waitForSlot = createPacer(ports.clock, () => linesPerSecond);

  async function settleLine(organizationId: string, row: ClearingLineRow) {
    const release = await lineQueue.acquire(organizationId);
    try {
      await waitForSlot();
      const { transactionId, operationNumber } = row;
      const transaction = await ports.transactions.findById(organizationId, transactionId);
      if (transaction === undefined) {
        throw new Error(`transaction ${transactionId} of a clearing line does not exist`);
      }
      const result = await storeOperationOutcome(
        ports,
        transaction,
        operationNumber,
        lineOutcome(row),
      );
      const operation = operationByNumber(result.transaction, operationNumber);
      return { line: row.line, accepted: operation?.status === 'Succeeded' };
    } finally {
      release();
    }
  }

  return async ({ organizationId, payload }) => {
    const { fileId } = payload as { fileId: string };
    const key = { organizationId, fileId };
    for (let after = 0; ; ) {
      const page = { ...key, after, limit: pageSize, status: 'Filed' };
      const rows = await ports.clearing.listLines(page);
      const settledLines = await Promise.all(rows.map((row) => settleLine(organizationId, row)));
      await ports.clearing.settleLines(key, settledLines);
      if (ports.inFlightTransactions.isStopping())
        return { retryAt: ports.clock.now(), countAttempt: false };
      if (rows.length < pageSize) break;
      after = rows.at(-1)?.line ?? after;
    }
    await ports.clearing.settleFile(key);
    return undefined;
  };
}
