// Replays a sale when the card of the repeated request cannot be decrypted.
import { defined, type ErrorCode, type ProcessRequest, Refusal } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Names } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { cardFingerprintFrom } from '../validation/request-fingerprint.ts';
import { type ReplayResult, replaySale, saleKey } from './sale-idempotency.ts';

/** These tell of keys and of what is kept, not of the request: the same one may have made a sale before. */
const keyErrorCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'hsm_unavailable',
  'card_keys_unavailable',
  'encryption_key_unknown',
  'card_token_unknown',
]);

type UnreadableSaleRequest = {
  request: ProcessRequest;
  location: Names;
  /** Of the request, with the keyed hash of a card that was not read. */
  createFingerprint(cardFingerprint: string): Record<string, unknown>;
};

async function findMerchant(
  deps: PaymentsDeps,
  caller: Caller,
  location: Names,
): Promise<string | undefined> {
  if (location.merchantId !== undefined) return location.merchantId;
  const { organizationId, merchantId } = caller;
  try {
    const resolved = await deps.provisioning.resolve(organizationId, location, { merchantId });
    return resolved.merchant.merchantId;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** The till asks about it, and never takes the customer's money a second time. */
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

const transactionSummary = ({
  row: { transactionId, clientTransactionId, state },
}: TransactionRecord) => ({
  transactionId,
  clientTransactionId,
  state,
});

/**
 * The sale that a token has made is told again: its token is compared in place of its card. Of encrypted
 * data nothing is kept to compare, so all that is told is that there is a sale.
 *
 * @throws Refusal the one that is given; with outcome Unknown where there is a sale under the identifier
 */
export async function replayWithoutCard(
  deps: PaymentsDeps,
  caller: Caller,
  { request, location, createFingerprint: fingerprintWith }: UnreadableSaleRequest,
  refusal: unknown,
): Promise<ReplayResult> {
  if (!(refusal instanceof Refusal) || !keyErrorCodes.has(refusal.code)) throw refusal;
  const { organizationId, storeId } = caller;
  const merchantId = await findMerchant(deps, caller, location);
  if (merchantId === undefined) throw refusal;
  const key = saleKey(organizationId, merchantId, request);
  const isRunning = deps.inFlightTransactions.find(key.lockKey) !== undefined;
  const { clientTransactionId } = request;
  const [existing] = await deps.transactions.findByClientId(
    organizationId,
    clientTransactionId,
    merchantId,
  );
  if (existing === undefined) throw isRunning ? outcomeUnknownRefusal(refusal) : refusal;
  if (storeId !== undefined && existing.row.storeId !== storeId) throw refusal;
  const { token } = request.instrument;
  if (token === undefined) throw outcomeUnknownRefusal(refusal, existing);
  const context = authorizationContext(existing);
  if (context.card.token !== token) throw refusal;
  const replayed = await replaySale(
    deps,
    key,
    fingerprintWith(cardFingerprintFrom(context.request)),
  );
  return replayed ?? Promise.reject(refusal);
}
