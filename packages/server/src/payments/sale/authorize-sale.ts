// Speaks to the acquirer about a sale whose intent is durable, and makes the outcome durable.
import { defined, type ProcessRequest } from '@switchyard/contract';
import { type AcquirerOutcome, isDuplicate, mayBeBooked } from '../../acquiring/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import type { PaymentsDeps } from '../deps.ts';
import { confirmationOf } from '../operations/confirm-sale.ts';
import { reversalStep } from '../reversals/create-reversal.ts';
import { noteUnsent } from '../reversals/schedule-retry.ts';
import { giveWay } from '../reversals/superseded-outcome.ts';
import { outlast } from '../runtime/retry-while-database-down.ts';
import { settlementDayOf } from '../transaction/contract-terms.ts';
import type { Change, LoadedTransaction, SaleFacts } from '../transaction/transaction.ts';
import { after, changeOf, type Step } from '../transaction/transition.ts';
import { addressCheckOf } from '../validation/validate-sale-request.ts';
import { sendAlongRoutes } from './acquirer-failover.ts';

/** A sale that is durable and not yet sent; the card lives here and nowhere else. */
export type Intent = {
  request: ProcessRequest;
  card: PresentedCard;
  loaded: LoadedTransaction;
  facts: SaleFacts;
  /** The contracts that may be asked where nothing of it was sent. */
  others?: readonly AcquirerContract[];
};

/** Changes that may come between an intent and its outcome, such as late answers. */
const rivalsMax = 10;

/** @returns the transaction with what became of it */
export async function settleSale(deps: PaymentsDeps, first: Intent): Promise<LoadedTransaction> {
  deps.failPoints.hit('after-intent');
  const { organizationId, transactionId, deadline } = first.loaded.row;
  // A process that was stopped for a while must not send what others have given up meanwhile.
  const isTooLate = deps.clock.now() > deadline - deps.acquirerTimeoutMs;
  const { intent, outcome } = isTooLate
    ? { intent: first, outcome: { outcome: 'NotSent', reason: 'too late to send' } as const }
    : await sendAlongRoutes(deps, first, (each, onSent) => send(deps, each, onSent));
  noteUnsent(deps, outcome, { transactionId });
  let standing = intent.loaded;
  for (let attempt = 0; attempt < rivalsMax; attempt += 1) {
    if (standing.row.position.phase !== 'Received') return giveWay(deps, standing, outcome);
    const step = await stepOf(deps, { ...intent, loaded: standing }, outcome);
    const change = changeOf(standing.row, step);
    if (await commitInTime(deps, change)) {
      deps.running.changed(transactionId);
      const settled = after(standing, change);
      deps.recent?.note(settled);
      return settled;
    }
    const found = await deps.store.findById(organizationId, transactionId);
    if (found === undefined) throw new Error('an intent has vanished');
    standing = found;
  }
  throw new Error('an outcome could not be made durable');
}

// A database that restarts must not cost an approved sale: its outcome is kept until the deadline.
const commitInTime = (deps: PaymentsDeps, change: Change): Promise<boolean> =>
  outlast(deps, change.before.deadline, () => deps.store.commit(change));

function send(deps: PaymentsDeps, intent: Intent, onSent: () => void): Promise<AcquirerOutcome> {
  const { request, card, facts, loaded } = intent;
  const addressCheck = addressCheckOf(request);
  return deps.acquiring.send(
    {
      kind: facts.kind,
      repeat: false,
      organizationId: loaded.row.organizationId,
      transactionId: loaded.row.transactionId,
      linkId: facts.linkId,
      reference: facts.reference,
      merchantNumber: facts.merchantNumber,
      mcc: facts.mcc,
      amount: request.amount,
      currency: request.currency,
      entryMode: request.entryMode,
      card: { pan: card.pan, expiry: card.expiry },
      ...defined({
        sensitive: card.sensitive,
        panSequence: card.panSequence,
        chipData: card.chipData,
        isRemoteOrder: request.orderChannel === undefined ? undefined : true,
        addressCheck,
        amounts: facts.amounts,
      }),
    },
    () => {
      onSent();
      deps.failPoints.hit('after-send');
    },
  );
}

/** What is captured with the sale belongs to the store's day. */
function settlementOf(facts: SaleFacts, at: number): { settlementDate?: string } {
  return facts.kind === 'Sale' ? { settlementDate: settlementDayOf(facts, at).date } : {};
}

function issuerMembers(outcome: { issuerData?: string; addressResult?: string }) {
  const { issuerData, addressResult } = outcome;
  return defined({ issuerData, addressResult });
}

/** What an outcome makes of the sale; an unknown one is not approved and is reversed. */
async function stepOf(deps: PaymentsDeps, intent: Intent, outcome: AcquirerOutcome): Promise<Step> {
  const at = deps.clock.now();
  switch (outcome.outcome) {
    case 'Approved': {
      const { amount, responseCode, authorizationCode } = outcome;
      if (amount < intent.request.amount && !intent.facts.partialApproval) {
        return reversalStep(deps, intent.loaded, {
          at,
          reason: 'PartialApproval',
          response: { code: responseCode },
          authorizationCode,
          details: { approvedAtHost: true },
        });
      }
      const captured = intent.facts.kind === 'Sale' ? { captured: amount } : {};
      const { transactionId } = intent.loaded.row;
      const awaited = confirmationOf(deps, { transactionId, facts: intent.facts, at });
      return {
        at,
        type: intent.facts.kind === 'Sale' ? 'transaction.captured' : 'transaction.authorized',
        changes: { phase: awaited ? 'Unconfirmed' : 'Approved', authorized: amount, ...captured },
        ...defined({ job: awaited?.job }),
        data: {
          amount,
          ...settlementOf(intent.facts, at),
          response: { code: responseCode },
          ...defined({ confirmBy: awaited?.confirmBy, authorizationCode }),
          ...issuerMembers(outcome),
        },
      };
    }
    case 'Declined':
      if (mayBeBooked(outcome)) {
        return reversalStep(deps, intent.loaded, {
          at,
          reason: isDuplicate(outcome) ? 'Duplicate' : 'Undecided',
          response: { code: outcome.responseCode },
          issuer: issuerMembers(outcome),
        });
      }
      return {
        at,
        type: 'transaction.declined',
        changes: { phase: 'Declined' },
        data: {
          response: { code: outcome.responseCode },
          ...issuerMembers(outcome),
        },
      };
    case 'NotSent':
      return {
        at,
        type: 'transaction.failed',
        changes: { phase: 'Failed' },
        data: { reason: 'AcquirerUnavailable' },
      };
    default:
      return reversalStep(deps, intent.loaded, { at, reason: outcome.reason });
  }
}
