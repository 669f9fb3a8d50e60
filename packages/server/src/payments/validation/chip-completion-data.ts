// Validates chip completion data against the sale before the reversal is sent.
import { type ErrorCode, refuse } from '@switchyard/contract';
import { type ChipOutcome, EmvError, maskPan, parseChipOutcome } from '@switchyard/emv';
import type { Vault } from '../../vault/index.ts';
import { authorizationContext, type TransactionRecord } from '../transaction/transaction.ts';
import { cardFingerprintFrom } from './request-fingerprint.ts';

/** The members of a cancel that matter here. */
type CancelMembers = {
  cancelReason?: string | undefined;
  reversalReason?: string | undefined;
  emvData?: string | undefined;
};

type ChipDataPorts = { vault: Pick<Vault, 'mark'> };

const pointer = '/emvData';

function refuseChipData(code: ErrorCode, detail: string, reason: string = code): never {
  return refuse(code, detail, { errors: [{ pointer, code: reason, detail }] });
}

function readCompletionData(emvData: string): ChipOutcome {
  try {
    return parseChipOutcome(emvData);
  } catch (error) {
    if (!(error instanceof EmvError)) throw error;
    return refuseChipData(
      'emv_data_invalid',
      `The chip data cannot be read: ${error.code}.`,
      error.code,
    );
  }
}

/** Whether the card is the one of the sale; what names no card is not compared. */
function isSameCard(
  ports: ChipDataPorts,
  transaction: TransactionRecord,
  { pan, expiry, contradicts }: ChipOutcome,
): boolean {
  if (contradicts) return false;
  if (pan === undefined) return true;
  const { card, request } = authorizationContext(transaction);
  if (expiry === undefined) return maskPan(pan) === card.maskedNumber;
  const cardFingerprint = ports.vault.mark(transaction.row.organizationId, { pan, expiry });
  return (
    cardFingerprintFrom(request) === cardFingerprint.slice(0, cardFingerprintFrom(request).length)
  );
}

/**
 * The objects of the chip that go with the reversal of its sale.
 *
 * @returns undefined where the cancel brings none
 * @throws Refusal field_invalid, emv_data_invalid, emv_data_mismatch
 */
export function validateChipCompletionData(
  ports: ChipDataPorts,
  transaction: TransactionRecord,
  { cancelReason, reversalReason, emvData }: CancelMembers,
): string | undefined {
  if (emvData === undefined) return undefined;
  if (cancelReason !== 'Technical') {
    refuseChipData('field_invalid', 'Chip data goes with the cancelReason Technical.');
  }
  if (!authorizationContext(transaction).entryMode.endsWith('Chip')) {
    refuseChipData('field_invalid', 'The sale was not a chip transaction.');
  }
  const outcome = readCompletionData(emvData);
  if (!isSameCard(ports, transaction, outcome)) {
    const detail = 'The chip data belongs to another card than the sale.';
    refuseChipData('emv_data_mismatch', detail, 'emv_pan_mismatch');
  }
  // A transaction certificate is the chip's approval.
  if (reversalReason === 'ChipDeclined' && outcome.cryptogramKind === 'TC') {
    const detail = 'The chip data contains an approval (TC), but reversalReason is ChipDeclined.';
    refuseChipData('emv_data_mismatch', detail, 'emv_cryptogram_mismatch');
  }
  return outcome.forDe55 === '' ? undefined : outcome.forDe55;
}
