// Chooses the capture mode of a sale within the terms of the acquirer contract. Pure.
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';
import { isAccountVerification } from './account-verification.ts';

export type SaleContractTerms = {
  currencies: readonly string[];
  captureModes: readonly string[];
  defaultCaptureMode: 'Immediate' | 'Deferred';
  clearCardData: 'Allowed' | 'Refused';
  partialApproval: boolean;
};

/**
 * @throws Refusal currency_not_supported, capture_mode_not_supported, partial_approval_not_supported,
 *   clear_card_data_refused
 */
export function chooseCaptureMode(
  request: ProcessRequest,
  terms: SaleContractTerms,
): 'Immediate' | 'Deferred' {
  if (!terms.currencies.includes(request.currency)) {
    refuse(
      'currency_not_supported',
      'The acquirer contract does not include this currency.',
      fieldError('/currency', 'currency_not_supported', 'Not in the acquirer contract.'),
    );
  }
  const { encrypted, token } = request.instrument;
  // An account verification captures nothing, so the capture modes of the contract do not apply.
  const isZeroAmount = isAccountVerification(request);
  const mode = isZeroAmount ? 'Deferred' : (request.captureMode ?? terms.defaultCaptureMode);
  if (!isZeroAmount && !terms.captureModes.includes(mode)) {
    refuse(
      'capture_mode_not_supported',
      `The acquirer contract does not allow ${mode}.`,
      fieldError('/captureMode', 'capture_mode_not_supported', 'Not in the acquirer contract.'),
    );
  }
  if (request.partialApproval === true && !terms.partialApproval) {
    refuse(
      'partial_approval_not_supported',
      'The acquirer contract does not allow partial approval.',
      fieldError(
        '/partialApproval',
        'partial_approval_not_supported',
        'Not in the acquirer contract.',
      ),
    );
  }
  const isClear = encrypted === undefined && token === undefined;
  if (terms.clearCardData === 'Refused' && isClear) {
    refuse(
      'clear_card_data_refused',
      'The acquirer contract does not accept unencrypted card data.',
    );
  }
  return mode;
}
