// Sends a sale, and along the next contract as long as nothing was sent (ADR 0034).
import { defined, Refusal } from '@switchyard/contract';
import type { AcquirerOutcome, Acquiring } from '../../acquiring/index.ts';
import {
  type Clock,
  type FailPoints,
  isoTime,
  type Log,
  type Numbering,
} from '../../platform/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { settlementContext } from '../transaction/settlement-and-expiry.ts';
import { calculateOverCaptureAllowance } from '../transaction/state-machine.ts';
import type {
  AuthorizationContext,
  StoredEvent,
  TransactionRow,
} from '../transaction/transaction.ts';
import { avsData } from '../validation/validate-sale-request.ts';
import type { SaleIntent } from './create-sale-intent.ts';

export type FailoverPorts = {
  acquiring: Pick<Acquiring, 'send' | 'allocateReference' | 'isLinkAvailable'>;
  transactions: Pick<TransactionRepository, 'updateRoute'>;
  clock: Clock;
  log: Pick<Log, 'warn'>;
  failPoints: FailPoints;
  numbering: Pick<Numbering, 'isAvailable'>;
  acquirerTimeoutMs: number;
};

type SentSale = { intent: SaleIntent; outcome: AcquirerOutcome };

/**
 * Continues with the next contract while nothing was sent. Each change of the contract is stored before
 * anything is sent, so that later messages use the same contract.
 *
 * @returns the outcome, and the intent as it was sent last
 */
export async function sendWithFailover(
  ports: FailoverPorts,
  initialIntent: SaleIntent,
): Promise<SentSale> {
  let intent = initialIntent;
  // A paused process must not send a sale that another process has already reversed.
  if (!isBeforeSendDeadline(ports, intent)) {
    return { intent, outcome: { outcome: 'NotSent', reason: 'send deadline has passed' } };
  }
  // The intent may be in a restored database, which lacks the same sale of before.
  if (!ports.numbering.isAvailable()) {
    return { intent, outcome: { outcome: 'NotSent', reason: 'the database was restored' } };
  }
  let isPossiblySent = false;
  const onPossiblySent = () => {
    isPossiblySent = true;
    ports.failPoints.hit('after-send');
  };
  let outcome = await sendToAcquirer(ports, intent, onPossiblySent);
  // The PIN block is encrypted for the first link, so failover is not possible.
  if (intent.card.sensitive?.pin !== undefined) return { intent, outcome };
  for (const contract of initialIntent.failoverContracts) {
    const isFinal = outcome.outcome !== 'NotSent' || isPossiblySent;
    if (isFinal || !isBeforeSendDeadline(ports, intent)) break;
    const { linkId } = intent.context;
    const { acquirerLink } = contract;
    if (acquirerLink === linkId || !ports.acquiring.isLinkAvailable(acquirerLink)) continue;
    const rerouted = await tryReroute(ports, intent, contract);
    if (rerouted === undefined) break;
    const { transactionId } = intent.transaction.row;
    ports.log.warn(
      { transactionId, from: linkId, to: acquirerLink },
      'a sale fails over to another acquirer link',
    );
    intent = rerouted;
    ports.failPoints.hit('after-reroute');
    outcome = await sendToAcquirer(ports, intent, onPossiblySent);
  }
  return { intent, outcome };
}

function isBeforeSendDeadline(
  { clock, acquirerTimeoutMs }: FailoverPorts,
  { transaction }: SaleIntent,
): boolean {
  return clock.now() <= transaction.row.deadline - acquirerTimeoutMs;
}

function sendToAcquirer(
  { acquiring }: FailoverPorts,
  { request, card, context, transaction }: SaleIntent,
  onPossiblySent: () => void,
): Promise<AcquirerOutcome> {
  return acquiring.send(
    {
      kind: context.kind,
      repeat: false,
      organizationId: transaction.row.organizationId,
      transactionId: transaction.row.transactionId,
      linkId: context.linkId,
      reference: context.reference,
      merchantNumber: context.acquirerMerchantId,
      mcc: context.mcc,
      amount: request.amount,
      currency: request.currency,
      entryMode: request.entryMode,
      card: { pan: card.pan, expiry: card.expiry },
      ...defined({
        sensitive: card.sensitive,
        panSequence: card.panSequenceNumber,
        chipData: card.chipData,
        isRemoteOrder: request.orderChannel === undefined ? undefined : true,
        addressCheck: avsData(request),
        amounts: context.amounts,
      }),
    },
    onPossiblySent,
  );
}

/** Undefined when the new contract could not be stored: the sale is not sent. */
async function tryReroute(
  ports: FailoverPorts,
  intent: SaleIntent,
  contract: AcquirerContract,
): Promise<SaleIntent | undefined> {
  try {
    return await reroute(ports, intent, contract);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { transactionId } = intent.transaction.row;
    ports.log.warn(
      { err: error, transactionId },
      'acquirer failover of a sale could not be stored',
    );
    return undefined;
  }
}

/** Undefined when another process has ended the sale. */
async function reroute(
  ports: FailoverPorts,
  intent: SaleIntent,
  contract: AcquirerContract,
): Promise<SaleIntent | undefined> {
  const { transaction } = intent;
  const context = await contextForContract(ports, intent, contract);
  const previousRow = transaction.row;
  const version = previousRow.version + 1;
  const at = isoTime(ports.clock.now());
  const event: StoredEvent = {
    sequence: version,
    type: 'transaction.rerouted',
    at,
    data: { state: 'Received', changes: {}, reason: 'NotSent', context },
  };
  const row: TransactionRow = {
    ...previousRow,
    contractId: contract.contractId,
    overCaptureAllowance: calculateOverCaptureAllowance(
      previousRow.amount,
      contract.overCapturePercent,
    ),
    version,
    updatedAt: at,
  };
  if (!(await ports.transactions.updateRoute(previousRow, row, event))) return undefined;
  return {
    ...intent,
    context,
    transaction: { ...transaction, row, events: [...transaction.events, event] },
  };
}

async function contextForContract(
  ports: FailoverPorts,
  { context, transaction }: SaleIntent,
  contract: AcquirerContract,
): Promise<AuthorizationContext> {
  const { organizationId, deviceId } = transaction.row;
  const reference = await ports.acquiring.allocateReference({
    organizationId,
    contractId: contract.contractId,
    terminalOwnerId: deviceId ?? contract.contractId,
    range: contract.terminalIdRange,
    kind: context.kind,
    timeZone: context.timeZone,
  });
  const { captureTransport: _transport, cutOverTime: _cutOver, ...unchangedContext } = context;
  // The end of the authorization hold was stored with the intent and stays.
  const { holdDays: _days, ...settlement } = settlementContext(context.kind, contract);
  return {
    ...unchangedContext,
    ...settlement,
    linkId: contract.acquirerLink,
    acquirerMerchantId: contract.acquirerMerchantId,
    mcc: contract.mcc,
    reference,
  };
}
