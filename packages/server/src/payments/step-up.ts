// A sale that repeats a declined contactless one with PIN or chip names it: this judges whether it may.
import { type ProcessRequest, refuse } from '@switchyard/contract';
import type { Caller } from '../http/index.ts';
import { type Clock, type Database, isoTime } from '../platform/index.ts';
import type { PaymentsDeps } from './deps.ts';
import { findTransaction } from './find.ts';
import { factsOf, type LoadedTransaction } from './model.ts';
import { nextActionOf } from './next-action.ts';

export type StepUps = {
  /** Takes a declined sale for the one step-up it has. False where another sale has taken it. */
  take(of: { organizationId: string; declinedId: string; takenBy: string }): Promise<boolean>;
};

const take = {
  name: 'payments-step-up',
  text: `INSERT INTO step_ups AS s (organization_id, declined_id, taken_by, created_at)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (organization_id, declined_id) DO UPDATE SET taken_by = s.taken_by
      WHERE s.taken_by = excluded.taken_by
    RETURNING declined_id`,
};

/** @example const free = await stepUps.take({ organizationId, declinedId, takenBy }); */
export function createStepUps({ database, clock }: { database: Database; clock: Clock }): StepUps {
  return {
    async take({ organizationId, declinedId, takenBy }) {
      const values = [organizationId, declinedId, takenBy, isoTime(clock.now())];
      return (await database.hot(take, values)).length > 0;
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
 * The declined sale that a sale steps up.
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
  const { organizationId, transactionId: declinedId, clientTransactionId } = declined.row;
  const takenBy = `${place.merchantId}|${request.clientTransactionId}`;
  if (!(await deps.stepUps.take({ organizationId, declinedId, takenBy }))) {
    refuseStepUp('The declined sale has another step-up.');
  }
  return { transactionId: declinedId, clientTransactionId };
}
