// Creates the transaction of a sale as it is stored before anything is sent.
import {
  defined,
  type OfflineData,
  type ProcessRequest,
  throwFieldProblem,
} from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import { type Clock, isoTime, isUuidV7, type Span } from '../../platform/index.ts';
import type { AcquirerContract } from '../../provisioning/index.ts';
import type { Vault } from '../../vault/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { settlementContext } from '../transaction/settlement-and-expiry.ts';
import { calculateOverCaptureAllowance, zeroAmounts } from '../transaction/state-machine.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
import type {
  AuthorizationContext,
  StoredEvent,
  TransactionRecord,
  TransactionRow,
} from '../transaction/transaction.ts';
import { checkNotAfter } from '../validation/check-sale-terms.ts';
import { offlineSaleTime } from '../validation/validate-offline-sale.ts';
import { isAccountVerification } from '../validation/validate-sale-request.ts';
import type { PreparedSale } from './prepare-sale.ts';
import type { SaleKey } from './sale-idempotency.ts';

/** A sale that is stored and not sent yet, with its card data in memory only. */
export type SaleIntent = {
  request: ProcessRequest;
  card: PresentedCard;
  transaction: Omit<TransactionRecord, 'events'> & { events: [StoredEvent, ...StoredEvent[]] };
  context: AuthorizationContext;
  failoverContracts: readonly AcquirerContract[];
};

export type CreateIntentPorts = {
  transactions: Pick<TransactionRepository, 'findById'>;
  acquiring: Pick<Acquiring, 'allocateReference'>;
  vault: Pick<Vault, 'tokenizeCard'>;
  clock: Clock;
  acquirerTimeoutMs: number;
};

/** An online sale is sent at once; a job sends an offline sale. */
type IntentOptions =
  | { phase: 'Received'; captureMode: 'Immediate' | 'Deferred'; stepUpOf: string | undefined }
  | { phase: 'Stored'; captureMode: 'Immediate'; offlineData: OfflineData };

/** @throws ProblemError client_id_invalid, terminal_range_exhausted, card_keys_unavailable, too_late */
export async function createSaleIntent(
  ports: CreateIntentPorts,
  sale: PreparedSale,
  options: IntentOptions,
  span?: Span,
): Promise<SaleIntent> {
  const { request, card, failoverContracts, transactionId, cardFingerprint } = sale;
  const { organizationId } = sale.caller;
  const { merchantId, clientTransactionId } = sale.key;
  const { merchant, store, device, contract } = sale.resolved;
  const { contractId } = contract;
  const { amount, currency, confirmWithinSeconds } = request;
  const { captureMode, phase } = options;
  const deviceId = device?.deviceId;
  if (isUuidV7(clientTransactionId)) await requireUnusedAsServerId(ports, sale.key);
  const onlineKind = captureMode === 'Immediate' ? 'Sale' : 'Authorization';
  const kind = phase === 'Stored' ? 'OfflineSale' : onlineKind;
  const timeZone = store?.timeZone ?? merchant.timeZone;
  const reference = await ports.acquiring.allocateReference({
    organizationId,
    linkId: contract.acquirerLink,
    contractId,
    terminalOwnerId: deviceId ?? contractId,
    range: contract.terminalIdRange,
    kind,
    timeZone,
    ...defined({
      occurredAt: phase === 'Stored' ? offlineSaleTime(options.offlineData) : undefined,
    }),
  });
  // The card is stored only after all checks have passed.
  const token = await ports.vault.tokenizeCard(organizationId, card, cardFingerprint, span);
  const context: AuthorizationContext = {
    captureMode,
    entryMode: request.entryMode,
    card: { scheme: card.scheme, maskedNumber: card.maskedNumber, token },
    request: sale.requestMembers,
    linkId: contract.acquirerLink,
    acquirerMerchantId: contract.acquirerMerchantId,
    merchantName: merchant.name,
    mcc: contract.mcc,
    timeZone,
    kind,
    reference,
    partialApproval: request.partialApproval ?? false,
  };
  const { addressLine } = store ?? merchant;
  if (addressLine !== undefined) context.merchantAddress = addressLine;
  if (card.panSequenceNumber !== undefined) context.panSequenceNumber = card.panSequenceNumber;
  if (card.receiptChipTags !== undefined) context.receiptChipTags = card.receiptChipTags;
  if (request.amounts !== undefined) context.amounts = request.amounts;
  if (request.zipCode !== undefined) context.isAvsRequested = true;
  if (card.sensitive?.pin !== undefined) context.isPinSent = true;
  if (phase === 'Stored') context.offline = options.offlineData;
  else if (options.stepUpOf !== undefined) context.stepUpOf = options.stepUpOf;
  if (confirmWithinSeconds !== undefined) context.confirmWithinSeconds = confirmWithinSeconds;
  Object.assign(context, settlementContext(kind, contract));
  // An account verification has no authorization hold.
  if (isAccountVerification(request)) delete context.holdDays;
  const now = ports.clock.now();
  // Again, because the calls above can take long; the time to send the sale counts from here.
  if (phase === 'Received') checkNotAfter(request, now);
  const at = isoTime(now);
  const row: TransactionRow = {
    organizationId,
    transactionId,
    merchantId,
    clientTransactionId,
    storeId: store?.storeId,
    deviceId,
    contractId,
    amount,
    currency,
    overCaptureAllowance: calculateOverCaptureAllowance(amount, contract.overCapturePercent),
    position: { phase, ...zeroAmounts },
    state: phase,
    version: 1,
    operationCount: 0,
    deadline: now + ports.acquirerTimeoutMs + commitGraceMs,
    createdAt: at,
    updatedAt: at,
  };
  const event: StoredEvent = {
    sequence: 1,
    type: phase === 'Stored' ? 'transaction.stored' : 'transaction.received',
    at,
    data: { state: phase, changes: { phase }, amount, context },
  };
  if (span !== undefined) event.data.traceparent = span.traceparent;
  const transaction: SaleIntent['transaction'] = { row, events: [event], operations: [] };
  return { request, card, context, failoverContracts, transaction };
}

async function requireUnusedAsServerId(
  { transactions }: CreateIntentPorts,
  { organizationId, clientTransactionId }: SaleKey,
): Promise<void> {
  const id = clientTransactionId.toLowerCase();
  if ((await transactions.findById(organizationId, id)) === undefined) return;
  const detail =
    'This clientTransactionId equals a server transaction identifier. Send another identifier.';
  throwFieldProblem('client_id_invalid', '/clientTransactionId', detail);
}
