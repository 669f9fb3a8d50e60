// Tells the acquirer of offline sales: an advice, repeated with the same numbers until it is answered.
import { defined } from '@switchyard/contract';
import { type AcquirerOutcome, isDuplicate, isUndecided } from '../../acquiring/index.ts';
import { type Job, jittered, type Later } from '../../platform/index.ts';
import { graceMs, type PaymentsDeps } from '../deps.ts';
import { alarmAfter, type Lanes, unanswered } from '../recovery/link-queue.ts';
import { repeatDelayMs } from '../recovery/retry-operations.ts';
import { isMalfunction } from '../reversals/operation-outcome.ts';
import { alarmCollision } from '../reversals/schedule-retry.ts';
import { giveWay } from '../reversals/superseded-outcome.ts';
import { createRepeatPlaces } from '../runtime/retry-concurrency.ts';
import { createTurns, type Turn } from '../runtime/send-order.ts';
import { settlementDayOf } from '../transaction/contract-terms.ts';
import { factsOf, type LoadedTransaction, type SaleFacts } from '../transaction/transaction.ts';
import { after, changeOf, type Step } from '../transaction/transition.ts';

export const offlineJob = 'payments.offline';

const sentType = 'transaction.sent';
const rivalsMax = 20;
/** How soon it is looked again whether the link is back; no try is counted. */
const noLinkRetryMs = 2000;
const noPlaceRetryMs = 1000;
const heldRetryMs = 2000;
/** Noted where the host had the numbers of the first advice: that it has them proves nothing then. */
const collision = 'NumbersTaken';

/** @example jobs.handle(offlineJob, createOfflineSender(deps, lanes)); */
export function createOfflineSender(
  deps: PaymentsDeps,
  lanes: Pick<Lanes, 'isHeld'>,
): (job: Job) => Promise<Later | undefined> {
  const places = createRepeatPlaces();
  const turns = createTurns();

  async function tell(job: Job, turn: Turn): Promise<Later | undefined> {
    const { organizationId, payload } = job;
    const { transactionId } = payload as { transactionId: string };
    const loaded = await deps.store.findById(organizationId, transactionId);
    if (loaded === undefined || loaded.row.state !== 'Stored') {
      await deps.offline.forgetChipData(organizationId, transactionId);
      return undefined;
    }
    const { linkId } = factsOf(loaded);
    if (!deps.acquiring.available(linkId)) return notYet(deps, noLinkRetryMs);
    if (await lanes.isHeld(job)) return notYet(deps, heldRetryMs);
    if (!places.take(linkId)) return notYet(deps, noPlaceRetryMs);
    let outcome: AcquirerOutcome | undefined;
    try {
      await turn.mine;
      const sending = await sendable(deps, organizationId, transactionId);
      if (sending === undefined) return notYet(deps, 0);
      deps.failPoints.hit('after-intent');
      const { repeat } = sending;
      outcome = await send(deps, sending, turn.pass);
      return await settle(deps, job, sending.loaded, { outcome, repeat });
    } finally {
      places.release(linkId, isAnswered(outcome));
    }
  }

  return async (job) => {
    // Taken before anything is waited for: jobs are begun in their order.
    const turn = turns.take(job.lane ?? job.jobId);
    try {
      return await tell(job, turn);
    } finally {
      turn.pass();
    }
  };
}

/** What it is no use to send yet counts as no try. */
const notYet = (deps: PaymentsDeps, inMs: number): Later => ({
  retryAt: deps.clock.now() + jittered(inMs),
  untried: true,
});

/** Undefined where it says nothing about the acquirer: nothing left, or the fault is ours. */
function isAnswered(outcome: AcquirerOutcome | undefined): boolean | undefined {
  if (outcome === undefined || outcome.outcome === 'NotSent') return undefined;
  return outcome.outcome !== 'Unknown';
}

type Sendable = {
  loaded: LoadedTransaction;
  repeat: boolean;
  /** Epoch ms. */
  readAt: number;
};

/**
 * The sale as it stands now that its turn has come, marked before the first byte: from then on nobody
 * takes it back without asking the acquirer. Nothing where somebody has done so meanwhile.
 */
async function sendable(
  deps: PaymentsDeps,
  organizationId: string,
  transactionId: string,
): Promise<Sendable | undefined> {
  const readAt = deps.clock.now();
  const loaded = await deps.store.findById(organizationId, transactionId);
  if (loaded?.row.position.phase === 'Sending') return { loaded, repeat: true, readAt };
  if (loaded?.row.position.phase !== 'Stored') return undefined;
  const change = changeOf(loaded.row, {
    at: deps.clock.now(),
    type: sentType,
    changes: { phase: 'Sending' },
  });
  if (!(await deps.store.commit(change))) return undefined;
  return { loaded: after(loaded, change), repeat: false, readAt };
}

async function send(
  deps: PaymentsDeps,
  { loaded, repeat, readAt }: Sendable,
  onSent: () => void,
): Promise<AcquirerOutcome> {
  const { row } = loaded;
  const { organizationId, transactionId } = row;
  const facts = factsOf(loaded);
  const { offline, amounts, panSequence } = facts;
  const card = await deps.vault.reveal(organizationId, facts.card.token, {
    purpose: 'OfflineSale',
    actor: `merchant ${row.merchantId}`,
    subjectId: transactionId,
  });
  if (card === undefined) throw new Error('the vault does not know the card of a sale');
  if (offline === undefined) throw new Error('a stored sale without how it was approved');
  const sealed = await deps.offline.chipData(organizationId, transactionId);
  const chipData =
    sealed && (await deps.vault.open(organizationId, transactionId, sealed)).toString();
  // A process that was stopped for a while must not send what others have taken back meanwhile.
  if (deps.clock.now() > readAt + graceMs)
    return { outcome: 'NotSent', reason: 'too late to send' };
  return deps.acquiring.send(
    {
      kind: 'OfflineSale',
      repeat,
      organizationId,
      transactionId,
      linkId: facts.linkId,
      reference: facts.reference,
      merchantNumber: facts.merchantNumber,
      mcc: facts.mcc,
      amount: row.amount,
      currency: row.currency,
      entryMode: facts.entryMode,
      card,
      authorizationCode: offline.authorizationCode,
      authorizedAt: offline.authorizedAt,
      ...defined({ panSequence, chipData, amounts }),
    },
    () => {
      onSent();
      deps.failPoints.hit('after-send');
    },
  );
}

type Told = { outcome: AcquirerOutcome; repeat: boolean };

/** Makes the answer durable. @returns when to try again, where there is none yet */
async function settle(
  deps: PaymentsDeps,
  job: Job,
  sending: LoadedTransaction,
  told: Told,
): Promise<Later | undefined> {
  const { organizationId, transactionId } = sending.row;
  let standing: LoadedTransaction | undefined = sending;
  for (let attempt = 0; attempt < rivalsMax && standing !== undefined; attempt += 1) {
    const { phase } = standing.row.position;
    if (phase !== 'Sending') {
      await giveWay(deps, standing, told.outcome);
      break;
    }
    const step = answeredStep(deps, standing, told);
    if (step === undefined) {
      const now = await deps.store.findById(organizationId, transactionId);
      if (now?.row.position.phase === 'Sending') return again(deps, job, now, told.outcome);
      standing = now;
      continue;
    }
    const change = changeOf(standing.row, step);
    if (await deps.store.commit(change)) {
      deps.running.changed(transactionId);
      if (step.type !== sentType) break;
      alarmCollision(deps, { transactionId });
      return again(deps, job, standing, told.outcome);
    }
    standing = await deps.store.findById(organizationId, transactionId);
    if (attempt === rivalsMax - 1) throw new Error('an outcome could not be made durable');
  }
  await deps.offline.forgetChipData(organizationId, transactionId);
  return undefined;
}

const hasCollided = ({ events }: LoadedTransaction): boolean =>
  events.some(({ type, data }) => type === sentType && data.reason === collision);

/** What the answer makes of the sale; nothing where it is none. The goods are gone: nothing is reversed. */
function answeredStep(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  { outcome, repeat }: Told,
): Step | undefined {
  const facts = factsOf(loaded);
  switch (outcome.outcome) {
    case 'Approved':
      return capturedStep(deps, facts, outcome.amount, outcome.responseCode);
    case 'Declined': {
      const code = outcome.responseCode;
      // Good news where it was sent before.
      if (isDuplicate(outcome)) {
        if (hasCollided(loaded)) return undefined;
        return repeat
          ? capturedStep(deps, facts, loaded.row.amount, code)
          : { at: deps.clock.now(), type: sentType, changes: {}, data: { reason: collision } };
      }
      if (isMalfunction(outcome) || isUndecided(outcome)) return undefined;
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

function capturedStep(deps: PaymentsDeps, facts: SaleFacts, amount: number, code: string): Step {
  const at = deps.clock.now();
  const authorizationCode = facts.offline?.authorizationCode;
  return {
    at,
    type: 'transaction.captured',
    changes: { phase: 'Approved', authorized: amount, captured: amount },
    data: {
      amount,
      response: { code },
      settlementDate: settlementDayOf(facts, at).date,
      ...defined({ authorizationCode }),
    },
  };
}

function again(
  deps: PaymentsDeps,
  job: Job,
  { row }: LoadedTransaction,
  { outcome }: AcquirerOutcome,
): Later {
  // What did not leave was no try.
  if (outcome === 'NotSent') return notYet(deps, noLinkRetryMs);
  if (job.attempts + 1 === alarmAfter) {
    deps.log.error(
      { transactionId: row.transactionId, attempts: job.attempts + 1 },
      'an offline sale has no answer from the acquirer after many tries',
    );
  }
  const retryAt = deps.clock.now() + jittered(repeatDelayMs(job.attempts));
  return outcome === 'Unknown' ? { retryAt, note: unanswered } : { retryAt };
}
