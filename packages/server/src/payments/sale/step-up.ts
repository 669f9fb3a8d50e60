// Step-up: a sale that repeats a declined contactless sale with PIN or chip. A declined sale has one.

import { type ProcessRequest, refuseField } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type Clock, type Database, isoTime } from '../../platform/index.ts';
import { type FindPorts, findTransaction } from '../runtime/find-transaction.ts';
import { terminalActionFor } from '../transaction/terminal-action.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  type TransactionRecord,
  type TransactionRow,
} from '../transaction/transaction.ts';
import { findSale } from './sale-idempotency.ts';

type DeclinedSaleKey = { organizationId: string; declinedTransactionId: string };

type StepUpStore = {
  /**
   * Claims a declined sale for its one step-up. False when another sale than `takesOver` has claimed it.
   */
  claim(claim: DeclinedSaleKey & { claimedBy: string; takesOver?: string }): Promise<boolean>;
  /** The sale that claims it, and since when, epoch ms. */
  findClaim(declined: DeclinedSaleKey): Promise<{ claimedBy: string; at: number } | undefined>;
};

const claimStatement = {
  name: 'payments-claim-step-up',
  text: `INSERT INTO step_ups AS s (organization_id, declined_transaction_id, claimed_by, created_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (organization_id, declined_transaction_id)
      DO UPDATE SET claimed_by = excluded.claimed_by, created_at = excluded.created_at
      WHERE s.claimed_by = ANY ($5::text[])
    RETURNING declined_transaction_id`,
};

const findClaimText = `SELECT claimed_by, created_at FROM step_ups
  WHERE organization_id = $1 AND declined_transaction_id = $2`;

export function createStepUpStore({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): StepUpStore {
  return {
    async claim({ organizationId, declinedTransactionId, claimedBy, takesOver = claimedBy }) {
      const values = [organizationId, declinedTransactionId, claimedBy, isoTime(clock.now())];
      return (await database.hot(claimStatement, [...values, [claimedBy, takesOver]])).length > 0;
    },
    async findClaim({ organizationId, declinedTransactionId }) {
      const values = [organizationId, declinedTransactionId];
      const [row] = await database.query<{ claimed_by: string; created_at: Date }>(
        findClaimText,
        values,
      );
      return row && { claimedBy: row.claimed_by, at: row.created_at.getTime() };
    },
  };
}

export type StepUpPorts = {
  stepUpStore: StepUpStore;
  transactions: FindPorts['transactions'];
  clock: Clock;
  acquirerTimeoutMs: number;
};

function refuseStepUp(detail: string): never {
  return refuseField('step_up_invalid', '/stepUpOf', detail);
}

type SaleLocation = { merchantId: string; deviceId: string | undefined };

function findStepUpMismatch(
  declined: TransactionRecord,
  request: ProcessRequest,
  location: SaleLocation,
): string | undefined {
  const { row } = declined;
  const action = terminalActionFor(declined);
  if (row.merchantId !== location.merchantId)
    return 'The declined sale belongs to another merchant.';
  if (row.deviceId !== location.deviceId) return 'The declined sale belongs to another device.';
  if (row.amount !== request.amount || row.currency !== request.currency) {
    return 'Amount and currency must equal those of the declined sale.';
  }
  if (row.state !== 'Declined') return 'The sale was not declined.';
  const { entryMode } = authorizationContext(declined);
  if (!entryMode.startsWith('Contactless')) return 'The referenced sale was not contactless.';
  if (action !== 'AskPin' && action !== 'UseChip')
    return 'The decline did not ask for PIN or chip.';
  if (request.entryMode === 'ContactChip') return undefined;
  return action === 'AskPin' && request.pinblock !== undefined
    ? undefined
    : 'A step-up requires a PIN or entryMode ContactChip.';
}

/**
 * Finds the declined sale that a sale steps up, without claiming it.
 *
 * @throws Refusal step_up_invalid, transaction_not_found
 */
export async function findStepUpTarget(
  ports: StepUpPorts,
  caller: Caller,
  request: ProcessRequest,
  location: SaleLocation,
): Promise<TransactionRow | undefined> {
  if (request.stepUpOf === undefined) return undefined;
  const declined = await findTransaction(ports, caller, request.stepUpOf, location.merchantId);
  const mismatch = findStepUpMismatch(declined, request, location);
  if (mismatch !== undefined) refuseStepUp(mismatch);
  return declined.row;
}

/**
 * Claims a declined sale for its one step-up. An earlier step-up loses its claim when it was not sent, or
 * was not stored within the time that a request can take.
 *
 * @throws Refusal step_up_invalid
 */
export async function claimStepUp(
  ports: StepUpPorts,
  declinedSale: TransactionRow,
  clientTransactionId: string,
): Promise<void> {
  const { organizationId, transactionId: declinedTransactionId, merchantId } = declinedSale;
  const claimedBy = `${merchantId}|${clientTransactionId}`;
  const ownClaim = { organizationId, declinedTransactionId, claimedBy };
  if (await ports.stepUpStore.claim(ownClaim)) return;
  const existingClaim = await ports.stepUpStore.findClaim(ownClaim);
  const isTakenOver =
    existingClaim !== undefined &&
    (await isUnusedClaim(ports, declinedSale, existingClaim)) &&
    (await ports.stepUpStore.claim({ ...ownClaim, takesOver: existingClaim.claimedBy }));
  if (!isTakenOver) refuseStepUp('Another step-up of this declined sale exists.');
}

async function isUnusedClaim(
  ports: StepUpPorts,
  { organizationId, merchantId }: TransactionRow,
  { claimedBy, at }: { claimedBy: string; at: number },
): Promise<boolean> {
  const clientTransactionId = claimedBy.slice(`${merchantId}|`.length);
  const sale = await findSale(ports, { organizationId, merchantId, clientTransactionId });
  if (sale === undefined) return ports.clock.now() >= at + ports.acquirerTimeoutMs + commitGraceMs;
  return sale.row.state === 'Failed';
}
