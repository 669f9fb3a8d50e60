// Processes a card sale. The intent is stored before the acquirer is called, the outcome directly after.
import { refuse } from '@switchyard/contract';
import type { TerminalClockCheck } from '../card-input/terminal-clock-check.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { markOutcomeUnknown } from '../runtime/mark-error-outcome-unknown.ts';
import { chooseCaptureMode } from '../validation/capture-mode.ts';
import { checkTimeLimits } from '../validation/time-limit-checks.ts';
import { type AuthorizePorts, authorizeSale } from './authorize-sale.ts';
import { type CreateIntentPorts, createSaleIntent } from './build-sale-intent.ts';
import {
  type ClaimPorts,
  claimSingleUseData,
  hasSingleUseData,
} from './claim-step-up-pin-and-ksn.ts';
import type { PreparedSale } from './prepare-sale.ts';
import { type ReplayPorts, replayOrRefuse, withReplay } from './sale-idempotency.ts';
import type { SaleIntent, SaleResult } from './sale-intent.ts';

export type ProcessPorts = AuthorizePorts &
  ClaimPorts &
  CreateIntentPorts &
  ReplayPorts & {
    transactions: Pick<TransactionRepository, 'insert'>;
    inFlightTransactions: Pick<InFlightTransactions, 'run'>;
    terminalClock: TerminalClockCheck;
  };

/**
 * Processes a sale, or returns the existing sale with the same identifier.
 *
 * @throws Refusal for what the configuration or the link does not allow
 */
export async function processSale(ports: ProcessPorts, sale: PreparedSale): Promise<SaleResult> {
  const { key, requestFingerprint } = sale;
  ports.terminalClock.checkDate(sale.card.chipTransactionDate);
  if (ports.inFlightTransactions.find(key.lockKey) !== undefined) {
    return replayOrRefuse(ports, key, requestFingerprint);
  }
  const intent = await withReplay(ports, sale, () => createCheckedIntent(ports, sale));
  if ('replayed' in intent) return intent;
  const { row, events } = intent.transaction;
  const transaction = await ports.inFlightTransactions.run(key.lockKey, async () => {
    const isFirst = await ports.transactions.insert(row, events[0]);
    return isFirst ? markOutcomeUnknown(authorizeSale(ports, intent)) : undefined;
  });
  if (transaction !== undefined) return { transaction, replayed: false };
  // Outside the in-flight task: a waiting duplicate must not count as the running sale.
  return replayOrRefuse(ports, key, requestFingerprint);
}

async function createCheckedIntent(ports: ProcessPorts, sale: PreparedSale): Promise<SaleIntent> {
  const { request, card } = sale;
  const { contract } = sale.resolved;
  checkTimeLimits(request, card, ports.clock.now());
  const captureMode = chooseCaptureMode(request, contract);
  if (!ports.acquiring.isLinkAvailable(contract.acquirerLink)) {
    refuse('acquirer_unavailable', 'The acquirer link is not available. No message was sent.');
  }
  const stepUpOf = hasSingleUseData(request) ? await claimSingleUseData(ports, sale) : undefined;
  return createSaleIntent(ports, sale, { phase: 'Received', captureMode, stepUpOf });
}
