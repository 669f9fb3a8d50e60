// Sends a sale, and along the next contract as long as nothing was sent (ADR 0034).
import { defined, ProblemError } from '@switchyard/contract';
import type { AcquirerOutcome, Acquiring } from '../../acquiring/index.ts';
import {
  type Clock,
  type FailPoints,
  isoTime,
  type Log,
  type Numbering,
  type Span,
} from '../../platform/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { settlementContext } from '../transaction/settlement-and-expiry.ts';
import { calculateOverCaptureAllowance } from '../transaction/state-machine.ts';
import {
  type AuthorizationContext,
  merchantData,
  type StoredEvent,
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

/**
 * Continues with the next contract while nothing was sent. Each change of the contract is stored before
 * anything is sent, so that later messages use the same contract.
 *
 * @returns the outcome, and the intent as it was sent last
 */
export async function sendWithFailover(
  ports: FailoverPorts,
  initialIntent: SaleIntent,
  span?: Span,
): Promise<{ intent: SaleIntent; outcome: AcquirerOutcome }> {
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
  let outcome = await sendToAcquirer(ports, intent, onPossiblySent, span);
  // The PIN block is encrypted for the first link, so failover is not possible.
  if (intent.card.sensitive?.pin !== undefined) return { intent, outcome };
  for (const contract of initialIntent.failoverContracts) {
    const isFinal = outcome.outcome !== 'NotSent' || isPossiblySent;
    if (isFinal || !isBeforeSendDeadline(ports, intent)) break;
    const { linkId } = intent.context;
    const { acquirerLink } = contract;
    if (acquirerLink === linkId || !ports.acquiring.isLinkAvailable(acquirerLink)) continue;
    const { transactionId } = intent.transaction.row;
    const rerouted = await reroute(ports, intent, contract).catch((error: unknown) => {
      if (!(error instanceof ProblemError)) throw error;
      const message = 'acquirer failover of a sale could not be stored';
      ports.log.warn({ err: error, transactionId, ...span?.logMembers }, message);
      return undefined;
    });
    if (rerouted === undefined) break;
    const members = { transactionId, from: linkId, to: acquirerLink, ...span?.logMembers };
    ports.log.warn(members, 'a sale fails over to another acquirer link');
    intent = rerouted;
    ports.failPoints.hit('after-reroute');
    outcome = await sendToAcquirer(ports, intent, onPossiblySent, span);
  }
  return { intent, outcome };
}

const isBeforeSendDeadline = (ports: FailoverPorts, { transaction }: SaleIntent): boolean =>
  ports.clock.now() <= transaction.row.deadline - ports.acquirerTimeoutMs;

function sendToAcquirer(
  { acquiring }: FailoverPorts,
  { request, card, context, transaction }: SaleIntent,
  onPossiblySent: () => void,
  span: Span | undefined,
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
      ...merchantData(context),
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
    span,
  );
}

/** Undefined when another process has ended the sale. */
async function reroute(
  ports: FailoverPorts,
  intent: SaleIntent,
  contract: AcquirerContract,
): Promise<SaleIntent | undefined> {
  const { row: previousRow, events, operations } = intent.transaction;
  const { contractId, overCapturePercent } = contract;
  const context = await contextForContract(ports, intent, contract);
  const version = previousRow.version + 1;
  const at = isoTime(ports.clock.now());
  const event: StoredEvent = {
    sequence: version,
    type: 'transaction.rerouted',
    at,
    data: { state: 'Received', changes: {}, reason: 'NotSent', context },
  };
  const overCaptureAllowance = calculateOverCaptureAllowance(
    previousRow.amount,
    overCapturePercent,
  );
  const row = { ...previousRow, contractId, overCaptureAllowance, version, updatedAt: at };
  if (!(await ports.transactions.updateRoute(previousRow, row, event))) return undefined;
  return { ...intent, context, transaction: { row, events: [...events, event], operations } };
}

async function contextForContract(
  ports: FailoverPorts,
  { context, transaction }: SaleIntent,
  contract: AcquirerContract,
): Promise<AuthorizationContext> {
  const { organizationId, deviceId } = transaction.row;
  const { contractId, terminalIdRange: range, acquirerLink: linkId } = contract;
  const { kind, timeZone } = context;
  const terminalOwnerId = deviceId ?? contractId;
  const reference = await ports.acquiring.allocateReference({
    organizationId,
    linkId,
    contractId,
    terminalOwnerId,
    range,
    kind,
    timeZone,
  });
  const { captureTransport: _transport, cutOverTime: _cutOver, ...unchangedContext } = context;
  // The end of the authorization hold was stored with the intent and stays.
  const { holdDays: _days, ...settlement } = settlementContext(kind, contract);
  return {
    ...unchangedContext,
    ...settlement,
    linkId,
    acquirerMerchantId: contract.acquirerMerchantId,
    mcc: contract.mcc,
    reference,
  };
}
