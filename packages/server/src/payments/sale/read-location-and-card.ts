// Identifies a sale: its location, its card, and the fingerprint that a repeated request must have.
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';
import type { Caller } from '../../http/index.ts';
import type { Names } from '../../provisioning/index.ts';
import type { Hsm, Vault } from '../../vault/index.ts';
import { type PresentedCard, readCard } from '../card-input/read-card.ts';
import { resolveMerchantScope, resolveStoreScope } from '../runtime/caller-scope.ts';
import { createRequestFingerprint } from '../validation/request-fingerprint.ts';
import { type CardlessReplayPorts, replayWithoutCard } from './replay-when-card-unreadable.ts';
import type { IdentifiedSale, SaleResult } from './sale-intent.ts';

export type IdentifyPorts = CardlessReplayPorts & {
  vault: Pick<Vault, 'mark' | 'reveal'>;
  hsm: Pick<Hsm, 'decryptData'>;
};

/** @returns the existing sale instead, when the card of a repeated request can no longer be read */
export async function identifySale(
  ports: IdentifyPorts,
  caller: Caller,
  request: ProcessRequest,
): Promise<IdentifiedSale | SaleResult> {
  const { organizationId, clientId } = caller;
  const location = locationOf(caller, request);
  let card: PresentedCard;
  try {
    card = await readCard(request, {
      reveal: (token) =>
        ports.vault.reveal(organizationId, token, { purpose: 'Sale', actor: clientId }),
      decrypt: (dataRequest) => ports.hsm.decryptData({ ...dataRequest, organizationId }),
    });
  } catch (refusal) {
    return replayWithoutCard(ports, caller, { request, location }, refusal);
  }
  const cardFingerprint = ports.vault.mark(organizationId, card);
  const requestFingerprint = createRequestFingerprint(
    ports.vault,
    request,
    location,
    cardFingerprint,
  );
  return { caller, request, location, card, cardFingerprint, requestFingerprint };
}

function locationOf(caller: Caller, request: ProcessRequest): Names {
  const merchantId = resolveMerchantScope(caller, request.merchantId);
  const storeId = resolveStoreScope(caller, request.storeId);
  const requestedDeviceId = request.deviceId?.toLowerCase();
  const { deviceId = requestedDeviceId } = caller;
  if (deviceId !== (requestedDeviceId ?? deviceId)) {
    refuse('entity_out_of_scope', 'The token belongs to another device.');
  }
  if (merchantId === undefined && storeId === undefined && !deviceId) {
    refuse(
      'field_required',
      'An organisation token needs merchantId, storeId or deviceId.',
      fieldError('/merchantId', 'field_required', 'Is required.'),
    );
  }
  return { merchantId, storeId, deviceId };
}
