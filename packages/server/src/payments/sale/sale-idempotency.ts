// Idempotency of sales: a repeated identifier returns the existing sale.
import { type ErrorCode, Refusal, refuse } from '@switchyard/contract';
import type { DueClock } from '../../platform/index.ts';
import type { Names } from '../../provisioning/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { requireOwnIdentifier } from '../runtime/find-transaction.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { duplicateRequestWaitMs } from '../transaction/retry-delays-and-time-limits.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { refuseIdentifierReuse } from '../validation/request-fingerprint.ts';
import type { IdentifiedSale, SaleResult } from './sale-intent.ts';

export type ReplayPorts = {
  transactions: Pick<TransactionRepository, 'findByClientId'>;
  inFlightTransactions: Pick<InFlightTransactions, 'find' | 'waitForChange'>;
  dueClock: Pick<DueClock, 'now'>;
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

const pollIntervalMs = 250;

export async function findSale(
  { transactions }: Pick<ReplayPorts, 'transactions'>,
  { organizationId, clientTransactionId, merchantId }: Omit<SaleKey, 'lockKey'>,
): Promise<TransactionRecord | undefined> {
  return (await transactions.findByClientId(organizationId, clientTransactionId, merchantId))[0];
}

/** The merchant of the existing sale, when the request names only a location that is no longer active. */
async function findMerchantOfSale(
  { transactions }: ReplayPorts,
  organizationId: string,
  { storeId, deviceId }: Names,
  clientTransactionId: string,
): Promise<string | undefined> {
  const matches = await transactions.findByClientId(organizationId, clientTransactionId);
  const matchesAtLocation = matches.filter(
    ({ row }) =>
      (storeId === undefined || row.storeId === storeId) &&
      (deviceId === undefined || row.deviceId === deviceId),
  );
  return matchesAtLocation.length === 1 ? matchesAtLocation[0]?.row.merchantId : undefined;
}

/**
 * Waits while the first request with the identifier runs, here or in another process, at most the
 * acquirer's time-out and {@link duplicateRequestWaitMs}; then returns the sale in its current state.
 *
 * @returns undefined when no sale has the identifier
 * @throws Refusal client_id_reused when the first request was different; offline_sale_already_uploaded
 */
export async function replaySale(
  ports: ReplayPorts,
  key: SaleKey,
  requestFingerprint: Record<string, unknown>,
): Promise<SaleResult | undefined> {
  const deadlineMs = ports.dueClock.now() + ports.acquirerTimeoutMs + duplicateRequestWaitMs;
  const runningSale = ports.inFlightTransactions.find(key.lockKey);
  let transaction =
    runningSale === undefined
      ? undefined
      : await waitUntil(runningSale, deadlineMs, ports.dueClock);
  transaction ??= await findSale(ports, key);
  if (transaction === undefined) return undefined;
  requireOwnIdentifier(transaction, key.clientTransactionId);
  refuseIdentifierReuse(
    authorizationContext(transaction).request,
    requestFingerprint,
    'clientTransactionId',
  );
  while (transaction.row.state === 'Received' && ports.dueClock.now() < deadlineMs) {
    await ports.inFlightTransactions.waitForChange(transaction.row.transactionId, pollIntervalMs);
    transaction = (await findSale(ports, key)) ?? transaction;
  }
  return { transaction, replayed: true };
}

// A refusal of the first request does not apply to the duplicate, which reads the store itself.
async function waitUntil(
  running: Promise<TransactionRecord | undefined>,
  untilMs: number,
  clock: Pick<DueClock, 'now'>,
): Promise<TransactionRecord | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, untilMs - clock.now()));
  });
  try {
    return await Promise.race([running, limit]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** @throws Refusal concurrent_modification when no sale has the identifier */
export async function replayOrRefuse(
  ports: ReplayPorts,
  key: SaleKey,
  requestFingerprint: Record<string, unknown>,
): Promise<SaleResult> {
  const result = await replaySale(ports, key, requestFingerprint);
  return (
    result ??
    refuse(
      'concurrent_modification',
      'Another request with this identifier is in progress. Retry the request.',
    )
  );
}

/** Errors of the members of a request come before client_id_reused in the order of checks. */
const memberErrorCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
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
  { caller, location, request, requestFingerprint }: IdentifiedSale,
  check: () => Promise<Result>,
): Promise<Result | SaleResult> {
  try {
    return await check();
  } catch (refusal) {
    const { organizationId } = caller;
    const { clientTransactionId } = request;
    const merchantId =
      location.merchantId ??
      (await findMerchantOfSale(ports, organizationId, location, clientTransactionId));
    if (merchantId === undefined) throw refusal;
    const key = saleKey(organizationId, merchantId, clientTransactionId);
    const replay = await replaySale(ports, key, requestFingerprint).catch((error: unknown) => {
      const isMemberError = refusal instanceof Refusal && memberErrorCodes.has(refusal.code);
      throw isMemberError ? refusal : error;
    });
    if (replay === undefined) throw refusal;
    return replay;
  }
}
