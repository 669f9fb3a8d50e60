// Tip and cashback: parts of the amount that are sent to the issuer separately.
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';

/** @throws Refusal amount_invalid, field_invalid, entry_mode_invalid */
export function validateAmountParts(request: ProcessRequest) {
  const { amount, amounts, entryMode, orderChannel } = request;
  if (amounts === undefined) return;
  const { tip = 0, cashback = 0 } = amounts;
  if (tip + cashback >= amount) {
    refuse(
      'amount_invalid',
      'amount must be greater than tip plus cashback.',
      fieldError('/amounts', 'amount_invalid', 'Together less than amount.'),
    );
  }
  if (cashback > 0 && request.partialApproval === true) {
    refuse(
      'field_invalid',
      'Cashback is not allowed with partialApproval.',
      fieldError('/partialApproval', 'field_invalid', 'Not with cashback.'),
    );
  }
  if (cashback > 0 && (entryMode === 'Keyed' || orderChannel !== undefined)) {
    refuse(
      'entry_mode_invalid',
      'Cashback requires a card that was read by the terminal.',
      fieldError('/entryMode', 'entry_mode_invalid', 'Not Keyed, with cashback.'),
    );
  }
}
