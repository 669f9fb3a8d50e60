// Acquirer failover: uses the next contract only when nothing was sent (ADR 0034).
import { Refusal } from '@switchyard/contract';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { settlementContext } from '../transaction/contract-terms.ts';
import { calculateOverCaptureAllowance } from '../transaction/state-machine.ts';
import type {
  AuthorizationContext,
  StoredEvent,
  TransactionRow,
} from '../transaction/transaction.ts';
import type { SaleIntent } from './authorize-sale.ts';

/** Sends one intent; calls `onSent` once any of it may have left. */
export type SendIntent = (intent: SaleIntent, onSent: () => void) => Promise<AcquirerOutcome>;

/** Authorization context of the same sale under another contract. */
async function contextForContract(
  deps: PaymentsDeps,
  { context, transaction }: SaleIntent,
  contract: AcquirerContract,
): Promise<AuthorizationContext> {
  const { organizationId, deviceId } = transaction.row;
  const reference = await deps.acquiring.allocateReference({
    organizationId,
    contractId: contract.contractId,
    terminalOwnerId: deviceId ?? contract.contractId,
    range: contract.terminalIdRange,
    kind: context.kind,
    timeZone: context.timeZone,
  });
  const { captureTransport: _transport, cutOverTime: _cutOver, ...unchangedContext } = context;
  // How long the hold lasts was made durable with the intent, and stays.
  const { holdDays: _days, ...settlement } = settlementContext(context.kind, contract);
  return {
    ...unchangedContext,
    ...settlement,
    linkId: contract.acquirerLink,
    merchantNumber: contract.acquirerMerchantId,
    mcc: contract.mcc,
    reference,
  };
}

/** As `reroute`; where no new way can be made durable, nothing was sent, and that is what is told. */
async function tryReroute(
  deps: PaymentsDeps,
  intent: SaleIntent,
  contract: AcquirerContract,
): Promise<SaleIntent | undefined> {
  try {
    return await reroute(deps, intent, contract);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { transactionId } = intent.transaction.row;
    deps.log.warn({ err: error, transactionId }, 'acquirer failover of a sale could not be stored');
    return undefined;
  }
}

/** The intent once its new way is durable; undefined where the sale was given up meanwhile. */
async function reroute(
  deps: PaymentsDeps,
  intent: SaleIntent,
  contract: AcquirerContract,
): Promise<SaleIntent | undefined> {
  const { transaction } = intent;
  const context = await contextForContract(deps, intent, contract);
  const previousRow = transaction.row;
  const version = previousRow.version + 1;
  const at = isoTime(deps.clock.now());
  const event: StoredEvent = {
    sequence: version,
    type: 'transaction.rerouted',
    at,
    data: { state: 'Received', changes: {}, reason: 'NotSent', facts: context },
  };
  const row: TransactionRow = {
    ...previousRow,
    contractId: contract.contractId,
    overCapture: calculateOverCaptureAllowance(previousRow.amount, contract.overCapturePercent),
    version,
    updatedAt: at,
  };
  if (!(await deps.rerouteStore.updateRoute(previousRow, row, event))) return undefined;
  return {
    ...intent,
    context,
    transaction: { ...transaction, row, events: [...transaction.events, event] },
  };
}

function isBeforeSendDeadline(deps: PaymentsDeps, { transaction }: SaleIntent): boolean {
  return deps.clock.now() <= transaction.row.deadline - deps.acquirerTimeoutMs;
}

/**
 * Sends a sale, and along its next routes for as long as nothing of it has left; each new way is
 * durable before anything goes along it, so that whatever follows goes the same way.
 *
 * @returns the outcome, and the intent as it was sent last
 */
export async function sendWithFailover(
  deps: PaymentsDeps,
  initialIntent: SaleIntent,
  sendIntent: SendIntent,
): Promise<{ intent: SaleIntent; outcome: AcquirerOutcome }> {
  let isPossiblySent = false;
  const onPossiblySent = () => {
    isPossiblySent = true;
  };
  let intent = initialIntent;
  let outcome = await sendIntent(intent, onPossiblySent);
  // The PIN block is encrypted for the first link, so failover is not possible.
  const failoverContracts =
    initialIntent.card.sensitive?.pin === undefined ? (initialIntent.failoverContracts ?? []) : [];
  for (const contract of failoverContracts) {
    if (outcome.outcome !== 'NotSent' || isPossiblySent || !isBeforeSendDeadline(deps, intent))
      break;
    const { acquirerLink } = contract;
    if (acquirerLink === intent.context.linkId || !deps.acquiring.isLinkAvailable(acquirerLink))
      continue;
    const rerouted = await tryReroute(deps, intent, contract);
    if (rerouted === undefined) break;
    const { linkId } = intent.context;
    const { transactionId } = intent.transaction.row;
    deps.log.warn(
      { transactionId, from: linkId, to: acquirerLink },
      'a sale fails over to another acquirer link',
    );
    intent = rerouted;
    deps.failPoints.hit('after-reroute');
    outcome = await sendIntent(intent, onPossiblySent);
  }
  return { intent, outcome };
}
