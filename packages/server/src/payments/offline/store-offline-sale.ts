// Stores an offline sale once for each terminal sequence number (ADR 0038).
import { throwProblem } from '@switchyard/contract';
import { bucketOf, type Ids, type Jobs, type Span } from '../../platform/index.ts';
import type { Vault } from '../../vault/index.ts';
import { type TakeKsnPorts, takeOverKsnOffline } from '../card-input/ksn-replay-check.ts';
import { createKsnUse, throwReusedKsn } from '../card-input/ksn-sql.ts';
import { requireOwnIdentifier } from '../runtime/find-transaction.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import {
  type CreateIntentPorts,
  createSaleIntent,
  type SaleIntent,
} from '../sale/create-sale-intent.ts';
import type { PreparedSale } from '../sale/prepare-sale.ts';
import {
  type ReplayPorts,
  replayOrThrow,
  replaySale,
  type SaleResult,
  withReplay,
} from '../sale/sale-idempotency.ts';
import {
  authorizationContext,
  type TransactionRecord,
  traceOfSale,
  transactionSummary,
} from '../transaction/transaction.ts';
import { checkContractTerms } from '../validation/check-sale-terms.ts';
import {
  checkOfflineLimits,
  checkOfflineSale,
  differingSaleMembers,
  type OfflineRequest,
  type OfflineSequence,
  offlineSaleIdentity,
  offlineSaleTime,
  offlineSequenceOf,
  throwCountExceeded,
} from '../validation/validate-offline-sale.ts';
import { gapReportDelayMs, gapReportJob } from './missing-sequence-numbers.ts';
import type { NewUpload, OfflineStore, StoreResult } from './offline-sale-sql.ts';
import { submitOfflineSaleJob } from './submit-offline-sale.ts';

export type OfflineSale = PreparedSale & { request: OfflineRequest };

export type StoreOfflinePorts = CreateIntentPorts &
  ReplayPorts &
  TakeKsnPorts & {
    offlineStore: Pick<OfflineStore, 'find' | 'findElsewhere' | 'store' | 'takeIdentifier'>;
    inFlightTransactions: Pick<InFlightTransactions, 'run'>;
    vault: Pick<Vault, 'computeDigest' | 'encryptData'>;
    jobs: Pick<Jobs, 'wake'>;
    ids: Ids;
  };

/**
 * Stores an offline sale, or returns the sale that the terminal has uploaded before under the same
 * sequence number.
 *
 * @throws ProblemError of the members, the time or the contract; client_id_reused, offline_sequence_reused,
 *   offline_sale_already_uploaded
 */
export async function storeOfflineSale(
  ports: StoreOfflinePorts,
  sale: OfflineSale,
  span?: Span,
): Promise<SaleResult> {
  const { request, card, key, resolved, requestMembers } = sale;
  const { offlineData } = request;
  const replay = await withReplay(ports, sale, () => {
    checkOfflineSale(request, card, ports.clock.now());
    return replaySale(ports, sale);
  });
  if (replay !== undefined) return replay;
  const sequence = offlineSequenceOf(resolved, offlineData, () => {
    const identity = JSON.stringify(offlineSaleIdentity(requestMembers));
    return `sale:${ports.vault.computeDigest(identity)}`;
  });
  const { terminalSequence } = offlineData;
  const existingId = await ports.offlineStore.find(key.organizationId, sequence, terminalSequence);
  if (existingId !== undefined) return respondWithExisting(ports, sale, existingId);
  const sameSale = await findSameSale(ports, sale);
  if (sameSale !== undefined) return respondUploaded(ports, sale, sameSale);
  const { contract } = resolved;
  // Offline sales are always captured, because the customer has the goods.
  const captureMode = 'Immediate';
  checkContractTerms({ ...request, captureMode }, contract);
  checkOfflineLimits(request, contract.offlineLimits, ports.clock.now());
  const notStored: { result?: Exclude<StoreResult, { result: 'Stored' }> } = {};
  const transaction = await ports.inFlightTransactions.run(key.lockKey, async () => {
    const options = { phase: 'Stored', captureMode, offlineData } as const;
    const intent = await createSaleIntent(ports, sale, options, span);
    const upload = await createUpload(ports, sale, sequence, intent);
    const storeResult = await storeWithKsnTakeover(ports, sale, upload);
    if (storeResult.result === 'Stored') return intent.transaction;
    notStored.result = storeResult;
    return undefined;
  });
  // Outside the in-flight task: it may wait for another sale that crash recovery ends.
  if (notStored.result !== undefined) return respondNotStored(ports, sale, notStored.result);
  if (transaction === undefined) throw new Error('the offline sale was not stored');
  ports.jobs.wake();
  return { transaction, replayed: false };
}

/** A KSN that an unsuccessful online sale has used is valid for the offline sale that follows it. */
async function storeWithKsnTakeover(
  ports: StoreOfflinePorts,
  { request }: OfflineSale,
  upload: NewUpload,
): Promise<StoreResult> {
  const stored = await ports.offlineStore.store(upload);
  if (stored.result !== 'SerialReused' || upload.ksnUse === undefined) return stored;
  const ksnUse = await takeOverKsnOffline(ports, upload.ksnUse, request);
  return ports.offlineStore.store({ ...upload, ksnUse });
}

async function respondNotStored(
  ports: StoreOfflinePorts,
  sale: OfflineSale,
  stored: Exclude<StoreResult, { result: 'Stored' }>,
): Promise<SaleResult> {
  switch (stored.result) {
    case 'Twin':
      return respondWithExisting(ports, sale, stored.transactionId);
    case 'CountExceeded':
      return throwCountExceeded(sale.resolved.contract.offlineLimits.maxCount);
    case 'SerialReused':
      return throwReusedKsn();
    case 'ClientIdTaken':
      return replayOrThrow(ports, sale);
  }
}

/** The sequence number was uploaded before: the same sale is returned, another sale is refused. */
async function respondWithExisting(
  ports: StoreOfflinePorts,
  sale: OfflineSale,
  transactionId: string,
): Promise<SaleResult> {
  const { key, requestMembers } = sale;
  const transaction = await ports.transactions.findById(key.organizationId, transactionId);
  if (transaction === undefined) throw new Error('the uploaded sale does not exist');
  const existingRequest = authorizationContext(transaction).request;
  const memberNames = differingSaleMembers(existingRequest, requestMembers);
  if (memberNames.length === 0) return respondUploaded(ports, sale, transaction);
  const code = 'offline_sequence_reused';
  const detail = 'Differs from the sale that has this number.';
  return throwProblem(code, 'The terminal sequence number was used for another sale.', {
    errors: memberNames.map((name) => ({ pointer: `/${name}`, code, detail })),
    extensions: { transaction: transactionSummary(transaction) },
  });
}

/** Another identifier is taken before it is refused, so that no later sale is charged under it. */
async function respondUploaded(
  ports: StoreOfflinePorts,
  sale: OfflineSale,
  transaction: TransactionRecord,
): Promise<SaleResult> {
  const { key } = sale;
  const { clientTransactionId, transactionId } = transaction.row;
  const isTaken =
    clientTransactionId === key.clientTransactionId ||
    (await ports.offlineStore.takeIdentifier(key, transactionId));
  if (!isTaken) return replayOrThrow(ports, sale);
  requireOwnIdentifier(transaction, key.clientTransactionId);
  return { transaction, replayed: true };
}

/**
 * The same sale, uploaded before with another terminal or without one: a terminal that names its hardware
 * only the second time must not charge twice.
 */
async function findSameSale(
  { offlineStore, transactions }: StoreOfflinePorts,
  { key, request: { offlineData }, requestMembers }: OfflineSale,
): Promise<TransactionRecord | undefined> {
  const { terminalSequence } = offlineData;
  const soldAt = offlineSaleTime(offlineData);
  const ids = await offlineStore.findElsewhere(key, terminalSequence, soldAt);
  const sales = await Promise.all(ids.map((id) => transactions.findById(key.organizationId, id)));
  const isSame = (sale: TransactionRecord) =>
    differingSaleMembers(authorizationContext(sale).request, requestMembers).length === 0;
  return sales.find((sale) => sale !== undefined && isSame(sale));
}

async function createUpload(
  ports: StoreOfflinePorts,
  { request, resolved, card, cardFingerprint }: OfflineSale,
  sequence: OfflineSequence,
  { transaction, context }: SaleIntent,
): Promise<NewUpload> {
  const { row, events } = transaction;
  const { organizationId, transactionId, merchantId } = row;
  const payload = { transactionId, ...traceOfSale(transaction) };
  const now = ports.clock.now();
  const bucket = bucketOf(transactionId);
  const chipData = card.chipData === undefined ? undefined : Buffer.from(card.chipData);
  return {
    ...sequence,
    row,
    event: events[0],
    sequence: request.offlineData.terminalSequence,
    authorizedAt: offlineSaleTime(request.offlineData),
    chipData: chipData && (await ports.vault.encryptData(organizationId, transactionId, chipData)),
    maxCount: resolved.contract.offlineLimits.maxCount,
    ksnUse: createKsnUse(request, { organizationId, merchantId, cardFingerprint, at: now }),
    outboxId: ports.ids.uuid(),
    job: {
      organizationId,
      jobId: ports.ids.uuid(bucket),
      kind: submitOfflineSaleJob,
      payload,
      dueAt: now,
      queueId: context.linkId,
    },
    gapId: ports.ids.uuid(),
    gapJob: {
      organizationId,
      jobId: ports.ids.uuid(bucket),
      kind: gapReportJob,
      payload,
      dueAt: now + gapReportDelayMs,
    },
  };
}
