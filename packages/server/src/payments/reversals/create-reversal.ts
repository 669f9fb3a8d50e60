// Takes a sale back whose outcome nobody knows: decided not approved, and reversed until it is so.

import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { graceMs } from '../deps.ts';
import { outlast } from '../runtime/retry-while-database-down.ts';
import {
  type EventData,
  factsOf,
  type JobRequest,
  type LoadedTransaction,
  type OperationDetails,
  type StoredOperation,
} from '../transaction/transaction.ts';
import { after, changeOf, type Step } from '../transaction/transition.ts';

export const repeatJob = 'payments.repeat';

export type ReversalReason = {
  /** Epoch ms. */
  at: number;
  reason: string;
  /** Minor units; the whole sale where left out. */
  amount?: number;
  response?: { code: string };
  /** What the issuer says to the chip and of the address. */
  issuer?: Pick<EventData, 'issuerData' | 'addressResult'>;
  /** The host's, which its reversal names again. */
  authorizationCode?: string | undefined;
  /** Epoch ms before which the reversal is not sent; now where left out. */
  notBefore?: number;
  clientOperationId?: string | undefined;
  details?: Partial<OperationDetails>;
};

/** The job that sends an operation, and sends it again until it is answered. */
export function repeatJobFor(
  deps: PaymentsDeps,
  transactionId: string,
  number: number,
  dueAt: number,
  { sent = false, lane }: { sent?: boolean; lane?: string } = {},
): JobRequest {
  return {
    jobId: deps.ids.uuid(),
    kind: repeatJob,
    // What may have been sent before travels with the repeat digit from the first job on.
    payload: { transactionId, number, ...(sent ? { sent } : {}) },
    dueAt: isoTime(dueAt),
    ...defined({ lane }),
  };
}

/** A new reference of the terminal that made the sale. */
export function nextReferenceFor(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  kind: 'Capture' | 'Refund' | 'Reversal',
) {
  const { row } = loaded;
  return deps.acquiring.nextReference({
    organizationId: row.organizationId,
    contractId: row.contractId,
    holderId: row.deviceId ?? row.contractId,
    kind,
    timeZone: factsOf(loaded).timeZone,
  });
}

/** Puts the reversal into the same commit as the decision that the sale is not approved. */
export async function reversalStep(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  of: ReversalReason,
): Promise<Step> {
  const { row } = loaded;
  const number = row.operationCount + 1;
  const at = isoTime(of.at);
  const reference = await nextReferenceFor(deps, loaded, 'Reversal');
  const operation: StoredOperation = {
    number,
    operationId: deps.ids.uuid(),
    kind: 'Reversal',
    status: 'Pending',
    amount: of.amount ?? row.amount,
    clientOperationId: of.clientOperationId,
    details: { request: {}, cancelReason: 'Technical', cause: of.reason, ...of.details, reference },
    deadline: of.at + deps.acquirerTimeoutMs + graceMs,
    createdAt: at,
    updatedAt: at,
  };
  const dueAt = of.notBefore ?? of.at;
  return {
    at: of.at,
    type: 'transaction.reversal_queued',
    changes: { phase: 'Reversing' },
    data: {
      reason: of.reason,
      ...defined({ response: of.response }),
      ...of.issuer,
      ...defined({ authorizationCode: of.authorizationCode }),
    },
    operation,
    job: repeatJobFor(deps, row.transactionId, number, dueAt, { lane: factsOf(loaded).linkId }),
  };
}

const rivalsMax = 20;
/** What is known of the host is known here alone: a database that restarts must not cost it. */
const patienceMs = 120_000;

/**
 * Reverses once more what was reversed before and may be held at the acquirer all the same.
 *
 * @returns the transaction as it stands then
 */
export async function reverseAgain(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  reason: string,
  { approvedAtHost }: { approvedAtHost: boolean },
): Promise<LoadedTransaction> {
  const until = deps.clock.now() + patienceMs;
  let standing = loaded;
  for (let attempt = 0; attempt < rivalsMax; attempt += 1) {
    if (standing.row.position.phase !== 'Reversed') return standing;
    const details = approvedAtHost ? { approvedAtHost } : {};
    const step = await reversalStep(deps, standing, { at: deps.clock.now(), reason, details });
    const change = changeOf(standing.row, step);
    if (await outlast(deps, until, () => deps.store.commit(change))) {
      deps.running.changed(standing.row.transactionId);
      deps.jobs.poke();
      return after(standing, change);
    }
    const { organizationId, transactionId } = standing.row;
    const found = await outlast(deps, until, () =>
      deps.store.findById(organizationId, transactionId),
    );
    standing = found ?? standing;
  }
  throw new Error('a second reversal could not be made durable');
}
