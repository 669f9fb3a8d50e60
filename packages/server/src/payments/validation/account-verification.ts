// Rules of an account verification (zero amount).
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';

export const isAccountVerification = ({ purpose }: Pick<ProcessRequest, 'purpose'>): boolean =>
  purpose === 'AccountVerification';

/** @throws Refusal amount_zero, amount_invalid, field_invalid */
export function validatePurpose(request: ProcessRequest): void {
  const { amount } = request;
  if (!isAccountVerification(request)) {
    if (amount > 0) return;
    refuse(
      'amount_zero',
      'Amount 0 is allowed with purpose AccountVerification only.',
      fieldError('/amount', 'amount_zero', 'Zero with purpose AccountVerification alone.'),
    );
  }
  if (amount > 0) {
    refuse(
      'amount_invalid',
      'An account verification has the amount 0.',
      fieldError('/amount', 'amount_invalid', 'Is 0 with purpose AccountVerification.'),
    );
  }
  const { captureMode, partialApproval, confirmWithinSeconds, offlineTransaction } = request;
  const notAllowedMembers = {
    captureMode: captureMode === 'Immediate',
    partialApproval: partialApproval === true,
    confirmWithinSeconds: confirmWithinSeconds !== undefined,
    offlineTransaction: offlineTransaction === true,
  };
  for (const [name, isPresent] of Object.entries(notAllowedMembers)) {
    if (!isPresent) continue;
    refuse(
      'field_invalid',
      `${name} does not go with an account verification.`,
      fieldError(`/${name}`, 'field_invalid', 'Nothing is held, and so nothing can become of it.'),
    );
  }
}
