// Step-up: validates a sale that repeats a declined contactless sale with PIN or chip.

import { type ProcessRequest, refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type Clock, type Database, isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { findTransaction } from '../runtime/find-transaction.ts';
import { terminalActionFor } from '../transaction/terminal-action.ts';
import { commitGraceMs } from '../transaction/timeouts.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';

type DeclinedSaleKey = { organizationId: string; declinedId: string };

export type StepUpStore = {
  /**
   * Takes a declined sale for the one step-up it has. False where another sale has taken it, unless that
   * is the one that it `takesOver`.
   */
  claim(claim: DeclinedSaleKey & { takenBy: string; takesOver?: string }): Promise<boolean>;
  /** The sale that has it, and since when, epoch ms. */
  findClaim(declined: DeclinedSaleKey): Promise<{ takenBy: string; at: number } | undefined>;
};

const claimStatement = {
  name: 'payments-step-up',
  text: `INSERT INTO step_ups AS s (organization_id, declined_id, taken_by, created_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (organization_id, declined_id)
      DO UPDATE SET taken_by = excluded.taken_by, created_at = excluded.created_at
      WHERE s.taken_by = ANY ($5::text[])
    RETURNING declined_id`,
};

const findClaimText = `SELECT taken_by, created_at FROM step_ups
  WHERE organization_id = $1 AND declined_id = $2`;

/** @example const free = await stepUps.take({ organizationId, declinedId, takenBy }); */
export function createStepUpStore({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): StepUpStore {
  return {
    async claim({ organizationId, declinedId, takenBy, takesOver = takenBy }) {
      const values = [organizationId, declinedId, takenBy, isoTime(clock.now())];
      return (await database.hot(claimStatement, [...values, [takenBy, takesOver]])).length > 0;
    },
    async findClaim({ organizationId, declinedId }) {
      const values = [organizationId, declinedId];
      const [row] = await database.query<{ taken_by: string; created_at: Date }>(
        findClaimText,
        values,
      );
      return row && { takenBy: row.taken_by, at: row.created_at.getTime() };
    },
  };
}

function refuseStepUp(detail: string): never {
  return refuse('step_up_invalid', detail, {
    errors: [{ pointer: '/stepUpOf', code: 'step_up_invalid', detail }],
  });
}

type SaleLocation = { merchantId: string; deviceId: string | undefined };

/** What differs between a sale and the declined one that it says it repeats. */
function findStepUpMismatch(
  { row, ...declined }: TransactionRecord,
  request: ProcessRequest,
  location: SaleLocation,
): string | undefined {
  const action = terminalActionFor({ row, ...declined });
  if (row.merchantId !== location.merchantId)
    return 'The declined sale belongs to another merchant.';
  if (row.deviceId !== location.deviceId) return 'The declined sale belongs to another device.';
  if (row.amount !== request.amount || row.currency !== request.currency) {
    return 'Amount and currency must equal those of the declined sale.';
  }
  if (row.state !== 'Declined') return 'The sale was not declined.';
  const { entryMode } = authorizationContext({ row, ...declined });
  if (!entryMode.startsWith('Contactless')) return 'The referenced sale was not contactless.';
  if (action !== 'AskPin' && action !== 'UseChip')
    return 'The decline did not ask for PIN or chip.';
  if (request.entryMode === 'ContactChip') return undefined;
  return action === 'AskPin' && request.pinblock !== undefined
    ? undefined
    : 'A step-up requires a PIN or entryMode ContactChip.';
}

export type StepUpTarget = { transactionId: string; clientTransactionId: string };

/**
 * The declined sale that a sale steps up. It is not taken by this.
 *
 * @returns its identifiers, or undefined for a sale that names none
 * @throws Refusal step_up_invalid; transaction_not_found for what the caller cannot see
 */
export async function findStepUpTarget(
  deps: PaymentsDeps,
  caller: Caller,
  request: ProcessRequest,
  location: SaleLocation,
): Promise<StepUpTarget | undefined> {
  if (request.stepUpOf === undefined) return undefined;
  const declined = await findTransaction(deps, caller, request.stepUpOf, location.merchantId);
  const mismatch = findStepUpMismatch(declined, request, location);
  if (mismatch !== undefined) refuseStepUp(mismatch);
  const { transactionId, clientTransactionId } = declined.row;
  return { transactionId, clientTransactionId };
}

type StepUpDeps = Pick<
  PaymentsDeps,
  'stepUpStore' | 'transactions' | 'clock' | 'acquirerTimeoutMs'
>;

/**
 * Takes a declined sale for its one step-up: the first, or one after another that came to nothing, of which
 * nothing was sent, or nothing was stored in all the time that a request can take.
 *
 * @throws Refusal step_up_invalid
 */
export async function claimStepUp(
  deps: StepUpDeps,
  claim: DeclinedSaleKey & { merchantId: string; clientTransactionId: string },
): Promise<void> {
  const { organizationId, declinedId, merchantId, clientTransactionId } = claim;
  const ownClaim = { organizationId, declinedId, takenBy: `${merchantId}|${clientTransactionId}` };
  if (await deps.stepUpStore.claim(ownClaim)) return;
  const existingClaim = await deps.stepUpStore.findClaim(ownClaim);
  if (existingClaim !== undefined && (await isUnusedClaim(deps, { ...claim, ...existingClaim }))) {
    if (await deps.stepUpStore.claim({ ...ownClaim, takesOver: existingClaim.takenBy })) return;
  }
  refuseStepUp('Another step-up of this declined sale exists.');
}

/** One that runs, or whose money may have moved, keeps it. */
async function isUnusedClaim(
  deps: StepUpDeps,
  claim: { organizationId: string; merchantId: string; takenBy: string; at: number },
): Promise<boolean> {
  const { organizationId, merchantId, takenBy, at } = claim;
  const claimantId = takenBy.slice(`${merchantId}|`.length);
  const [sale] = await deps.transactions.findByClientId(organizationId, claimantId, merchantId);
  if (sale === undefined) return deps.clock.now() >= at + deps.acquirerTimeoutMs + commitGraceMs;
  return sale.row.state === 'Failed';
}
