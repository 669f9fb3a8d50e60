// The contract that a sale is begun with: the first of its routes that takes it and can be reached.
import { type ProcessRequest, Refusal, refuse } from '@switchyard/contract';
import type { AcquirerContract, Resolved } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { captureModeFor } from '../validation/validate-sale-request.ts';
import { routesOf } from './contract-order.ts';

/** The place of a sale under the contract that is asked first, and what may be asked after it. */
export type Routed = {
  /** The identifier of the sale: its share among routes is drawn from it. */
  transactionId: string;
  resolved: Resolved;
  others: readonly AcquirerContract[];
};

const none: readonly AcquirerContract[] = [];

/** Undefined where the contract does not take the sale; which one is then told is not asked here. */
function modeUnder(request: ProcessRequest, contract: AcquirerContract): string | undefined {
  try {
    return captureModeFor(request, contract);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/**
 * Chooses among the contracts of the merchant. Where none takes the sale, the first of its routes
 * stays, so that it is told why that one does not.
 *
 * @throws Refusal no_acquirer_for_merchant where no rule of any contract fits
 */
export function chooseRoute(
  { acquiring, ids }: Pick<PaymentsDeps, 'acquiring' | 'ids'>,
  resolved: Resolved,
  { request, scheme }: { request: ProcessRequest; scheme: string },
): Routed {
  const transactionId = ids.uuid();
  const { contracts, contract } = resolved;
  if (contracts.length === 1 && contract.routing.length === 0) {
    return { transactionId, resolved, others: none };
  }
  const { amount, currency } = request;
  const routes = routesOf(contracts, { transactionId, scheme, amount, currency });
  const [first] = routes;
  if (first === undefined) {
    return refuse('no_acquirer_for_merchant', 'No contract of the merchant takes such a sale.');
  }
  const takesPin = ({ acquirerLink }: AcquirerContract) =>
    request.pinblock === undefined || acquiring.zonePinKey(acquirerLink) !== undefined;
  const suited = routes.filter(
    (route) => takesPin(route) && modeUnder(request, route) !== undefined,
  );
  const reached = suited.find(({ acquirerLink }) => acquiring.available(acquirerLink));
  const chosen = reached ?? suited[0] ?? first;
  const mode = modeUnder(request, chosen);
  const others = suited.filter((route) => route !== chosen && modeUnder(request, route) === mode);
  return { transactionId, resolved: { ...resolved, contract: chosen }, others };
}
