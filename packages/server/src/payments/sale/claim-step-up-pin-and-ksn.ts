// Claims the data of a sale that is valid once: a step-up, a PIN and the KSN of encrypted card data.
import type { ProcessRequest } from '@switchyard/contract';
import { type TakeKsnPorts, takeKsn } from '../card-input/ksn-replay-check.ts';
import { type TranslatePinPorts, translatePin } from '../card-input/translate-pin.ts';
import type { PreparedSale } from './prepare-sale.ts';
import { claimStepUp, findStepUpTarget, type StepUpPorts } from './step-up.ts';

export type ClaimPorts = StepUpPorts & TranslatePinPorts & TakeKsnPorts;

/** Only such a sale needs further reads. */
export const hasSingleUseData = ({ pinblock, stepUpOf, instrument }: ProcessRequest): boolean =>
  pinblock !== undefined || stepUpOf !== undefined || instrument.encrypted !== undefined;

/**
 * Adds the translated PIN to the card.
 *
 * @returns the transaction id of the declined sale that this sale steps up
 */
export async function claimSingleUseData(
  ports: ClaimPorts,
  { caller, request, resolved, card, cardFingerprint }: PreparedSale,
): Promise<string | undefined> {
  const { organizationId } = caller;
  const { merchantId } = resolved.merchant;
  const deviceId = resolved.device?.deviceId;
  const declinedSale = await findStepUpTarget(ports, caller, request, { merchantId, deviceId });
  const pin = await translatePin(ports, request, {
    organizationId,
    merchantId,
    linkId: resolved.contract.acquirerLink,
    pan: card.pan,
    cardFingerprint,
  });
  if (pin !== undefined) card.sensitive = { ...card.sensitive, pin };
  // Last, so that an earlier refusal keeps the declined sale and the KSN for the next attempt.
  if (declinedSale !== undefined)
    await claimStepUp(ports, declinedSale, request.clientTransactionId);
  await takeKsn(ports, request, {
    organizationId,
    merchantId,
    cardFingerprint,
    at: ports.clock.now(),
    stepUpOf: declinedSale?.clientTransactionId,
  });
  return declinedSale?.transactionId;
}
