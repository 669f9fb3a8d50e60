// Submits offline sales as advices and retries with the same references until a response arrives.

import { defined } from '@switchyard/contract';
import {
  type AcquirerOutcome,
  isDuplicateDecline,
  isIndeterminate,
} from '../../acquiring/index.ts';
import { type Job, jittered, type Later } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { isHostError } from '../reversals/operation-outcome.ts';
import { alertReferenceCollision } from '../reversals/schedule-retry.ts';
import { recordSupersededOutcome } from '../reversals/superseded-outcome.ts';
import { type LinkQueue, noResponseNote } from '../runtime/link-queue.ts';
import { createRetryConcurrency } from '../runtime/retry-concurrency.ts';
import { createSendQueue, type SendQueueEntry } from '../runtime/send-order.ts';
import { settlementDayForContext } from '../transaction/contract-terms.ts';
import {
  alertAfterAttempts,
  commitGraceMs,
  linkRetryMs,
  retryDelayMs,
} from '../transaction/timeouts.ts';
import {
  type AuthorizationContext,
  authorizationContext,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, type Transition, withChange } from '../transaction/transition.ts';

export const submitOfflineSaleJob = 'payments.submit-offline-sale';

const sentEventType = 'transaction.sent';
const maxConflictRetries = 20;
/** How soon it is looked again whether the link is back; no try is counted. */
const concurrencyRetryMs = 1000;
const blockedRetryMs = 2000;
/** Noted where the host had the numbers of the first advice: that it has them proves nothing then. */
const collisionReason = 'NumbersTaken';

/** @example jobs.handle(offlineJob, createOfflineSender(deps, lanes)); */
export function createOfflineSubmission(
  deps: PaymentsDeps,
  linkQueue: Pick<LinkQueue, 'isBlocked'>,
): (job: Job) => Promise<Later | undefined> {
  const concurrency = createRetryConcurrency();
  const sendQueue = createSendQueue();

  async function submit(job: Job, queueEntry: SendQueueEntry): Promise<Later | undefined> {
    const { organizationId, payload } = job;
    const { transactionId } = payload as { transactionId: string };
    const transaction = await deps.transactions.findById(organizationId, transactionId);
    if (transaction === undefined || transaction.row.state !== 'Stored') {
      await deps.offlineStore.forgetChipData(organizationId, transactionId);
      return undefined;
    }
    const { linkId } = authorizationContext(transaction);
    if (!deps.acquiring.isLinkAvailable(linkId)) return rescheduleUncounted(deps, linkRetryMs);
    if (await linkQueue.isBlocked(job)) return rescheduleUncounted(deps, blockedRetryMs);
    if (!concurrency.acquire(linkId)) return rescheduleUncounted(deps, concurrencyRetryMs);
    let outcome: AcquirerOutcome | undefined;
    try {
      await queueEntry.ready;
      const submittable = await markSubmitted(deps, organizationId, transactionId);
      if (submittable === undefined) return rescheduleUncounted(deps, 0);
      deps.failPoints.hit('after-intent');
      const { isRepeat: repeat } = submittable;
      outcome = await sendAdvice(deps, submittable, queueEntry.release);
      return await storeOutcome(deps, job, submittable.transaction, { outcome, isRepeat: repeat });
    } finally {
      concurrency.release(linkId, hasHostResponse(outcome));
    }
  }

  return async (job) => {
    // Taken before anything is waited for: jobs are begun in their order.
    const queueEntry = sendQueue.enter(job.lane ?? job.jobId);
    try {
      return await submit(job, queueEntry);
    } finally {
      queueEntry.release();
    }
  };
}

/** What it is no use to send yet counts as no try. */
const rescheduleUncounted = (deps: PaymentsDeps, inMs: number): Later => ({
  retryAt: deps.clock.now() + jittered(inMs),
  untried: true,
});

/** Undefined where it says nothing about the acquirer: nothing left, or the fault is ours. */
function hasHostResponse(outcome: AcquirerOutcome | undefined): boolean | undefined {
  if (outcome === undefined || outcome.outcome === 'NotSent') return undefined;
  return outcome.outcome !== 'Unknown';
}

type SubmittableSale = {
  transaction: TransactionRecord;
  isRepeat: boolean;
  /** Epoch ms. */
  readAt: number;
};

/**
 * The sale as it stands now that its turn has come, marked before the first byte: from then on nobody
 * takes it back without asking the acquirer. Nothing where somebody has done so meanwhile.
 */
async function markSubmitted(
  deps: PaymentsDeps,
  organizationId: string,
  transactionId: string,
): Promise<SubmittableSale | undefined> {
  const readAt = deps.clock.now();
  const transaction = await deps.transactions.findById(organizationId, transactionId);
  if (transaction?.row.position.phase === 'Sending') return { transaction, isRepeat: true, readAt };
  if (transaction?.row.position.phase !== 'Stored') return undefined;
  const change = applyTransition(transaction.row, {
    at: deps.clock.now(),
    type: sentEventType,
    changes: { phase: 'Sending' },
  });
  if (!(await deps.transactions.update(change))) return undefined;
  return { transaction: withChange(transaction, change), isRepeat: false, readAt };
}

async function sendAdvice(
  deps: PaymentsDeps,
  { transaction, isRepeat: repeat, readAt }: SubmittableSale,
  onPossiblySent: () => void,
): Promise<AcquirerOutcome> {
  const { row } = transaction;
  const { organizationId, transactionId } = row;
  const context = authorizationContext(transaction);
  const { offline, amounts, panSequence } = context;
  const card = await deps.vault.reveal(organizationId, context.card.token, {
    purpose: 'OfflineSale',
    actor: `merchant ${row.merchantId}`,
    subjectId: transactionId,
  });
  if (card === undefined) throw new Error('the vault does not know the card of a sale');
  if (offline === undefined) throw new Error('the stored sale has no offline data');
  const encryptedChipData = await deps.offlineStore.chipData(organizationId, transactionId);
  const chipData =
    encryptedChipData &&
    (await deps.vault.open(organizationId, transactionId, encryptedChipData)).toString();
  // A process that was stopped for a while must not send what others have taken back meanwhile.
  if (deps.clock.now() > readAt + commitGraceMs)
    return { outcome: 'NotSent', reason: 'send deadline has passed' };
  return deps.acquiring.send(
    {
      kind: 'OfflineSale',
      repeat,
      organizationId,
      transactionId,
      linkId: context.linkId,
      reference: context.reference,
      merchantNumber: context.merchantNumber,
      mcc: context.mcc,
      amount: row.amount,
      currency: row.currency,
      entryMode: context.entryMode,
      card,
      authorizationCode: offline.authorizationCode,
      authorizedAt: offline.authorizedAt,
      ...defined({ panSequence, chipData, amounts }),
    },
    () => {
      onPossiblySent();
      deps.failPoints.hit('after-send');
    },
  );
}

type SubmissionResult = { outcome: AcquirerOutcome; isRepeat: boolean };

/** Makes the answer durable. @returns when to try again, where there is none yet */
async function storeOutcome(
  deps: PaymentsDeps,
  job: Job,
  transaction: TransactionRecord,
  result: SubmissionResult,
): Promise<Later | undefined> {
  const { organizationId, transactionId } = transaction.row;
  let current: TransactionRecord | undefined = transaction;
  for (let attempt = 0; attempt < maxConflictRetries && current !== undefined; attempt += 1) {
    const { phase } = current.row.position;
    if (phase !== 'Sending') {
      await recordSupersededOutcome(deps, current, result.outcome);
      break;
    }
    const transition = outcomeTransition(deps, current, result);
    if (transition === undefined) {
      const latest = await deps.transactions.findById(organizationId, transactionId);
      if (latest?.row.position.phase === 'Sending')
        return rescheduleRetry(deps, job, latest, result.outcome);
      current = latest;
      continue;
    }
    const change = applyTransition(current.row, transition);
    if (await deps.transactions.update(change)) {
      deps.inFlightTransactions.notifyChange(transactionId);
      if (transition.type !== sentEventType) break;
      alertReferenceCollision(deps, { transactionId });
      return rescheduleRetry(deps, job, current, result.outcome);
    }
    current = await deps.transactions.findById(organizationId, transactionId);
    if (attempt === maxConflictRetries - 1)
      throw new Error('the outcome could not be stored after all retries');
  }
  await deps.offlineStore.forgetChipData(organizationId, transactionId);
  return undefined;
}

const hasReferenceCollision = ({ events }: TransactionRecord): boolean =>
  events.some(({ type, data }) => type === sentEventType && data.reason === collisionReason);

/** What the answer makes of the sale; nothing where it is none. The goods are gone: nothing is reversed. */
function outcomeTransition(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  { outcome, isRepeat: repeat }: SubmissionResult,
): Transition | undefined {
  const context = authorizationContext(transaction);
  switch (outcome.outcome) {
    case 'Approved':
      return captureTransition(deps, context, outcome.amount, outcome.responseCode);
    case 'Declined': {
      const code = outcome.responseCode;
      // Good news where it was sent before.
      if (isDuplicateDecline(outcome)) {
        if (hasReferenceCollision(transaction)) return undefined;
        return repeat
          ? captureTransition(deps, context, transaction.row.amount, code)
          : {
              at: deps.clock.now(),
              type: sentEventType,
              changes: {},
              data: { reason: collisionReason },
            };
      }
      if (isHostError(outcome) || isIndeterminate(outcome)) return undefined;
      return {
        at: deps.clock.now(),
        type: 'transaction.declined',
        changes: { phase: 'Declined' },
        data: { response: { code } },
      };
    }
    default:
      return undefined;
  }
}

function captureTransition(
  deps: PaymentsDeps,
  context: AuthorizationContext,
  amount: number,
  code: string,
): Transition {
  const at = deps.clock.now();
  const authorizationCode = context.offline?.authorizationCode;
  return {
    at,
    type: 'transaction.captured',
    changes: { phase: 'Approved', authorized: amount, captured: amount },
    data: {
      amount,
      response: { code },
      settlementDate: settlementDayForContext(context, at).date,
      ...defined({ authorizationCode }),
    },
  };
}

function rescheduleRetry(
  deps: PaymentsDeps,
  job: Job,
  { row }: TransactionRecord,
  { outcome }: AcquirerOutcome,
): Later {
  // What did not leave was no try.
  if (outcome === 'NotSent') return rescheduleUncounted(deps, linkRetryMs);
  if (job.attempts + 1 === alertAfterAttempts) {
    deps.log.error(
      { transactionId: row.transactionId, attempts: job.attempts + 1 },
      'an offline sale has no response from the acquirer after many attempts',
    );
  }
  const retryAt = deps.clock.now() + jittered(retryDelayMs(job.attempts));
  return outcome === 'Unknown' ? { retryAt, note: noResponseNote } : { retryAt };
}
