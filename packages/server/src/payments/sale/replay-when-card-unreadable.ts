// Replays a sale when the card of the repeated request cannot be read.
import { defined, type ErrorCode, type ProcessRequest, Refusal } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Names, Provisioning } from '../../provisioning/index.ts';
import type { Vault } from '../../vault/index.ts';
import {
  authorizationContext,
  type TransactionRecord,
  transactionSummary,
} from '../transaction/transaction.ts';
import {
  cardFingerprintFrom,
  createRequestFingerprint,
} from '../validation/request-fingerprint.ts';
import { findSale, type ReplayPorts, replaySale, saleKey } from './sale-idempotency.ts';
import type { SaleResult } from './sale-intent.ts';

export type CardlessReplayPorts = ReplayPorts & {
  provisioning: Pick<Provisioning, 'resolve'>;
  vault: Pick<Vault, 'digest'>;
};

/** Errors of keys and stored cards, not of the request: the same request may have made a sale before. */
const keyErrorCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'hsm_unavailable',
  'card_keys_unavailable',
  'encryption_key_unknown',
  'card_token_unknown',
]);

/**
 * Returns the existing sale of the same card token. Encrypted card data is not stored and cannot be
 * compared: the refusal then says only that a sale exists.
 *
 * @throws Refusal the given one; with outcome Unknown when a sale has the identifier
 */
export async function replayWithoutCard(
  ports: CardlessReplayPorts,
  caller: Caller,
  { request, location }: { request: ProcessRequest; location: Names },
  refusal: unknown,
): Promise<SaleResult> {
  if (!(refusal instanceof Refusal) || !keyErrorCodes.has(refusal.code)) throw refusal;
  const { organizationId, storeId } = caller;
  const { clientTransactionId } = request;
  const merchantId = await findMerchant(ports, caller, location);
  if (merchantId === undefined) throw refusal;
  const key = saleKey(organizationId, merchantId, clientTransactionId);
  const isRunning = ports.inFlightTransactions.find(key.lockKey) !== undefined;
  const existing = await findSale(ports, key);
  if (existing === undefined) throw isRunning ? outcomeUnknownRefusal(refusal) : refusal;
  if (storeId !== undefined && existing.row.storeId !== storeId) throw refusal;
  const { token } = request.instrument;
  if (token === undefined) throw outcomeUnknownRefusal(refusal, existing);
  const context = authorizationContext(existing);
  if (context.card.token !== token) throw refusal;
  const cardFingerprint = cardFingerprintFrom(context.request);
  const fingerprint = createRequestFingerprint(ports.vault, request, location, cardFingerprint);
  return (await replaySale(ports, key, fingerprint)) ?? Promise.reject(refusal);
}

async function findMerchant(
  { provisioning }: CardlessReplayPorts,
  { organizationId, merchantId }: Caller,
  location: Names,
): Promise<string | undefined> {
  if (location.merchantId !== undefined) return location.merchantId;
  try {
    const resolved = await provisioning.resolve(organizationId, location, { merchantId });
    return resolved.merchant.merchantId;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** The client must query the status and must not charge the customer a second time. */
function outcomeUnknownRefusal(
  { code, retryAfterMs, errors, logDetail }: Refusal,
  sale?: TransactionRecord,
) {
  const detail =
    'The card cannot be read, but a sale with this identifier exists. Query its status.';
  return new Refusal(code, detail, {
    outcome: 'Unknown',
    retryAfterMs,
    errors,
    logDetail,
    ...defined({
      extensions: sale === undefined ? undefined : { transaction: transactionSummary(sale) },
    }),
  });
}
