// Stores an offline sale once for each terminal sequence number (ADR 0038).
import { refuse } from '@switchyard/contract';
import type { Resolved } from '../../provisioning/index.ts';
import { takeOverKsnOffline } from '../card-input/ksn-replay-check.ts';
import { createKsnUse, refuseReusedKsn } from '../card-input/ksn-sql.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import type { PaymentsDeps } from '../deps.ts';
import type { SaleIntent } from '../sale/authorize-sale.ts';
import {
  ignoreReuseError,
  replayOrThrow,
  replaySale,
  type SaleKey,
} from '../sale/sale-idempotency.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { chooseCaptureMode } from '../validation/capture-mode.ts';
import {
  checkCardExpiry,
  checkCurrencyActive,
  checkNotAfter,
} from '../validation/expiry-checks.ts';
import {
  checkNotInFuture,
  checkOfflineLimits,
  checkTransactionCertificate,
  differingSaleMembers,
  type OfflineRequest,
  type OfflineSequence,
  offlineSaleIdentity,
  offlineSaleTime,
  offlineSequenceOf,
  refuseCountExceeded,
} from '../validation/validate-offline-sale.ts';
import { gapReportDelayMs, gapReportJob } from './missing-sequence-numbers.ts';
import type { NewUpload, StoreResult } from './offline-sql.ts';
import { submitOfflineSaleJob } from './submit-offline-sale.ts';

export type OfflineUpload = {
  organizationId: string;
  request: OfflineRequest;
  resolved: Resolved;
  card: PresentedCard;
  /** The keyed hash of the card. */
  cardFingerprint: string;
  requestFingerprint: Record<string, unknown>;
  key: SaleKey;
  /** The sale as it will be stored; called once nothing is left that could refuse it. */
  createIntent(): Promise<SaleIntent>;
};

type OfflineSaleResult = { transaction: TransactionRecord; replayed: boolean };

/**
 * Stores an offline sale, or tells what became of the one that the terminal has counted with the same
 * number, under whichever identifier it came first.
 *
 * @throws Refusal of the members, the time, the contract; client_id_reused, offline_sequence_reused
 */
export async function storeOfflineSale(
  deps: PaymentsDeps,
  upload: OfflineUpload,
): Promise<OfflineSaleResult> {
  const { request, card, key, requestFingerprint: fingerprint, organizationId } = upload;
  const now = deps.clock.now();
  try {
    checkNotAfter(request, now);
    checkNotInFuture(request, now);
    checkCardExpiry(card, offlineSaleTime(request.offlineData));
    checkCurrencyActive(request, offlineSaleTime(request.offlineData));
    checkTransactionCertificate(card);
  } catch (refusal) {
    return replayOrThrow(refusal, ignoreReuseError(replaySale(deps, key, fingerprint)));
  }
  const replay = await replaySale(deps, key, fingerprint);
  if (replay !== undefined) return replay;
  const counter = sequenceFor(deps, upload);
  const { terminalSequence } = request.offlineData;
  const existingId = await deps.offlineStore.find(organizationId, counter, terminalSequence);
  if (existingId !== undefined) return respondWithExisting(deps, upload, existingId);
  const sameSale = await findSameSale(deps, upload);
  if (sameSale !== undefined) return { transaction: sameSale, replayed: true };
  const { contract } = upload.resolved;
  // Offline sales are always captured, because the customer has the goods.
  chooseCaptureMode({ ...request, captureMode: 'Immediate' }, contract);
  checkOfflineLimits(request, contract.offlineLimits, now);
  const refused: { result?: Exclude<StoreResult, { result: 'Stored' }> } = {};
  const transaction = await deps.inFlightTransactions.run(key.lockKey, async () => {
    const intent = toStoredIntent(await upload.createIntent());
    const stored = await storeWithKsnTakeover(
      deps,
      upload,
      await createUpload(deps, upload, counter, intent),
    );
    if (stored.result === 'Stored') return intent.transaction;
    refused.result = stored;
    return undefined;
  });
  // Out of the work, since it may wait for another sale that only a sweep ends.
  if (refused.result !== undefined) return respondNotStored(deps, upload, refused.result);
  if (transaction === undefined) throw new Error('the offline sale was not stored');
  deps.jobs.poke();
  return { transaction, replayed: false };
}

function sequenceFor(
  deps: PaymentsDeps,
  { request, resolved, requestFingerprint: fingerprint }: OfflineUpload,
): OfflineSequence {
  const { device, contract } = resolved;
  const location = { deviceId: device?.deviceId, contractId: contract.contractId };
  const saleDigest = () =>
    `sale:${deps.vault.digest(JSON.stringify(offlineSaleIdentity(fingerprint)))}`;
  return offlineSequenceOf(location, request, saleDigest);
}

/** With card data that a sale at the till has used, which came to nothing, it is stored all the same. */
async function storeWithKsnTakeover(
  deps: PaymentsDeps,
  { request }: OfflineUpload,
  upload: NewUpload,
): Promise<StoreResult> {
  const stored = await deps.offlineStore.store(upload);
  if (stored.result !== 'SerialReused' || upload.ksnUse === undefined) return stored;
  const ksnUse = await takeOverKsnOffline(deps, upload.ksnUse, request);
  return deps.offlineStore.store({ ...upload, ksnUse });
}

/** Responds when the sale was not stored: duplicate or limit exceeded. */
async function respondNotStored(
  deps: PaymentsDeps,
  upload: OfflineUpload,
  stored: Exclude<StoreResult, { result: 'Stored' }>,
): Promise<OfflineSaleResult> {
  if (stored.result === 'Twin') return respondWithExisting(deps, upload, stored.transactionId);
  if (stored.result === 'CountExceeded') {
    return refuseCountExceeded(upload.resolved.contract.offlineLimits.maxCount);
  }
  if (stored.result === 'SerialReused') return refuseReusedKsn();
  const { key, requestFingerprint: fingerprint } = upload;
  const replay = await replaySale(deps, key, fingerprint);
  return (
    replay ??
    refuse(
      'concurrent_modification',
      'Another request with this identifier is in progress. Retry the request.',
    )
  );
}

/** The number was uploaded before: the same sale is told as it stands, another one is refused. */
async function respondWithExisting(
  deps: PaymentsDeps,
  { organizationId, requestFingerprint: fingerprint }: OfflineUpload,
  transactionId: string,
): Promise<OfflineSaleResult> {
  const transaction = await deps.transactions.findById(organizationId, transactionId);
  if (transaction === undefined) throw new Error('the uploaded sale does not exist');
  const memberNames = differingSaleMembers(authorizationContext(transaction).request, fingerprint);
  if (memberNames.length === 0) return { transaction, replayed: true };
  const { clientTransactionId, state } = transaction.row;
  return refuse(
    'offline_sequence_reused',
    'The terminal sequence number was used for another sale.',
    {
      errors: memberNames.map((name) => ({
        pointer: `/${name}`,
        code: 'offline_sequence_reused',
        detail: 'Differs from the sale that has this number.',
      })),
      extensions: { transaction: { transactionId, clientTransactionId, state } },
    },
  );
}

/**
 * The very sale, uploaded before with another terminal named, or none: a till that names its hardware
 * only the second time must not charge twice.
 */
async function findSameSale(
  deps: PaymentsDeps,
  { organizationId, request, resolved, requestFingerprint: fingerprint }: OfflineUpload,
): Promise<TransactionRecord | undefined> {
  const { merchantId } = resolved.merchant;
  const sequence = request.offlineData.terminalSequence;
  const authorizedAt = offlineSaleTime(request.offlineData);
  const sale = { organizationId, merchantId, sequence, authorizedAt };
  const ids = await deps.offlineStore.findElsewhere(sale);
  const transactions = await Promise.all(
    ids.map((id) => deps.transactions.findById(organizationId, id)),
  );
  return transactions.find(
    (each) =>
      each !== undefined &&
      differingSaleMembers(authorizationContext(each).request, fingerprint).length === 0,
  );
}

/** The intent of a sale that nobody is asked about yet. */
function toStoredIntent(intent: SaleIntent): SaleIntent {
  const { row, events, operations } = intent.transaction;
  const [receivedEvent] = events;
  if (receivedEvent === undefined) throw new Error('the intent has no event');
  const data = { ...receivedEvent.data, state: 'Stored', changes: { phase: 'Stored' } } as const;
  return {
    ...intent,
    transaction: {
      row: { ...row, state: 'Stored', position: { ...row.position, phase: 'Stored' } },
      events: [{ ...receivedEvent, type: 'transaction.stored', data }],
      operations,
    },
  };
}

async function createUpload(
  deps: PaymentsDeps,
  { organizationId, request, resolved, card, cardFingerprint }: OfflineUpload,
  counter: OfflineSequence,
  { transaction, context }: SaleIntent,
): Promise<NewUpload> {
  const { row, events } = transaction;
  const [event] = events;
  if (event === undefined) throw new Error('the intent has no event');
  const payload = { transactionId: row.transactionId };
  const now = deps.clock.now();
  const { chipData } = card;
  return {
    ...counter,
    row,
    event,
    sequence: request.offlineData.terminalSequence,
    authorizedAt: offlineSaleTime(request.offlineData),
    chipData:
      chipData === undefined
        ? undefined
        : await deps.vault.seal(organizationId, row.transactionId, Buffer.from(chipData)),
    maxCount: resolved.contract.offlineLimits.maxCount,
    ksnUse: createKsnUse(request, {
      organizationId,
      merchantId: row.merchantId,
      cardFingerprint,
      at: now,
    }),
    outboxId: deps.ids.uuid(),
    job: { organizationId, kind: submitOfflineSaleJob, payload, dueAt: now, lane: context.linkId },
    gapId: deps.ids.uuid(),
    gapJob: { organizationId, kind: gapReportJob, payload, dueAt: now + gapReportDelayMs },
  };
}
