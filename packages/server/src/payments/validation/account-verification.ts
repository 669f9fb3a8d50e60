// A look at the card without an amount: what of a request fits with it.
import { type ErrorCode, type ProcessRequest, refuse } from '@switchyard/contract';

const at = (pointer: string, code: ErrorCode, detail: string) => ({
  errors: [{ pointer, code, detail }],
});

/** Whether a request asks the issuer about the card, and for no money. */
export const isVerification = ({ purpose }: Pick<ProcessRequest, 'purpose'>): boolean =>
  purpose === 'AccountVerification';

/**
 * Nothing is taken by a verification, and by everything else something is; pure.
 *
 * @throws Refusal amount_zero, amount_invalid, field_invalid
 */
export function checkPurpose(request: ProcessRequest): void {
  const { amount } = request;
  if (!isVerification(request)) {
    if (amount > 0) return;
    refuse('amount_zero', 'Zero is for an account verification alone.', {
      ...at('/amount', 'amount_zero', 'Zero with purpose AccountVerification alone.'),
    });
  }
  if (amount > 0) {
    refuse('amount_invalid', 'An account verification has the amount 0.', {
      ...at('/amount', 'amount_invalid', 'Is 0 with purpose AccountVerification.'),
    });
  }
  const { captureMode, partialApproval, confirmWithinSeconds, offlineTransaction } = request;
  const unfit = {
    captureMode: captureMode === 'Immediate',
    partialApproval: partialApproval === true,
    confirmWithinSeconds: confirmWithinSeconds !== undefined,
    offlineTransaction: offlineTransaction === true,
  };
  for (const [name, isUnfit] of Object.entries(unfit)) {
    if (!isUnfit) continue;
    refuse('field_invalid', `${name} does not go with an account verification.`, {
      ...at(`/${name}`, 'field_invalid', 'Nothing is held, and so nothing can become of it.'),
    });
  }
}
