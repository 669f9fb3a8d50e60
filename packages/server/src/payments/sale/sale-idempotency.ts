// Idempotency of sales: a repeated identifier returns the existing sale.

import { type ProcessRequest, Refusal } from '@switchyard/contract';
import type { Names } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { duplicateRequestWaitMs } from '../transaction/timeouts.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { refuseIdentifierReuse } from '../validation/validate-sale-request.ts';

export type SaleKey = {
  organizationId: string;
  merchantId: string;
  clientTransactionId: string;
  lockKey: string;
};

export function saleKey(
  organizationId: string,
  merchantId: string,
  { clientTransactionId }: Pick<ProcessRequest, 'clientTransactionId'>,
): SaleKey {
  const text = `sale|${organizationId}|${merchantId}|${clientTransactionId}`;
  return { organizationId, merchantId, clientTransactionId, lockKey: text };
}

export type ReplayResult = { transaction: TransactionRecord; replayed: boolean };

const pollEveryMs = 250;

async function findSale(deps: PaymentsDeps, key: SaleKey): Promise<TransactionRecord | undefined> {
  const { organizationId, clientTransactionId, merchantId } = key;
  const [transaction] = await deps.transactions.findByClientId(
    organizationId,
    clientTransactionId,
    merchantId,
  );
  return transaction;
}

/** Whose sale it was, where a place that is not open any more is all that the request names. */
export async function findMerchantOfSale(
  deps: Pick<PaymentsDeps, 'transactions'>,
  organizationId: string,
  { storeId, deviceId }: Names,
  { clientTransactionId }: Pick<ProcessRequest, 'clientTransactionId'>,
): Promise<string | undefined> {
  const matches = await deps.transactions.findByClientId(organizationId, clientTransactionId);
  const matchesAtLocation = matches.filter(
    ({ row }) =>
      (storeId === undefined || row.storeId === storeId) &&
      (deviceId === undefined || row.deviceId === deviceId),
  );
  return matchesAtLocation.length === 1 ? matchesAtLocation[0]?.row.merchantId : undefined;
}

/**
 * Waits while the first request with the identifier still runs, here or in another process, at
 * most the acquirer's time and two seconds; then tells the sale as it stands.
 *
 * @returns undefined where no sale has the identifier
 * @throws Refusal client_id_reused where the first request was another one
 */
export async function replaySale(
  deps: PaymentsDeps,
  key: SaleKey,
  fingerprint: Record<string, unknown>,
): Promise<{ transaction: TransactionRecord; replayed: true } | undefined> {
  const deadlineMs = deps.dueClock.now() + deps.acquirerTimeoutMs + duplicateRequestWaitMs;
  const runningSale = deps.inFlightTransactions.find(key.lockKey);
  let transaction =
    runningSale === undefined
      ? await findSale(deps, key)
      : await waitUntil(runningSale, deadlineMs, deps);
  transaction ??= await findSale(deps, key);
  if (transaction === undefined) return undefined;
  refuseIdentifierReuse(
    authorizationContext(transaction).request,
    fingerprint,
    'clientTransactionId',
  );
  while (transaction.row.state === 'Received' && deps.dueClock.now() < deadlineMs) {
    await deps.inFlightTransactions.waitForChange(transaction.row.transactionId, pollEveryMs);
    transaction = (await findSale(deps, key)) ?? transaction;
  }
  return { transaction, replayed: true };
}

// A refusal of the first request does not apply to the duplicate, which reads the store itself.
async function waitUntil(
  running: Promise<TransactionRecord | undefined>,
  until: number,
  deps: PaymentsDeps,
): Promise<TransactionRecord | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, until - deps.dueClock.now()));
  });
  try {
    return await Promise.race([running, limit]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the existing sale, or throws the original error. */
export async function replayOrThrow(
  error: unknown,
  replay: Promise<ReplayResult | undefined>,
): Promise<ReplayResult> {
  const result = await replay;
  if (result !== undefined) return result;
  throw error;
}

/** Errors of location or time have priority over client_id_reused. */
export async function ignoreReuseError(
  replay: Promise<ReplayResult | undefined>,
): Promise<ReplayResult | undefined> {
  try {
    return await replay;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'client_id_reused') return undefined;
    throw error;
  }
}
