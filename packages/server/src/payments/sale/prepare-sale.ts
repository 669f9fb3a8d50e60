// Checks a sale and chooses its acquirer, before anything is stored.
import type { ProcessRequest } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import { validateOfflineSale } from '../validation/validate-offline-sale.ts';
import { validateSaleRequest } from '../validation/validate-sale-request.ts';
import { type ChooseAcquirerPorts, chooseAcquirer, type RoutedSale } from './choose-acquirer.ts';
import { type IdentifyPorts, identifySale } from './read-location-and-card.ts';
import { type ReplayPorts, type SaleKey, saleKey, withReplay } from './sale-idempotency.ts';
import type { IdentifiedSale, SaleResult } from './sale-intent.ts';

export type PreparedSale = IdentifiedSale & RoutedSale & { key: SaleKey };

export type PreparePorts = IdentifyPorts &
  ReplayPorts &
  ChooseAcquirerPorts & { provisioning: Pick<Provisioning, 'resolve'> };

/**
 * @returns the existing sale instead, when the identifier was used before
 * @throws Refusal for what the request, the location or the configuration does not allow
 */
export async function prepareSale(
  ports: PreparePorts,
  caller: Caller,
  request: ProcessRequest,
): Promise<PreparedSale | SaleResult> {
  validateSaleRequest(request);
  validateOfflineSale(request);
  const sale = await identifySale(ports, caller, request);
  if ('replayed' in sale) return sale;
  return withReplay(ports, sale, async () => {
    const { organizationId, merchantId } = caller;
    const resolved = await ports.provisioning.resolve(organizationId, sale.location, {
      merchantId,
    });
    const routed = chooseAcquirer(ports, resolved, { request, scheme: sale.card.scheme });
    const { clientTransactionId } = request;
    const key = saleKey(organizationId, resolved.merchant.merchantId, clientTransactionId);
    return { ...sale, ...routed, key };
  });
}
