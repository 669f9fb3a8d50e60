// Tip and cashback: parts of the amount that are sent to the issuer separately.
import { type ProcessRequest, refuse } from '@switchyard/contract';

/** Minor units; what is missing is not part of the amount. */
export type AmountParts = { readonly tip?: number; readonly cashback?: number };

/** The parts are within the amount, and something is left that was bought. @throws Refusal amount_invalid */
export function validateAmountParts(request: ProcessRequest) {
  const { amount, amounts, entryMode, orderChannel } = request;
  if (amounts === undefined) return;
  const { tip = 0, cashback = 0 } = amounts;
  if (tip + cashback >= amount) {
    refuse('amount_invalid', 'amount must be greater than tip plus cashback.', {
      errors: [
        { pointer: '/amounts', code: 'amount_invalid', detail: 'Together less than amount.' },
      ],
    });
  }
  if (cashback > 0 && request.partialApproval === true) {
    refuse('field_invalid', 'Cashback is not allowed with partialApproval.', {
      errors: [
        { pointer: '/partialApproval', code: 'field_invalid', detail: 'Not with cashback.' },
      ],
    });
  }
  if (cashback > 0 && (entryMode === 'Keyed' || orderChannel !== undefined)) {
    refuse('entry_mode_invalid', 'Cashback requires a card that was read by the terminal.', {
      errors: [
        { pointer: '/entryMode', code: 'entry_mode_invalid', detail: 'Not Keyed, with cashback.' },
      ],
    });
  }
}
