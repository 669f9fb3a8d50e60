// Validates chip completion data against the sale before the reversal is sent.
import { type ErrorCode, fieldError, throwProblem } from '@switchyard/contract';
import { type ChipOutcome, EmvError, maskPan, parseChipOutcome } from '@switchyard/emv';
import type { Vault } from '../../vault/index.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { cardFingerprintFrom } from './compare-repeated-request.ts';

type CancelMembers = Partial<
  Record<'cancelReason' | 'reversalReason' | 'emvData', string | undefined>
>;

export type ChipDataPorts = { vault: Pick<Vault, 'fingerprintCard'> };

function throwChipDataProblem(code: ErrorCode, detail: string, reason: string = code): never {
  return throwProblem(code, detail, fieldError('/emvData', reason, detail));
}

function readCompletionData(emvData: string): ChipOutcome {
  try {
    return parseChipOutcome(emvData);
  } catch (error) {
    if (!(error instanceof EmvError)) throw error;
    const detail = `The chip data cannot be read: ${error.code}.`;
    return throwChipDataProblem('emv_data_invalid', detail, error.code);
  }
}

/** True also if the chip data contains no card number. */
function isSameCard(
  { vault }: ChipDataPorts,
  transaction: TransactionRecord,
  { pan, expiry, contradicts }: ChipOutcome,
): boolean {
  if (contradicts) return false;
  if (pan === undefined) return true;
  const { card, request } = authorizationContext(transaction);
  if (expiry === undefined) return maskPan(pan) === card.maskedNumber;
  const fingerprint = vault.fingerprintCard(transaction.row.organizationId, { pan, expiry });
  return fingerprint.startsWith(cardFingerprintFrom(request));
}

/**
 * @returns DE55 of the reversal, undefined without chip data
 * @throws ProblemError field_invalid, emv_data_invalid, emv_data_mismatch
 */
export function validateChipCompletionData(
  ports: ChipDataPorts,
  transaction: TransactionRecord,
  { cancelReason, reversalReason, emvData }: CancelMembers,
): string | undefined {
  if (emvData === undefined) return undefined;
  if (cancelReason !== 'Technical') {
    throwChipDataProblem('field_invalid', 'Chip data goes with the cancelReason Technical.');
  }
  if (!authorizationContext(transaction).entryMode.endsWith('Chip')) {
    throwChipDataProblem('field_invalid', 'The sale was not a chip transaction.');
  }
  const outcome = readCompletionData(emvData);
  if (!isSameCard(ports, transaction, outcome)) {
    const detail = 'The chip data belongs to another card than the sale.';
    throwChipDataProblem('emv_data_mismatch', detail, 'emv_pan_mismatch');
  }
  // A transaction certificate is the chip's approval.
  if (reversalReason === 'ChipDeclined' && outcome.cryptogramKind === 'TC') {
    const detail = 'The chip data contains an approval (TC), but reversalReason is ChipDeclined.';
    throwChipDataProblem('emv_data_mismatch', detail, 'emv_cryptogram_mismatch');
  }
  return outcome.forDe55 === '' ? undefined : outcome.forDe55;
}
