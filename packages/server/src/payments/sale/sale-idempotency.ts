// Idempotency of sales: a repeated identifier returns the existing sale.
import {
  type ErrorCode,
  ProblemError,
  type ProcessRequest,
  throwProblem,
} from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import { type Clock, pause } from '../../platform/index.ts';
import type { Provisioning, SaleEntityIds } from '../../provisioning/index.ts';
import type { Vault } from '../../vault/index.ts';
import type { PresentedCard } from '../card-input/read-card.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { requireOwnIdentifier } from '../runtime/find-transaction.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { duplicateRequestWaitMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  type TransactionRecord,
  transactionSummary,
} from '../transaction/transaction.ts';
import {
  cardFingerprintFrom,
  createRequestMembers,
  throwIdentifierReused,
} from '../validation/compare-repeated-request.ts';

export type IdentifiedSale = {
  caller: Caller;
  request: ProcessRequest;
  location: SaleEntityIds;
  card: PresentedCard;
  /** Keyed hash of the card. */
  cardFingerprint: string;
  requestMembers: Record<string, unknown>;
};

export type SaleResult = { transaction: TransactionRecord; replayed: boolean };

export type ReplayPorts = {
  transactions: Pick<TransactionRepository, 'findByClientId'>;
  inFlightTransactions: Pick<InFlightTransactions, 'find' | 'waitForChange'>;
  dueClock: Clock;
  acquirerTimeoutMs: number;
};

export type SaleKey = {
  organizationId: string;
  merchantId: string;
  clientTransactionId: string;
  lockKey: string;
};

export function saleKey(
  organizationId: string,
  merchantId: string,
  clientTransactionId: string,
): SaleKey {
  const lockKey = `sale|${organizationId}|${merchantId}|${clientTransactionId}`;
  return { organizationId, merchantId, clientTransactionId, lockKey };
}

type KeyedRequest = { key: SaleKey; requestMembers: Record<string, unknown> };

const pollIntervalMs = 250;

export async function findSale(
  { transactions }: Pick<ReplayPorts, 'transactions'>,
  { organizationId, clientTransactionId, merchantId }: Omit<SaleKey, 'lockKey'>,
): Promise<TransactionRecord | undefined> {
  return (await transactions.findByClientId(organizationId, clientTransactionId, merchantId))[0];
}

/** The request may name only a location that is no longer active: then the existing sale has the merchant. */
async function findSaleKey(
  { transactions }: ReplayPorts,
  { caller, request, location }: IdentifiedSale,
): Promise<SaleKey | undefined> {
  const { organizationId } = caller;
  const { clientTransactionId } = request;
  const { merchantId, storeId, deviceId } = location;
  if (merchantId !== undefined) return saleKey(organizationId, merchantId, clientTransactionId);
  const sales = await transactions.findByClientId(organizationId, clientTransactionId);
  const [sale, ...others] = sales.filter(
    ({ row }) =>
      (storeId === undefined || row.storeId === storeId) &&
      (deviceId === undefined || row.deviceId === deviceId),
  );
  if (sale === undefined || others.length > 0) return undefined;
  return saleKey(organizationId, sale.row.merchantId, clientTransactionId);
}

/**
 * Waits while the first request with the identifier runs, here or in another process, at most the
 * acquirer's time-out and {@link duplicateRequestWaitMs}; then returns the sale in its current state.
 *
 * @returns undefined when no sale has the identifier
 * @throws ProblemError client_id_reused when the first request was different; offline_sale_already_uploaded
 */
export async function replaySale(
  ports: ReplayPorts,
  { key, requestMembers }: KeyedRequest,
): Promise<SaleResult | undefined> {
  const deadlineMs = ports.dueClock.now() + ports.acquirerTimeoutMs + duplicateRequestWaitMs;
  let transaction =
    (await waitForRunningSale(ports, key, deadlineMs)) ?? (await findSale(ports, key));
  if (transaction === undefined) return undefined;
  requireOwnIdentifier(transaction, key.clientTransactionId);
  const { request } = authorizationContext(transaction);
  throwIdentifierReused(request, requestMembers, 'clientTransactionId');
  while (transaction.row.state === 'Received' && ports.dueClock.now() < deadlineMs) {
    await ports.inFlightTransactions.waitForChange(transaction.row.transactionId, pollIntervalMs);
    transaction = (await findSale(ports, key)) ?? transaction;
  }
  return { transaction, replayed: true };
}

/** A refusal of the first request does not apply to the duplicate, which reads the store itself. */
async function waitForRunningSale(
  { inFlightTransactions, dueClock }: ReplayPorts,
  { lockKey }: SaleKey,
  deadlineMs: number,
): Promise<TransactionRecord | undefined> {
  const runningSale = inFlightTransactions.find(lockKey);
  if (runningSale === undefined) return undefined;
  const limit = new AbortController();
  const timeout = pause(Math.max(0, deadlineMs - dueClock.now()), limit.signal);
  const result = runningSale.catch(() => undefined);
  const transaction = await Promise.race([result, timeout.then(() => undefined)]);
  limit.abort();
  return transaction;
}

/** @throws ProblemError concurrent_modification when no sale has the identifier */
export async function replayOrThrow(ports: ReplayPorts, sale: KeyedRequest): Promise<SaleResult> {
  const result = await replaySale(ports, sale);
  if (result !== undefined) return result;
  const detail = 'Another request with this identifier is in progress. Retry the request.';
  return throwProblem('concurrent_modification', detail);
}

/** Errors of the members of a request come before client_id_reused in the order of checks. */
const memberErrorCodes: ReadonlySet<ErrorCode> = new Set([
  'too_late',
  'card_expired_input',
  'currency_unknown',
  'field_invalid',
  'emv_data_mismatch',
]);

/**
 * Makes the checks of a new sale. If one refuses, a repeated request returns the existing sale: location,
 * time, configuration and link may have changed since.
 */
export async function withReplay<Result>(
  ports: ReplayPorts,
  sale: IdentifiedSale & { key?: SaleKey },
  check: () => Promise<Result>,
): Promise<Result | SaleResult> {
  try {
    return await check();
  } catch (originalError) {
    const key = sale.key ?? (await findSaleKey(ports, sale));
    if (key === undefined) throw originalError;
    const result = await replaySale(ports, { ...sale, key }).catch((error: unknown) => {
      const isMemberError =
        originalError instanceof ProblemError && memberErrorCodes.has(originalError.code);
      throw isMemberError ? originalError : error;
    });
    if (result === undefined) throw originalError;
    return result;
  }
}

export type CardlessReplayPorts = ReplayPorts & {
  provisioning: Pick<Provisioning, 'resolveSaleEntities'>;
  vault: Pick<Vault, 'computeDigest'>;
};

/** Errors of keys and stored cards, not of the request: the same request may have made a sale before. */
const keyErrorCodes: ReadonlySet<ErrorCode> = new Set([
  'hsm_unavailable',
  'card_keys_unavailable',
  'encryption_key_unknown',
  'card_token_unknown',
]);

/**
 * Returns the existing sale of the same card token. Encrypted card data is not stored and cannot be
 * compared: the refusal then says only that a sale exists.
 *
 * @throws ProblemError the given one; with outcome Unknown when a sale has the identifier
 */
export async function replayWithoutCard(
  ports: CardlessReplayPorts,
  caller: Caller,
  { request, location }: { request: ProcessRequest; location: SaleEntityIds },
  originalError: unknown,
): Promise<SaleResult> {
  if (!(originalError instanceof ProblemError) || !keyErrorCodes.has(originalError.code))
    throw originalError;
  const { organizationId, storeId } = caller;
  const merchantId = await findMerchant(ports, caller, location);
  if (merchantId === undefined) throw originalError;
  const key = saleKey(organizationId, merchantId, request.clientTransactionId);
  const isRunning = ports.inFlightTransactions.find(key.lockKey) !== undefined;
  const existing = await findSale(ports, key);
  if (existing === undefined)
    throw isRunning ? outcomeUnknownProblem(originalError) : originalError;
  if (storeId !== undefined && existing.row.storeId !== storeId) throw originalError;
  const { token } = request.instrument;
  if (token === undefined) throw outcomeUnknownProblem(originalError, existing);
  const context = authorizationContext(existing);
  if (context.card.token !== token) throw originalError;
  const cardFingerprint = cardFingerprintFrom(context.request);
  const requestMembers = createRequestMembers(ports.vault, request, location, cardFingerprint);
  return (await replaySale(ports, { key, requestMembers })) ?? Promise.reject(originalError);
}

async function findMerchant(
  { provisioning }: CardlessReplayPorts,
  { organizationId, merchantId }: Caller,
  location: SaleEntityIds,
): Promise<string | undefined> {
  if (location.merchantId !== undefined) return location.merchantId;
  try {
    const { merchant } = await provisioning.resolveSaleEntities(organizationId, location, {
      merchantId,
    });
    return merchant.merchantId;
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}

/** The client must query the status and must not charge the customer a second time. */
function outcomeUnknownProblem(
  { code, retryAfterMs, errors, logDetail }: ProblemError,
  sale?: TransactionRecord,
) {
  const detail =
    'The card cannot be read, but a sale with this identifier exists. Query its status.';
  const extensions = sale && { transaction: transactionSummary(sale) };
  const details = { retryAfterMs, errors, logDetail, extensions };
  return new ProblemError(code, detail, { ...details, outcome: 'Unknown' });
}
