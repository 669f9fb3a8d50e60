// Tells of the sale under an identifier where the card that is shown again cannot be read just now.
import { defined, type ErrorCode, type ProcessRequest, Refusal } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Names } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { type Replayed, replaySale, saleKey } from '../sale/sale-idempotency.ts';
import { factsOf, type LoadedTransaction } from '../transaction/transaction.ts';
import { cardMarkOf } from '../validation/validate-sale-request.ts';

/** These tell of keys and of what is kept, not of the request: the same one may have made a sale before. */
const ofKeys: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'hsm_unavailable',
  'card_keys_unavailable',
  'encryption_key_unknown',
  'card_token_unknown',
]);

type Asked = {
  request: ProcessRequest;
  names: Names;
  /** Of the request, with the keyed hash of a card that was not read. */
  fingerprintWith(mark: string): Record<string, unknown>;
};

async function merchantOf(
  deps: PaymentsDeps,
  caller: Caller,
  names: Names,
): Promise<string | undefined> {
  if (names.merchantId !== undefined) return names.merchantId;
  const { organizationId, merchantId } = caller;
  try {
    const place = await deps.provisioning.resolve(organizationId, names, { merchantId });
    return place.merchant.merchantId;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** The till asks about it, and never takes the customer's money a second time. */
function unknown({ code, retryAfterMs, errors, logDetail }: Refusal, sale?: LoadedTransaction) {
  const detail = 'The card cannot be read, and there is a sale under this identifier: ask for it.';
  return new Refusal(code, detail, {
    outcome: 'Unknown',
    retryAfterMs,
    errors,
    logDetail,
    ...defined({ extensions: sale === undefined ? undefined : { transaction: named(sale) } }),
  });
}

const named = ({ row: { transactionId, clientTransactionId, state } }: LoadedTransaction) => ({
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
export async function saleOfUnread(
  deps: PaymentsDeps,
  caller: Caller,
  { request, names, fingerprintWith }: Asked,
  refusal: unknown,
): Promise<Replayed> {
  if (!(refusal instanceof Refusal) || !ofKeys.has(refusal.code)) throw refusal;
  const { organizationId, storeId } = caller;
  const merchantId = await merchantOf(deps, caller, names);
  if (merchantId === undefined) throw refusal;
  const key = saleKey(organizationId, merchantId, request);
  const isRunning = deps.running.find(key.text) !== undefined;
  const { clientTransactionId } = request;
  const [found] = await deps.store.findByClientId(organizationId, clientTransactionId, merchantId);
  if (found === undefined) throw isRunning ? unknown(refusal) : refusal;
  if (storeId !== undefined && found.row.storeId !== storeId) throw refusal;
  const { token } = request.instrument;
  if (token === undefined) throw unknown(refusal, found);
  const facts = factsOf(found);
  if (facts.card.token !== token) throw refusal;
  const replayed = await replaySale(deps, key, fingerprintWith(cardMarkOf(facts.request)));
  return replayed ?? Promise.reject(refusal);
}
