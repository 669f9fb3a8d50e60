// Chooses the acquirer contract: the first one that accepts the sale and is reachable.
import { type ProcessRequest, Refusal, refuse } from '@switchyard/contract';
import type { AcquirerContract, Resolved } from '../../provisioning/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { chooseCaptureMode } from '../validation/capture-mode.ts';
import { orderContracts } from './contract-order.ts';

/** The place of a sale under the contract that is asked first, and what may be asked after it. */
export type RoutedSale = {
  /** The identifier of the sale: its share among routes is drawn from it. */
  transactionId: string;
  resolved: Resolved;
  failoverContracts: readonly AcquirerContract[];
};

const noContracts: readonly AcquirerContract[] = [];

/** Undefined where the contract does not take the sale; which one is then told is not asked here. */
function captureModeIfAccepted(
  request: ProcessRequest,
  contract: AcquirerContract,
): string | undefined {
  try {
    return chooseCaptureMode(request, contract);
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
export function chooseAcquirer(
  { acquiring, ids }: Pick<PaymentsDeps, 'acquiring' | 'ids'>,
  resolved: Resolved,
  { request, scheme }: { request: ProcessRequest; scheme: string },
): RoutedSale {
  const transactionId = ids.uuid();
  const { contracts, contract } = resolved;
  if (contracts.length === 1 && contract.routing.length === 0) {
    return { transactionId, resolved, failoverContracts: noContracts };
  }
  const { amount, currency } = request;
  const routes = orderContracts(contracts, { transactionId, scheme, amount, currency });
  const [preferred] = routes;
  if (preferred === undefined) {
    return refuse(
      'no_acquirer_for_merchant',
      'No acquirer contract of the merchant accepts this sale.',
    );
  }
  const acceptsPin = ({ acquirerLink }: AcquirerContract) =>
    request.pinblock === undefined || acquiring.getZonePinKey(acquirerLink) !== undefined;
  const accepting = routes.filter(
    (route) => acceptsPin(route) && captureModeIfAccepted(request, route) !== undefined,
  );
  const reachable = accepting.find(({ acquirerLink }) => acquiring.isLinkAvailable(acquirerLink));
  const chosen = reachable ?? accepting[0] ?? preferred;
  const mode = captureModeIfAccepted(request, chosen);
  const failoverContracts = accepting.filter(
    (route) => route !== chosen && captureModeIfAccepted(request, route) === mode,
  );
  return { transactionId, resolved: { ...resolved, contract: chosen }, failoverContracts };
}
