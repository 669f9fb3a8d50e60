// What a chip said after the issuer had approved: judged against the sale before it is sent on.
import { type ErrorCode, refuse } from '@switchyard/contract';
import { type ChipOutcome, EmvError, maskPan, parseChipOutcome } from '@switchyard/emv';
import type { PaymentsDeps } from '../deps.ts';
import { factsOf, type LoadedTransaction } from '../transaction/transaction.ts';
import { cardMarkOf } from '../validation/validate-sale-request.ts';

/** The members of a cancel that matter here. */
type Cancel = {
  cancelReason?: string | undefined;
  reversalReason?: string | undefined;
  emvData?: string | undefined;
};

const pointer = '/emvData';

function refuseData(code: ErrorCode, detail: string, reason: string = code): never {
  return refuse(code, detail, { errors: [{ pointer, code: reason, detail }] });
}

function read(emvData: string): ChipOutcome {
  try {
    return parseChipOutcome(emvData);
  } catch (error) {
    if (!(error instanceof EmvError)) throw error;
    return refuseData(
      'emv_data_invalid',
      `The chip data cannot be read: ${error.code}.`,
      error.code,
    );
  }
}

/** Whether the card is the one of the sale; what names no card is not compared. */
function isSameCard(
  deps: Pick<PaymentsDeps, 'vault'>,
  loaded: LoadedTransaction,
  { pan, expiry, contradicts }: ChipOutcome,
): boolean {
  if (contradicts) return false;
  if (pan === undefined) return true;
  const { card, request } = factsOf(loaded);
  if (expiry === undefined) return maskPan(pan) === card.maskedNumber;
  const mark = deps.vault.mark(loaded.row.organizationId, { pan, expiry });
  return cardMarkOf(request) === mark.slice(0, cardMarkOf(request).length);
}

/**
 * The objects of the chip that go with the reversal of its sale.
 *
 * @returns undefined where the cancel brings none
 * @throws Refusal field_invalid, emv_data_invalid, emv_data_mismatch
 */
export function chipOutcomeOf(
  deps: Pick<PaymentsDeps, 'vault'>,
  loaded: LoadedTransaction,
  { cancelReason, reversalReason, emvData }: Cancel,
): string | undefined {
  if (emvData === undefined) return undefined;
  if (cancelReason !== 'Technical') {
    refuseData('field_invalid', 'Chip data goes with the cancelReason Technical.');
  }
  if (!factsOf(loaded).entryMode.endsWith('Chip')) {
    refuseData('field_invalid', 'The sale was not made by a chip.');
  }
  const outcome = read(emvData);
  if (!isSameCard(deps, loaded, outcome)) {
    const detail = 'The chip data is not of the card of the sale.';
    refuseData('emv_data_mismatch', detail, 'emv_pan_mismatch');
  }
  // A transaction certificate is the chip's approval.
  if (reversalReason === 'ChipDeclined' && outcome.cryptogramKind === 'TC') {
    const detail = 'The chip approved, so it has not declined.';
    refuseData('emv_data_mismatch', detail, 'emv_cryptogram_mismatch');
  }
  return outcome.forDe55 === '' ? undefined : outcome.forDe55;
}
