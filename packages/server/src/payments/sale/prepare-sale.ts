// Checks a sale, identifies its location and card, and chooses its acquirer, before anything is stored.
import { type ProcessRequest, throwFieldProblem, throwProblem } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { SaleEntityIds } from '../../provisioning/index.ts';
import type { Hsm, Vault } from '../../vault/index.ts';
import { type PresentedCard, readCard } from '../card-input/read-card.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/find-transaction.ts';
import { createRequestMembers } from '../validation/compare-repeated-request.ts';
import { validateOfflineSale } from '../validation/validate-offline-sale.ts';
import { validateSaleRequest } from '../validation/validate-sale-request.ts';
import { type ChooseAcquirerPorts, chooseAcquirer, type RoutedSale } from './choose-acquirer.ts';
import {
  type CardlessReplayPorts,
  type IdentifiedSale,
  replayWithoutCard,
  type SaleKey,
  type SaleResult,
  saleKey,
  withReplay,
} from './sale-idempotency.ts';

export type PreparedSale = IdentifiedSale & RoutedSale & { key: SaleKey };

export type PreparePorts = CardlessReplayPorts &
  ChooseAcquirerPorts & {
    vault: Pick<Vault, 'fingerprintCard' | 'detokenizeCard'>;
    hsm: Pick<Hsm, 'decryptData'>;
  };

/**
 * @returns the existing sale instead, when the identifier was used before
 * @throws ProblemError for what the request, the location or the configuration does not allow
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
    const { location } = sale;
    const resolved = await ports.provisioning.resolveSaleEntities(organizationId, location, {
      merchantId,
    });
    const routed = chooseAcquirer(ports, resolved, { request, scheme: sale.card.scheme });
    const { clientTransactionId } = request;
    const key = saleKey(organizationId, resolved.merchant.merchantId, clientTransactionId);
    return { ...sale, ...routed, key };
  });
}

/** @returns the existing sale instead, when the card of a repeated request can no longer be read */
async function identifySale(
  ports: PreparePorts,
  caller: Caller,
  request: ProcessRequest,
): Promise<IdentifiedSale | SaleResult> {
  const { organizationId, clientId } = caller;
  const location = locationOf(caller, request);
  let card: PresentedCard;
  try {
    const access = { purpose: 'Sale', actor: clientId };
    card = await readCard(request, {
      reveal: (token) => ports.vault.detokenizeCard(organizationId, token, access),
      decrypt: (dataRequest) => ports.hsm.decryptData({ ...dataRequest, organizationId }),
    });
  } catch (error) {
    return replayWithoutCard(ports, caller, { request, location }, error);
  }
  const cardFingerprint = ports.vault.fingerprintCard(organizationId, card);
  const requestMembers = createRequestMembers(ports.vault, request, location, cardFingerprint);
  return { caller, request, location, card, cardFingerprint, requestMembers };
}

function locationOf(caller: Caller, request: ProcessRequest): SaleEntityIds {
  const merchantId = resolveMerchantScope(caller, request.merchantId);
  const storeId = resolveStoreScope(caller, request.storeId);
  const requestedDeviceId = request.deviceId?.toLowerCase();
  const { deviceId = requestedDeviceId } = caller;
  if (deviceId !== (requestedDeviceId ?? deviceId)) {
    throwProblem('entity_out_of_scope', 'The token belongs to another device.');
  }
  if (merchantId === undefined && storeId === undefined && !deviceId) {
    const detail = 'With a token of an organisation, merchantId, storeId or deviceId is required.';
    throwFieldProblem('field_required', '/merchantId', detail);
  }
  return { merchantId, storeId, deviceId };
}
