// Answers a request whose identifier is known: the same answer, never a second effect.
import { type ProcessRequest, Refusal } from '@switchyard/contract';
import type { Names } from '../../provisioning/index.ts';
import { duplicateWaitMs, type PaymentsDeps } from '../deps.ts';
import { factsOf, type LoadedTransaction } from '../transaction/transaction.ts';
import { refuseReuse } from '../validation/validate-sale-request.ts';

export type SaleKey = {
  organizationId: string;
  merchantId: string;
  clientTransactionId: string;
  text: string;
};

export function saleKey(
  organizationId: string,
  merchantId: string,
  { clientTransactionId }: Pick<ProcessRequest, 'clientTransactionId'>,
): SaleKey {
  const text = `sale|${organizationId}|${merchantId}|${clientTransactionId}`;
  return { organizationId, merchantId, clientTransactionId, text };
}

export type Replayed = { loaded: LoadedTransaction; replayed: boolean };

const pollEveryMs = 250;

async function find(deps: PaymentsDeps, key: SaleKey): Promise<LoadedTransaction | undefined> {
  const { organizationId, clientTransactionId, merchantId } = key;
  const [found] = await deps.store.findByClientId(organizationId, clientTransactionId, merchantId);
  return found;
}

/** Whose sale it was, where a place that is not open any more is all that the request names. */
export async function merchantOfSale(
  deps: Pick<PaymentsDeps, 'store'>,
  organizationId: string,
  { storeId, deviceId }: Names,
  { clientTransactionId }: Pick<ProcessRequest, 'clientTransactionId'>,
): Promise<string | undefined> {
  const all = await deps.store.findByClientId(organizationId, clientTransactionId);
  const here = all.filter(
    ({ row }) =>
      (storeId === undefined || row.storeId === storeId) &&
      (deviceId === undefined || row.deviceId === deviceId),
  );
  return here.length === 1 ? here[0]?.row.merchantId : undefined;
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
): Promise<{ loaded: LoadedTransaction; replayed: true } | undefined> {
  const until = deps.clock.now() + deps.acquirerTimeoutMs + duplicateWaitMs;
  const running = deps.running.find(key.text);
  let loaded =
    running === undefined ? await find(deps, key) : await withLimit(running, until, deps);
  loaded ??= await find(deps, key);
  if (loaded === undefined) return undefined;
  refuseReuse(factsOf(loaded).request, fingerprint, 'clientTransactionId');
  while (loaded.row.state === 'Received' && deps.clock.now() < until) {
    await deps.running.nextChange(loaded.row.transactionId, pollEveryMs);
    loaded = (await find(deps, key)) ?? loaded;
  }
  return { loaded, replayed: true };
}

// The first request's refusal is not the duplicate's: it looks for itself then.
async function withLimit(
  running: Promise<LoadedTransaction | undefined>,
  until: number,
  deps: PaymentsDeps,
): Promise<LoadedTransaction | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, until - deps.clock.now()));
  });
  try {
    return await Promise.race([running, limit]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** The sale that has the identifier already, whatever would refuse it now. */
export async function replayOr(
  refusal: unknown,
  replay: Promise<Replayed | undefined>,
): Promise<Replayed> {
  const answer = await replay;
  if (answer !== undefined) return answer;
  throw refusal;
}

/** A fault of place or time comes before that of a used identifier, so it is the one to be told. */
export async function unlessReused(
  replay: Promise<Replayed | undefined>,
): Promise<Replayed | undefined> {
  try {
    return await replay;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'client_id_reused') return undefined;
    throw error;
  }
}
