// Step-up: a sale that repeats a declined contactless sale with PIN or chip. A declined sale has one.
import { throwFieldProblem } from '@switchyard/contract';
import { bucketOf, type Clock, type Database, isoTime } from '../../platform/index.ts';
import { type FindPorts, findTransaction } from '../runtime/find-transaction.ts';
import { terminalActionFor } from '../transaction/terminal-action.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  type TransactionRecord,
  type TransactionRow,
} from '../transaction/transaction.ts';
import type { PreparedSale } from './prepare-sale.ts';
import { findSale } from './sale-idempotency.ts';

type Claim = {
  organizationId: string;
  declinedTransactionId: string;
  /** Key of the sale that steps up. */
  claimedBy: string;
  /** Key of an earlier sale whose claim this sale may take. */
  takesOver?: string;
};

const claimStatement = {
  name: 'payments-claim-step-up',
  text: `INSERT INTO step_ups AS s (bucket, organization_id, declined_transaction_id, claimed_by, created_at)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (bucket, declined_transaction_id)
      DO UPDATE SET claimed_by = excluded.claimed_by, created_at = excluded.created_at
      WHERE s.claimed_by = ANY ($6::text[])
    RETURNING declined_transaction_id`,
};

const findClaimText = `SELECT claimed_by AS "claimedBy", created_at AS "claimedAt" FROM step_ups
  WHERE bucket = $1 AND organization_id = $2 AND declined_transaction_id = $3`;

export function createStepUpStore({ database, clock }: { database: Database; clock: Clock }) {
  return {
    /** Claims a declined sale for its one step-up. False if another sale than `takesOver` has claimed it. */
    async claim(claim: Claim): Promise<boolean> {
      const { organizationId, declinedTransactionId, claimedBy, takesOver = claimedBy } = claim;
      const values = [
        bucketOf(declinedTransactionId),
        organizationId,
        declinedTransactionId,
        claimedBy,
        isoTime(clock.now()),
        [claimedBy, takesOver],
      ];
      return (await database.hot(claimStatement, values)).length > 0;
    },
    async findClaim({ organizationId, declinedTransactionId }: Claim) {
      type Row = { claimedBy: string; claimedAt: Date };
      const values = [bucketOf(declinedTransactionId), organizationId, declinedTransactionId];
      return (await database.query<Row>(findClaimText, values))[0];
    },
  };
}

export type StepUpPorts = FindPorts & {
  stepUpStore: ReturnType<typeof createStepUpStore>;
  clock: Clock;
  acquirerTimeoutMs: number;
};

function throwStepUpProblem(detail: string): never {
  return throwFieldProblem('step_up_invalid', '/stepUpOf', detail);
}

function findStepUpMismatch(
  declined: TransactionRecord,
  { request, resolved: { merchant, device } }: PreparedSale,
): string | undefined {
  const { row } = declined;
  const action = terminalActionFor(declined);
  if (row.merchantId !== merchant.merchantId)
    return 'The declined sale belongs to another merchant.';
  if (row.deviceId !== device?.deviceId) return 'The declined sale belongs to another device.';
  if (row.amount !== request.amount || row.currency !== request.currency)
    return 'Amount and currency must equal those of the declined sale.';
  if (row.state !== 'Declined') return 'The sale was not declined.';
  const { entryMode } = authorizationContext(declined);
  if (!entryMode.startsWith('Contactless')) return 'The referenced sale was not contactless.';
  if (action !== 'AskPin' && action !== 'UseChip')
    return 'The response code of the declined sale does not require the PIN or the chip.';
  if (request.entryMode === 'ContactChip') return undefined;
  return action === 'AskPin' && request.pinblock !== undefined
    ? undefined
    : 'A step-up requires a PIN or entryMode ContactChip.';
}

/**
 * Finds the declined sale that a sale steps up, without claiming it.
 *
 * @throws ProblemError step_up_invalid, transaction_not_found
 */
export async function findStepUpTarget(
  ports: StepUpPorts,
  sale: PreparedSale,
): Promise<TransactionRow | undefined> {
  const { stepUpOf } = sale.request;
  if (stepUpOf === undefined) return undefined;
  const { merchantId } = sale.resolved.merchant;
  const declined = await findTransaction(ports, sale.caller, stepUpOf, merchantId);
  const mismatch = findStepUpMismatch(declined, sale);
  if (mismatch !== undefined) throwStepUpProblem(mismatch);
  return declined.row;
}

/**
 * Claims a declined sale for its one step-up. An earlier step-up loses its claim when it was not sent, or
 * was not stored within the time that a request can take.
 *
 * @throws ProblemError step_up_invalid
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
  const existing = await ports.stepUpStore.findClaim(ownClaim);
  const isTakenOver =
    existing !== undefined &&
    (await isUnusedClaim(ports, declinedSale, existing)) &&
    (await ports.stepUpStore.claim({ ...ownClaim, takesOver: existing.claimedBy }));
  if (!isTakenOver) throwStepUpProblem('Another step-up of this declined sale exists.');
}

async function isUnusedClaim(
  ports: StepUpPorts,
  { organizationId, merchantId }: TransactionRow,
  { claimedBy, claimedAt }: { claimedBy: string; claimedAt: Date },
): Promise<boolean> {
  const clientTransactionId = claimedBy.slice(`${merchantId}|`.length);
  const sale = await findSale(ports, { organizationId, merchantId, clientTransactionId });
  if (sale !== undefined) return sale.row.state === 'Failed';
  return ports.clock.now() >= claimedAt.getTime() + ports.acquirerTimeoutMs + commitGraceMs;
}
