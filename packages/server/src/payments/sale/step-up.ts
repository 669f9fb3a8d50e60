// A sale that repeats a declined contactless one with PIN or chip names it: this judges whether it may.
import { type ProcessRequest, refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type Clock, type Database, isoTime } from '../../platform/index.ts';
import { graceMs, type PaymentsDeps } from '../deps.ts';
import { findTransaction } from '../runtime/find-transaction.ts';
import { nextActionOf } from '../transaction/terminal-action.ts';
import { factsOf, type LoadedTransaction } from '../transaction/transaction.ts';

type Declined = { organizationId: string; declinedId: string };

export type StepUps = {
  /**
   * Takes a declined sale for the one step-up it has. False where another sale has taken it, unless that
   * is the one that it `takesOver`.
   */
  take(of: Declined & { takenBy: string; takesOver?: string }): Promise<boolean>;
  /** The sale that has it, and since when, epoch ms. */
  takerOf(of: Declined): Promise<{ takenBy: string; at: number } | undefined>;
};

const take = {
  name: 'payments-step-up',
  text: `INSERT INTO step_ups AS s (organization_id, declined_id, taken_by, created_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (organization_id, declined_id)
      DO UPDATE SET taken_by = excluded.taken_by, created_at = excluded.created_at
      WHERE s.taken_by = ANY ($5::text[])
    RETURNING declined_id`,
};

const takerText = `SELECT taken_by, created_at FROM step_ups
  WHERE organization_id = $1 AND declined_id = $2`;

/** @example const free = await stepUps.take({ organizationId, declinedId, takenBy }); */
export function createStepUps({ database, clock }: { database: Database; clock: Clock }): StepUps {
  return {
    async take({ organizationId, declinedId, takenBy, takesOver = takenBy }) {
      const of = [organizationId, declinedId, takenBy, isoTime(clock.now())];
      return (await database.hot(take, [...of, [takenBy, takesOver]])).length > 0;
    },
    async takerOf({ organizationId, declinedId }) {
      const values = [organizationId, declinedId];
      const [row] = await database.query<{ taken_by: string; created_at: Date }>(takerText, values);
      return row && { takenBy: row.taken_by, at: row.created_at.getTime() };
    },
  };
}

function refuseStepUp(detail: string): never {
  return refuse('step_up_invalid', detail, {
    errors: [{ pointer: '/stepUpOf', code: 'step_up_invalid', detail }],
  });
}

type Place = { merchantId: string; deviceId: string | undefined };

/** What differs between a sale and the declined one that it says it repeats. */
function faultOf(
  { row, ...declined }: LoadedTransaction,
  request: ProcessRequest,
  place: Place,
): string | undefined {
  const action = nextActionOf({ row, ...declined });
  if (row.merchantId !== place.merchantId) return 'The sale is of another merchant.';
  if (row.deviceId !== place.deviceId) return 'The sale is of another device.';
  if (row.amount !== request.amount || row.currency !== request.currency) {
    return 'Amount and currency are those of the declined sale.';
  }
  if (row.state !== 'Declined') return 'The sale was not declined.';
  const { entryMode } = factsOf({ row, ...declined });
  if (!entryMode.startsWith('Contactless')) return 'The sale was not a contactless one.';
  if (action !== 'AskPin' && action !== 'UseChip') return 'It was not declined for PIN or chip.';
  if (request.entryMode === 'ContactChip') return undefined;
  return action === 'AskPin' && request.pinblock !== undefined
    ? undefined
    : 'The step-up has a PIN, or reads the chip by contact.';
}

export type SteppedUp = { transactionId: string; clientTransactionId: string };

/**
 * The declined sale that a sale steps up. It is not taken by this.
 *
 * @returns its identifiers, or undefined for a sale that names none
 * @throws Refusal step_up_invalid; transaction_not_found for what the caller cannot see
 */
export async function steppedUp(
  deps: PaymentsDeps,
  caller: Caller,
  request: ProcessRequest,
  place: Place,
): Promise<SteppedUp | undefined> {
  if (request.stepUpOf === undefined) return undefined;
  const declined = await findTransaction(deps, caller, request.stepUpOf, place.merchantId);
  const fault = faultOf(declined, request, place);
  if (fault !== undefined) refuseStepUp(fault);
  const { transactionId, clientTransactionId } = declined.row;
  return { transactionId, clientTransactionId };
}

type StepUpDeps = Pick<PaymentsDeps, 'stepUps' | 'store' | 'clock' | 'acquirerTimeoutMs'>;

/**
 * Takes a declined sale for its one step-up: the first, or one after another that came to nothing, of which
 * nothing was sent, or nothing was stored in all the time that a request can take.
 *
 * @throws Refusal step_up_invalid
 */
export async function takeStepUp(
  deps: StepUpDeps,
  of: Declined & { merchantId: string; clientTransactionId: string },
): Promise<void> {
  const { organizationId, declinedId, merchantId, clientTransactionId } = of;
  const mine = { organizationId, declinedId, takenBy: `${merchantId}|${clientTransactionId}` };
  if (await deps.stepUps.take(mine)) return;
  const taker = await deps.stepUps.takerOf(mine);
  if (taker !== undefined && (await isFruitless(deps, { ...of, ...taker }))) {
    if (await deps.stepUps.take({ ...mine, takesOver: taker.takenBy })) return;
  }
  refuseStepUp('The declined sale has another step-up.');
}

/** One that runs, or whose money may have moved, keeps it. */
async function isFruitless(
  deps: StepUpDeps,
  of: { organizationId: string; merchantId: string; takenBy: string; at: number },
): Promise<boolean> {
  const { organizationId, merchantId, takenBy, at } = of;
  const taker = takenBy.slice(`${merchantId}|`.length);
  const [sale] = await deps.store.findByClientId(organizationId, taker, merchantId);
  if (sale === undefined) return deps.clock.now() >= at + deps.acquirerTimeoutMs + graceMs;
  return sale.row.state === 'Failed';
}
