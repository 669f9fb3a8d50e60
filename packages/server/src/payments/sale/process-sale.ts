// Processes a card sale. The intent is stored before the acquirer is called, the outcome directly after.
import { type ProcessRequest, throwProblem } from '@switchyard/contract';
import type { Span } from '../../platform/index.ts';
import { type TakeKsnPorts, takeKsn } from '../card-input/ksn-replay-check.ts';
import { type TranslatePinPorts, translatePin } from '../card-input/translate-pin.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { reportProblemsAsUnknown } from '../runtime/message-reference-and-unknown-outcome.ts';
import type { PaymentMetrics } from '../runtime/payment-metrics.ts';
import {
  checkContractTerms,
  checkTimeLimits,
  chooseCaptureMode,
  type TerminalClockCheck,
} from '../validation/check-sale-terms.ts';
import { type AuthorizePorts, authorizeSale } from './authorize-sale.ts';
import { type CreateIntentPorts, createSaleIntent, type SaleIntent } from './create-sale-intent.ts';
import type { PreparedSale } from './prepare-sale.ts';
import {
  type ReplayPorts,
  replayOrThrow,
  type SaleResult,
  withReplay,
} from './sale-idempotency.ts';
import { claimStepUp, findStepUpTarget, type StepUpPorts } from './step-up.ts';

export type ProcessPorts = AuthorizePorts &
  StepUpPorts &
  TranslatePinPorts &
  TakeKsnPorts &
  CreateIntentPorts &
  ReplayPorts & {
    transactions: Pick<TransactionRepository, 'insert'>;
    inFlightTransactions: Pick<InFlightTransactions, 'run'>;
    terminalClock: TerminalClockCheck;
    paymentMetrics: Pick<PaymentMetrics, 'countSale'>;
  };

/**
 * Processes a sale, or returns the existing sale with the same identifier.
 *
 * @throws ProblemError for what the configuration or the link does not allow
 */
export async function processSale(
  ports: ProcessPorts,
  sale: PreparedSale,
  span?: Span,
): Promise<SaleResult> {
  const { lockKey } = sale.key;
  ports.terminalClock.recordDate(sale.card.chipTransactionDate);
  if (ports.inFlightTransactions.find(lockKey) !== undefined) return replayOrThrow(ports, sale);
  const intent = await withReplay(ports, sale, () => createCheckedIntent(ports, sale, span));
  if ('replayed' in intent) return intent;
  const { row, events } = intent.transaction;
  const transaction = await ports.inFlightTransactions.run(lockKey, async () => {
    const isFirst = await ports.transactions.insert(row, events[0], span);
    return isFirst ? reportProblemsAsUnknown(authorizeSale(ports, intent, span)) : undefined;
  });
  if (transaction !== undefined) {
    ports.paymentMetrics.countSale(transaction);
    return { transaction, replayed: false };
  }
  // Outside the in-flight task: a waiting duplicate must not count as the running sale.
  return replayOrThrow(ports, sale);
}

async function createCheckedIntent(
  ports: ProcessPorts,
  sale: PreparedSale,
  span: Span | undefined,
): Promise<SaleIntent> {
  const { request, card } = sale;
  const { contract } = sale.resolved;
  checkTimeLimits(request, card, ports.clock.now());
  checkContractTerms(request, contract);
  if (!ports.acquiring.isLinkAvailable(contract.acquirerLink)) {
    throwProblem(
      'acquirer_unavailable',
      'The acquirer link is not available. No message was sent.',
    );
  }
  const captureMode = chooseCaptureMode(request, contract);
  const stepUpOf = hasSingleUseData(request) ? await claimSingleUseData(ports, sale) : undefined;
  return createSaleIntent(ports, sale, { phase: 'Received', captureMode, stepUpOf }, span);
}

/** Only such a sale needs further reads. */
const hasSingleUseData = ({ pinblock, stepUpOf, instrument }: ProcessRequest): boolean =>
  pinblock !== undefined || stepUpOf !== undefined || instrument.encrypted !== undefined;

/**
 * Adds the translated PIN to the card.
 *
 * @returns the transaction id of the declined sale that this sale steps up
 */
async function claimSingleUseData(
  ports: ProcessPorts,
  sale: PreparedSale,
): Promise<string | undefined> {
  const { request, resolved, card, cardFingerprint, key } = sale;
  const { organizationId, merchantId } = key;
  const ksnUser = { organizationId, merchantId, cardFingerprint };
  const declinedSale = await findStepUpTarget(ports, sale);
  const linkId = resolved.contract.acquirerLink;
  const pin = await translatePin(ports, request, { ...ksnUser, linkId, pan: card.pan });
  if (pin !== undefined) card.sensitive = { ...card.sensitive, pin };
  // Last, so that an earlier refusal keeps the declined sale and the KSN for the next attempt.
  if (declinedSale !== undefined)
    await claimStepUp(ports, declinedSale, request.clientTransactionId);
  const stepUpOf = declinedSale?.clientTransactionId;
  await takeKsn(ports, request, { ...ksnUser, at: ports.clock.now(), stepUpOf });
  return declinedSale?.transactionId;
}
