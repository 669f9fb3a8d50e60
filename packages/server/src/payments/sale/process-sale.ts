// Processes a card sale. The intent is stored before the acquirer is called, the outcome directly after.

import { defined, type OfflineData, type ProcessRequest, refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import { addressLine, type Names, type Resolved } from '../../provisioning/index.ts';
import { takeKsn } from '../card-input/ksn-replay-check.ts';
import { type PresentedCard, readCard } from '../card-input/read-card.ts';
import { translatePin } from '../card-input/translate-pin.ts';
import type { PaymentsDeps } from '../deps.ts';
import { storeOfflineSale } from '../offline/store-offline-sale.ts';
import { validateConfirmation } from '../operations/confirm-sale.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/caller-scope.ts';
import { hasServerIdFormat } from '../runtime/find-transaction.ts';
import { markOutcomeUnknown } from '../runtime/unknown-outcome.ts';
import { settlementContext } from '../transaction/contract-terms.ts';
import { calculateOverCaptureAllowance, zeroAmounts } from '../transaction/state-machine.ts';
import { commitGraceMs } from '../transaction/timeouts.ts';
import type {
  AuthorizationContext,
  StoredEvent,
  TransactionRecord,
  TransactionRow,
} from '../transaction/transaction.ts';
import { isAccountVerification } from '../validation/account-verification.ts';
import { checkTimeLimits } from '../validation/expiry-checks.ts';
import {
  type OfflineRequest,
  offlineSaleTime,
  validateOfflineSale,
} from '../validation/validate-offline-sale.ts';
import {
  chooseCaptureMode,
  createRequestFingerprint,
  validateSaleRequest,
} from '../validation/validate-sale-request.ts';
import { authorizeSale, type SaleIntent } from './authorize-sale.ts';
import { chooseAcquirer, type RoutedSale } from './choose-acquirer.ts';
import { replayWithoutCard } from './replay-without-card.ts';
import {
  findMerchantOfSale,
  ignoreReuseError,
  replayOrThrow,
  replaySale,
  type SaleKey,
  saleKey,
} from './sale-idempotency.ts';
import { claimStepUp, findStepUpTarget } from './step-up.ts';

export type SaleResult = { transaction: TransactionRecord; replayed: boolean };

/**
 * Processes a sale, or returns the existing sale with the same identifier.
 *
 * @throws Refusal for what the request, the configuration or the link does not allow
 */
export async function processSale(
  deps: PaymentsDeps,
  caller: Caller,
  request: ProcessRequest,
): Promise<SaleResult> {
  validateSaleRequest(request);
  validateConfirmation(request);
  validateOfflineSale(request);
  const { organizationId } = caller;
  const location = locationOf(caller, request);
  const cardOrReplay = await readCardOrReplay(deps, caller, request, location);
  if ('replay' in cardOrReplay) return cardOrReplay.replay;
  const { card } = cardOrReplay;
  // The chip date of an offline sale may be days old.
  if (!isOffline(request)) deps.terminalClock.checkDate(card.chipTransactionDate);
  const cardFingerprint = deps.vault.mark(organizationId, card);
  const requestFingerprint = createSaleFingerprint(deps, request, location, cardFingerprint);

  // Location, time, configuration and link may have changed; a replay returns the sale anyway.
  let resolvedLocation: Resolved;
  try {
    resolvedLocation = await deps.provisioning.resolve(organizationId, location, {
      merchantId: caller.merchantId,
    });
  } catch (refusal) {
    const requestedMerchantId = location.merchantId;
    const merchantId =
      requestedMerchantId ?? (await findMerchantOfSale(deps, organizationId, location, request));
    if (merchantId === undefined) throw refusal;
    const key = saleKey(organizationId, merchantId, request);
    return replayOrThrow(refusal, ignoreReuseError(replaySale(deps, key, requestFingerprint)));
  }
  const key = saleKey(organizationId, resolvedLocation.merchant.merchantId, request);
  if (deps.inFlightTransactions.find(key.lockKey) !== undefined) {
    return (await replaySale(deps, key, requestFingerprint)) ?? refuseConcurrentSale();
  }
  let routed: RoutedSale;
  try {
    routed = chooseAcquirer(deps, resolvedLocation, { request, scheme: card.scheme });
  } catch (refusal) {
    return replayOrThrow(refusal, ignoreReuseError(replaySale(deps, key, requestFingerprint)));
  }
  const { resolved } = routed;
  if (isOffline(request)) {
    const intentInput = {
      request,
      ...routed,
      card,
      cardFingerprint,
      captureMode: 'Immediate' as const,
      requestFingerprint,
    };
    const makeIntent = () => createOfflineIntent(deps, caller, intentInput);
    return storeOfflineSale(deps, {
      ...intentInput,
      organizationId,
      key,
      createIntent: makeIntent,
    });
  }
  try {
    checkTimeLimits(request, card, deps.clock.now());
  } catch (refusal) {
    return replayOrThrow(refusal, ignoreReuseError(replaySale(deps, key, requestFingerprint)));
  }
  let captureMode: 'Immediate' | 'Deferred';
  let stepUpOf: string | undefined;
  try {
    captureMode = chooseReachableCaptureMode(deps, request, resolved);
    if (hasPinStepUpOrEncryption(request))
      stepUpOf = await claimPinStepUpAndKsn(deps, caller, {
        request,
        resolved,
        card,
        cardFingerprint,
      });
  } catch (refusal) {
    return replayOrThrow(refusal, replaySale(deps, key, requestFingerprint));
  }
  if (hasServerIdFormat(request.clientTransactionId)) {
    await refuseServerIdAsClientId(deps, caller, request.clientTransactionId);
  }
  const intentInput = {
    request,
    ...routed,
    card,
    cardFingerprint,
    captureMode,
    stepUpOf,
    requestFingerprint,
  };
  return storeAndAuthorize(deps, key, await createSaleIntent(deps, caller, intentInput));
}

/** Reads the card, or returns the existing sale when the card cannot be read. */
async function readCardOrReplay(
  deps: PaymentsDeps,
  caller: Caller,
  request: ProcessRequest,
  location: Names,
): Promise<{ card: PresentedCard } | { replay: SaleResult }> {
  const { organizationId, clientId } = caller;
  try {
    const card = await readCard(request, {
      reveal: (token) =>
        deps.vault.reveal(organizationId, token, { purpose: 'Sale', actor: clientId }),
      decrypt: (dataRequest) => deps.hsm.decryptData({ ...dataRequest, organizationId }),
    });
    return { card };
  } catch (refusal) {
    const createFingerprint = (cardFingerprint: string) =>
      createSaleFingerprint(deps, request, location, cardFingerprint);
    const unreadableRequest = { request, location, createFingerprint };
    return { replay: await replayWithoutCard(deps, caller, unreadableRequest, refusal) };
  }
}

const isOffline = (request: ProcessRequest): request is OfflineRequest =>
  request.offlineTransaction === true;

async function createOfflineIntent(
  deps: PaymentsDeps,
  caller: Caller,
  input: Omit<SaleIntentInput, 'stepUpOf'> & { request: OfflineRequest },
): Promise<SaleIntent> {
  if (hasServerIdFormat(input.request.clientTransactionId)) {
    await refuseServerIdAsClientId(deps, caller, input.request.clientTransactionId);
  }
  return createSaleIntent(deps, caller, {
    ...input,
    stepUpOf: undefined,
    offlineData: input.request.offlineData,
  });
}

/** True for rare members that need further reads. */
const hasPinStepUpOrEncryption = ({ pinblock, stepUpOf, instrument }: ProcessRequest): boolean =>
  pinblock !== undefined || stepUpOf !== undefined || instrument.encrypted !== undefined;

/**
 * Takes the declined sale that this one repeats, the serial number of its encrypted card, and its PIN under
 * the key of the acquirer.
 */
async function claimPinStepUpAndKsn(
  deps: PaymentsDeps,
  caller: Caller,
  sale: {
    request: ProcessRequest;
    resolved: Resolved;
    card: PresentedCard;
    cardFingerprint: string;
  },
): Promise<string | undefined> {
  const { request, resolved, card, cardFingerprint } = sale;
  const { merchantId } = resolved.merchant;
  const deviceId = resolved.device?.deviceId;
  const { organizationId } = caller;
  const declinedSale = await findStepUpTarget(deps, caller, request, { merchantId, deviceId });
  const stepUpOf = declinedSale?.clientTransactionId;
  const pin = await translatePin(deps, request, {
    organizationId,
    merchantId,
    linkId: resolved.contract.acquirerLink,
    pan: card.pan,
    cardFingerprint,
  });
  if (pin !== undefined) card.sensitive = { ...card.sensitive, pin };
  // Last, so that an earlier refusal keeps the declined sale and the KSN for the next attempt.
  if (declinedSale !== undefined) {
    const { clientTransactionId } = request;
    const declinedId = declinedSale.transactionId;
    await claimStepUp(deps, { organizationId, declinedId, merchantId, clientTransactionId });
  }
  await takeKsn(deps, request, {
    organizationId,
    merchantId,
    cardFingerprint,
    at: deps.clock.now(),
    stepUpOf,
  });
  return declinedSale?.transactionId;
}

async function storeAndAuthorize(
  deps: PaymentsDeps,
  key: SaleKey,
  intent: SaleIntent,
): Promise<SaleResult> {
  const transaction = await deps.inFlightTransactions.run(key.lockKey, async () => {
    const isFirst = await deps.transactions.insert(
      intent.transaction.row,
      receivedEvent(intent.transaction),
    );
    return isFirst ? markOutcomeUnknown(authorizeSale(deps, intent)) : undefined;
  });
  if (transaction !== undefined) return { transaction, replayed: false };
  // Outside the in-flight task: a waiting duplicate must not count as the running sale.
  return (await replaySale(deps, key, intent.context.request)) ?? refuseConcurrentSale();
}

function locationOf(caller: Caller, request: ProcessRequest): Names {
  const location = {
    merchantId: resolveMerchantScope(caller, request.merchantId),
    ...resolveStoreAndDevice(caller, request),
  };
  if (location.merchantId === undefined && location.storeId === undefined && !location.deviceId) {
    refuse('field_required', 'An organisation token needs merchantId, storeId or deviceId.', {
      errors: [{ pointer: '/merchantId', code: 'field_required', detail: 'Is required.' }],
    });
  }
  return location;
}

/** Hex digits of the card fingerprint that are stored (of 64). */
const cardFingerprintDigits = 32;

// The card enters by keyed hash, so that nothing of a request that is refused is kept.
function createSaleFingerprint(
  deps: PaymentsDeps,
  request: ProcessRequest,
  location: Names,
  cardFingerprint: string,
): Record<string, unknown> {
  const holder = request.instrument.card?.holderName;
  const { zipCode, houseNumber } = request;
  const { address } = request.instrument;
  return createRequestFingerprint(request, {
    storeId: location.storeId,
    deviceId: location.deviceId,
    card: cardFingerprint.slice(0, cardFingerprintDigits),
    ...defined({
      holder: holder === undefined ? undefined : deps.vault.digest(holder),
      address:
        address === undefined
          ? undefined
          : deps.vault.digest(JSON.stringify([address.email, address.phone])),
      zipCode: zipCode === undefined ? undefined : deps.vault.digest(zipCode),
      houseNumber: houseNumber === undefined ? undefined : deps.vault.digest(houseNumber),
    }),
  });
}

function chooseReachableCaptureMode(
  deps: PaymentsDeps,
  request: ProcessRequest,
  { contract }: Resolved,
): 'Immediate' | 'Deferred' {
  const captureMode = chooseCaptureMode(request, contract);
  if (!deps.acquiring.isLinkAvailable(contract.acquirerLink)) {
    refuse('acquirer_unavailable', 'The acquirer link is not available. No message was sent.');
  }
  return captureMode;
}

// Only identifiers in UUID version 7 form need this read.
async function refuseServerIdAsClientId(
  deps: PaymentsDeps,
  caller: Caller,
  clientTransactionId: string,
): Promise<void> {
  const id = clientTransactionId.toLowerCase();
  if ((await deps.transactions.findById(caller.organizationId, id)) === undefined) return;
  refuse(
    'client_id_invalid',
    'This clientTransactionId equals a server transaction identifier. Send another identifier.',
    {
      errors: [{ pointer: '/clientTransactionId', code: 'client_id_invalid', detail: 'Is taken.' }],
    },
  );
}

function refuseConcurrentSale(): never {
  return refuse(
    'concurrent_modification',
    'Another request with this identifier is in progress. Retry the request.',
  );
}

function receivedEvent(transaction: TransactionRecord): StoredEvent {
  const [event] = transaction.events;
  if (event === undefined) throw new Error('the intent has no event');
  return event;
}

function resolveStoreAndDevice(caller: Caller, request: ProcessRequest) {
  const storeId = resolveStoreScope(caller, request.storeId);
  const requestedDeviceId = request.deviceId?.toLowerCase();
  const { deviceId = requestedDeviceId } = caller;
  if (deviceId !== (requestedDeviceId ?? deviceId)) {
    refuse('entity_out_of_scope', 'The token belongs to another device.');
  }
  return { storeId, deviceId };
}

type SaleIntentInput = RoutedSale & {
  request: ProcessRequest;
  card: PresentedCard;
  cardFingerprint: string;
  captureMode: 'Immediate' | 'Deferred';
  stepUpOf: string | undefined;
  /** Present when the terminal approved the sale offline. */
  offlineData?: OfflineData;
  requestFingerprint: Record<string, unknown>;
};

async function createSaleIntent(
  deps: PaymentsDeps,
  caller: Caller,
  input: SaleIntentInput,
): Promise<SaleIntent> {
  const { request, resolved, failoverContracts: others, card, captureMode, offlineData } = input;
  const { merchant, contract } = resolved;
  const onlineKind = captureMode === 'Immediate' ? 'Sale' : 'Authorization';
  const kind = offlineData === undefined ? onlineKind : 'OfflineSale';
  const reference = await deps.acquiring.allocateReference({
    organizationId: caller.organizationId,
    contractId: contract.contractId,
    terminalOwnerId: resolved.device?.deviceId ?? contract.contractId,
    range: contract.terminalIdRange,
    kind,
    timeZone: resolved.store?.timeZone ?? merchant.timeZone,
    ...defined({
      occurredAt: offlineData === undefined ? undefined : offlineSaleTime(offlineData),
    }),
  });
  // The card is stored only after all checks have passed.
  const token = await deps.vault.protect(caller.organizationId, card, input.cardFingerprint);
  const context: AuthorizationContext = {
    captureMode: captureMode,
    entryMode: request.entryMode,
    card: { scheme: card.scheme, maskedNumber: card.maskedNumber, token },
    request: input.requestFingerprint,
    linkId: contract.acquirerLink,
    merchantNumber: contract.acquirerMerchantId,
    merchantName: merchant.name,
    mcc: contract.mcc,
    timeZone: resolved.store?.timeZone ?? merchant.timeZone,
    kind,
    reference,
    partialApproval: request.partialApproval ?? false,
  };
  const address = addressLine((resolved.store ?? merchant).address);
  if (address !== undefined) context.merchantAddress = address;
  if (card.panSequenceNumber !== undefined) context.panSequence = card.panSequenceNumber;
  if (card.receiptChipTags !== undefined) context.chip = card.receiptChipTags;
  if (request.amounts !== undefined) context.amounts = request.amounts;
  if (request.zipCode !== undefined) context.addressAsked = true;
  if (card.sensitive?.pin !== undefined) context.pinSent = true;
  if (input.stepUpOf !== undefined) context.stepUpOf = input.stepUpOf;
  if (offlineData !== undefined) context.offline = offlineData;
  const { confirmWithinSeconds } = request;
  if (confirmWithinSeconds !== undefined) context.confirmWithinSeconds = confirmWithinSeconds;
  Object.assign(context, settlementContext(kind, contract));
  // An account verification has no authorization hold.
  if (isAccountVerification(request)) delete context.holdDays;
  const row = createTransactionRow(deps, caller, input);
  const event: StoredEvent = {
    sequence: 1,
    type: 'transaction.received',
    at: row.createdAt,
    data: {
      state: 'Received',
      changes: { phase: 'Received' },
      amount: request.amount,
      facts: context,
    },
  };
  return {
    request,
    card,
    context,
    failoverContracts: others,
    transaction: { row, events: [event], operations: [] },
  };
}

function createTransactionRow(
  deps: PaymentsDeps,
  caller: Caller,
  { request, transactionId, resolved }: SaleIntentInput,
): TransactionRow {
  const { merchant, store, device, contract } = resolved;
  const now = deps.clock.now();
  const at = isoTime(now);
  return {
    organizationId: caller.organizationId,
    transactionId,
    merchantId: merchant.merchantId,
    clientTransactionId: request.clientTransactionId,
    storeId: store?.storeId,
    deviceId: device?.deviceId,
    contractId: contract.contractId,
    amount: request.amount,
    currency: request.currency,
    overCapture: calculateOverCaptureAllowance(request.amount, contract.overCapturePercent),
    position: { phase: 'Received', ...zeroAmounts },
    state: 'Received',
    version: 1,
    operationCount: 0,
    deadline: now + deps.acquirerTimeoutMs + commitGraceMs,
    createdAt: at,
    updatedAt: at,
  };
}
