// Takes a card sale: the intent is durable before the acquirer is called, the outcome right after.
import { defined, type OfflineData, type ProcessRequest, refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { Names, Resolved } from '../../provisioning/index.ts';
import { useEncrypted } from '../card-input/ksn-replay-check.ts';
import { type PresentedCard, presentedCard } from '../card-input/read-card.ts';
import { saleOfUnread } from '../card-input/replay-without-card.ts';
import { zonePinOf } from '../card-input/translate-pin.ts';
import { graceMs, type PaymentsDeps } from '../deps.ts';
import { addressLine } from '../http/receipt.ts';
import { storeOffline } from '../offline/store-offline-sale.ts';
import { checkConfirmation } from '../operations/confirm-sale.ts';
import { merchantOf, storeOf } from '../runtime/caller-scope.ts';
import { maybeServerId } from '../runtime/find-transaction.ts';
import { mayHaveMoved } from '../runtime/unknown-outcome.ts';
import { settlementFactsOf } from '../transaction/contract-terms.ts';
import { noAmounts, overCaptureOf } from '../transaction/state-machine.ts';
import type {
  LoadedTransaction,
  SaleFacts,
  StoredEvent,
  TransactionRow,
} from '../transaction/transaction.ts';
import { isVerification } from '../validation/account-verification.ts';
import { checkTimes } from '../validation/expiry-checks.ts';
import { checkOffline, madeAt, type OfflineRequest } from '../validation/validate-offline-sale.ts';
import { captureModeFor, checkFields, fingerprintOf } from '../validation/validate-sale-request.ts';
import { type Intent, settleSale } from './authorize-sale.ts';
import { chooseRoute, type Routed } from './choose-acquirer.ts';
import {
  merchantOfSale,
  replayOr,
  replaySale,
  type SaleKey,
  saleKey,
  unlessReused,
} from './sale-idempotency.ts';
import { steppedUp, takeStepUp } from './step-up.ts';

export type SaleAnswer = { loaded: LoadedTransaction; replayed: boolean };

/**
 * Processes a sale, or tells again what became of the one with the same identifier.
 *
 * @throws Refusal for what the request, the configuration or the link does not allow
 */
export async function sale(
  deps: PaymentsDeps,
  caller: Caller,
  request: ProcessRequest,
): Promise<SaleAnswer> {
  checkFields(request);
  checkConfirmation(request);
  checkOffline(request);
  const { organizationId } = caller;
  const names = namesOf(caller, request);
  const read = await readCard(deps, caller, request, names);
  if ('standing' in read) return read.standing;
  const { card } = read;
  // An offline sale is as old as its connection was lost.
  if (!isOffline(request)) deps.terminalClock.note(card.chipDate);
  const mark = deps.vault.mark(organizationId, card);
  const fingerprint = fingerprintFor(deps, request, names, mark);

  // Place, time, configuration and link may have changed: a replay is answered whatever they are now.
  let place: Resolved;
  try {
    place = await deps.provisioning.resolve(organizationId, names, {
      merchantId: caller.merchantId,
    });
  } catch (refusal) {
    const named = names.merchantId;
    const merchantId = named ?? (await merchantOfSale(deps, organizationId, names, request));
    if (merchantId === undefined) throw refusal;
    const key = saleKey(organizationId, merchantId, request);
    return replayOr(refusal, unlessReused(replaySale(deps, key, fingerprint)));
  }
  const key = saleKey(organizationId, place.merchant.merchantId, request);
  if (deps.running.find(key.text) !== undefined) {
    return (await replaySale(deps, key, fingerprint)) ?? refuseRunning();
  }
  let routed: Routed;
  try {
    routed = chooseRoute(deps, place, { request, scheme: card.scheme });
  } catch (refusal) {
    return replayOr(refusal, unlessReused(replaySale(deps, key, fingerprint)));
  }
  const { resolved } = routed;
  if (isOffline(request)) {
    const of = { request, ...routed, card, mark, mode: 'Immediate' as const, fingerprint };
    const makeIntent = () => offlineIntent(deps, caller, of);
    return storeOffline(deps, { ...of, organizationId, key, makeIntent });
  }
  try {
    checkTimes(request, card, deps.clock.now());
  } catch (refusal) {
    return replayOr(refusal, unlessReused(replaySale(deps, key, fingerprint)));
  }
  let mode: 'Immediate' | 'Deferred';
  let stepUpOf: string | undefined;
  try {
    mode = chooseMode(deps, request, resolved);
    if (hasMore(request))
      stepUpOf = await takeMore(deps, caller, { request, resolved, card, mark });
  } catch (refusal) {
    return replayOr(refusal, replaySale(deps, key, fingerprint));
  }
  if (maybeServerId(request.clientTransactionId)) {
    await refuseServerIdentifier(deps, caller, request.clientTransactionId);
  }
  const of = { request, ...routed, card, mark, mode, stepUpOf, fingerprint };
  return begin(deps, key, await intentOf(deps, caller, of));
}

/** The card; or the sale that it has made already, where it cannot be read any more. */
async function readCard(
  deps: PaymentsDeps,
  caller: Caller,
  request: ProcessRequest,
  names: Names,
): Promise<{ card: PresentedCard } | { standing: SaleAnswer }> {
  const { organizationId, clientId } = caller;
  try {
    const card = await presentedCard(request, {
      reveal: (token) =>
        deps.vault.reveal(organizationId, token, { purpose: 'Sale', actor: clientId }),
      decrypt: (asked) => deps.hsm.decryptData({ ...asked, organizationId }),
    });
    return { card };
  } catch (refusal) {
    const fingerprintWith = (mark: string) => fingerprintFor(deps, request, names, mark);
    const asked = { request, names, fingerprintWith };
    return { standing: await saleOfUnread(deps, caller, asked, refusal) };
  }
}

const isOffline = (request: ProcessRequest): request is OfflineRequest =>
  request.offlineTransaction === true;

async function offlineIntent(
  deps: PaymentsDeps,
  caller: Caller,
  of: Omit<IntentParts, 'stepUpOf'> & { request: OfflineRequest },
): Promise<Intent> {
  if (maybeServerId(of.request.clientTransactionId)) {
    await refuseServerIdentifier(deps, caller, of.request.clientTransactionId);
  }
  return intentOf(deps, caller, { ...of, stepUpOf: undefined, offline: of.request.offlineData });
}

/** Members that few sales have, and that cost a look beyond the sale itself. */
const hasMore = ({ pinblock, stepUpOf, instrument }: ProcessRequest): boolean =>
  pinblock !== undefined || stepUpOf !== undefined || instrument.encrypted !== undefined;

/**
 * Takes the declined sale that this one repeats, the serial number of its encrypted card, and its PIN under
 * the key of the acquirer.
 */
async function takeMore(
  deps: PaymentsDeps,
  caller: Caller,
  of: { request: ProcessRequest; resolved: Resolved; card: PresentedCard; mark: string },
): Promise<string | undefined> {
  const { request, resolved, card, mark } = of;
  const { merchantId } = resolved.merchant;
  const deviceId = resolved.device?.deviceId;
  const { organizationId } = caller;
  const declined = await steppedUp(deps, caller, request, { merchantId, deviceId });
  const stepUpOf = declined?.clientTransactionId;
  const pin = await zonePinOf(deps, request, {
    organizationId,
    merchantId,
    linkId: resolved.contract.acquirerLink,
    pan: card.pan,
    mark,
  });
  if (pin !== undefined) card.sensitive = { ...card.sensitive, pin };
  // Last: whatever was refused before leaves the declined sale and the card data good for the next try.
  if (declined !== undefined) {
    const { clientTransactionId } = request;
    const declinedId = declined.transactionId;
    await takeStepUp(deps, { organizationId, declinedId, merchantId, clientTransactionId });
  }
  await useEncrypted(deps, request, {
    organizationId,
    merchantId,
    mark,
    at: deps.clock.now(),
    stepUpOf,
  });
  return declined?.transactionId;
}

async function begin(deps: PaymentsDeps, key: SaleKey, intent: Intent): Promise<SaleAnswer> {
  const loaded = await deps.running.run(key.text, async () => {
    const isFirst = await deps.store.begin(intent.loaded.row, firstEvent(intent.loaded));
    return isFirst ? mayHaveMoved(settleSale(deps, intent)) : undefined;
  });
  if (loaded !== undefined) return { loaded, replayed: false };
  // Out of the work: whoever only waits must not pass for the one that runs the sale, or no sweep would end it.
  return (await replaySale(deps, key, intent.facts.request)) ?? refuseRunning();
}

function namesOf(caller: Caller, request: ProcessRequest): Names {
  const names = { merchantId: merchantOf(caller, request.merchantId), ...placeOf(caller, request) };
  if (names.merchantId === undefined && names.storeId === undefined && !names.deviceId) {
    refuse('field_required', 'An organisation names the merchant, the store or the device.', {
      errors: [{ pointer: '/merchantId', code: 'field_required', detail: 'Is required.' }],
    });
  }
  return names;
}

/** Of 64: enough that no two cards share them. */
const markDigits = 32;

// The card enters by keyed hash, so that nothing of a request that is refused is kept.
function fingerprintFor(
  deps: PaymentsDeps,
  request: ProcessRequest,
  names: Names,
  mark: string,
): Record<string, unknown> {
  const holder = request.instrument.card?.holderName;
  const { zipCode, houseNumber } = request;
  const { address } = request.instrument;
  return fingerprintOf(request, {
    storeId: names.storeId,
    deviceId: names.deviceId,
    card: mark.slice(0, markDigits),
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

function chooseMode(
  deps: PaymentsDeps,
  request: ProcessRequest,
  { contract }: Resolved,
): 'Immediate' | 'Deferred' {
  const chosen = captureModeFor(request, contract);
  if (!deps.acquiring.available(contract.acquirerLink)) {
    refuse('acquirer_unavailable', 'The acquirer cannot be reached; nothing was sent.');
  }
  return chosen;
}

// Only what has the shape of our own identifiers can be one: no other client pays for the look.
async function refuseServerIdentifier(
  deps: PaymentsDeps,
  caller: Caller,
  clientTransactionId: string,
): Promise<void> {
  const id = clientTransactionId.toLowerCase();
  if ((await deps.store.findById(caller.organizationId, id)) === undefined) return;
  refuse('client_id_invalid', 'This clientTransactionId is an identifier of the server.', {
    errors: [{ pointer: '/clientTransactionId', code: 'client_id_invalid', detail: 'Is taken.' }],
  });
}

function refuseRunning(): never {
  return refuse('concurrent_modification', 'The identifier was in use a moment ago; try again.');
}

function firstEvent(loaded: LoadedTransaction): StoredEvent {
  const [event] = loaded.events;
  if (event === undefined) throw new Error('an intent without its event');
  return event;
}

function placeOf(caller: Caller, request: ProcessRequest) {
  const storeId = storeOf(caller, request.storeId);
  const asked = request.deviceId?.toLowerCase();
  const { deviceId = asked } = caller;
  if (deviceId !== (asked ?? deviceId)) {
    refuse('entity_out_of_scope', 'The token is good for another device.');
  }
  return { storeId, deviceId };
}

type IntentParts = Routed & {
  request: ProcessRequest;
  card: PresentedCard;
  mark: string;
  mode: 'Immediate' | 'Deferred';
  stepUpOf: string | undefined;
  /** The terminal has approved the sale already. */
  offline?: OfflineData;
  fingerprint: Record<string, unknown>;
};

async function intentOf(deps: PaymentsDeps, caller: Caller, of: IntentParts): Promise<Intent> {
  const { request, resolved, others, card, mode, offline } = of;
  const { merchant, contract } = resolved;
  const online = mode === 'Immediate' ? 'Sale' : 'Authorization';
  const kind = offline === undefined ? online : 'OfflineSale';
  const reference = await deps.acquiring.nextReference({
    organizationId: caller.organizationId,
    contractId: contract.contractId,
    holderId: resolved.device?.deviceId ?? contract.contractId,
    range: contract.terminalIdRange,
    kind,
    timeZone: resolved.store?.timeZone ?? merchant.timeZone,
    ...defined({ doneAt: offline === undefined ? undefined : madeAt(offline) }),
  });
  // Kept only now that nothing is left which could refuse the sale.
  const token = await deps.vault.protect(caller.organizationId, card, of.mark);
  const facts: SaleFacts = {
    captureMode: mode,
    entryMode: request.entryMode,
    card: { scheme: card.scheme, maskedNumber: card.maskedNumber, token },
    request: of.fingerprint,
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
  if (address !== undefined) facts.merchantAddress = address;
  if (card.panSequence !== undefined) facts.panSequence = card.panSequence;
  if (card.chip !== undefined) facts.chip = card.chip;
  if (request.amounts !== undefined) facts.amounts = request.amounts;
  if (request.zipCode !== undefined) facts.addressAsked = true;
  if (card.sensitive?.pin !== undefined) facts.pinSent = true;
  if (of.stepUpOf !== undefined) facts.stepUpOf = of.stepUpOf;
  if (offline !== undefined) facts.offline = offline;
  const { confirmWithinSeconds } = request;
  if (confirmWithinSeconds !== undefined) facts.confirmWithinSeconds = confirmWithinSeconds;
  Object.assign(facts, settlementFactsOf(kind, contract));
  // What holds nothing does not lapse.
  if (isVerification(request)) delete facts.holdDays;
  const row = newRow(deps, caller, of);
  const event: StoredEvent = {
    sequence: 1,
    type: 'transaction.received',
    at: row.createdAt,
    data: { state: 'Received', changes: { phase: 'Received' }, amount: request.amount, facts },
  };
  return { request, card, facts, others, loaded: { row, events: [event], operations: [] } };
}

function newRow(
  deps: PaymentsDeps,
  caller: Caller,
  { request, transactionId, resolved }: IntentParts,
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
    overCapture: overCaptureOf(request.amount, contract.overCapturePercent),
    position: { phase: 'Received', ...noAmounts },
    state: 'Received',
    version: 1,
    operationCount: 0,
    deadline: now + deps.acquirerTimeoutMs + graceMs,
    createdAt: at,
    updatedAt: at,
  };
}
