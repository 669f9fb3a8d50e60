// Validates the members of a sale request before anything is read or stored. Pure.

import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import type { PinData } from '../card-input/translate-pin.ts';

export const isAccountVerification = ({ purpose }: Pick<ProcessRequest, 'purpose'>): boolean =>
  purpose === 'AccountVerification';

/** @throws Refusal amount_zero, amount_invalid, field_invalid */
function validatePurpose(request: ProcessRequest): void {
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

/** @throws Refusal amount_invalid, field_invalid, entry_mode_invalid */
function validateAmountParts(request: ProcessRequest) {
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

const pinMembers = ['ksn', 'pinblock', 'pinblockFormat'] as const;

/** @throws Refusal pin_data_incomplete, pin_format_unsupported, entry_mode_invalid */
export function validatePinMembers(request: ProcessRequest): void {
  const missing = pinMembers.filter((name) => request[name] === undefined);
  if (missing.length === pinMembers.length) return;
  if (missing.length > 0) {
    const code = 'pin_data_incomplete';
    const detail = 'Is needed beside the others.';
    refuse(code, 'ksn, pinblock and pinblockFormat must be sent together.', {
      errors: missing.map((name) => ({ pointer: `/${name}`, code, detail })),
    });
  }
  if (request.entryMode === 'Keyed') {
    refuse(
      'entry_mode_invalid',
      'A PIN is not allowed with entryMode Keyed.',
      fieldError('/entryMode', 'entry_mode_invalid', 'Not Keyed, with a PIN.'),
    );
  }
  // Format 4 uses AES, the others TDES. AES DUKPT can derive both kinds of keys (ANSI X9.24-3).
  const { ksn, pinblock, pinblockFormat } = request as PinData;
  const isFormat4 = pinblockFormat === 'ISO4';
  if ((isFormat4 && ksn.length !== 24) || (pinblock.length === 32) !== isFormat4) {
    refuse(
      'pin_format_unsupported',
      'ISO4 goes with AES DUKPT and 32 digits, the others with 16 digits.',
      fieldError('/pinblockFormat', 'pin_format_unsupported', 'Does not fit ksn and pinblock.'),
    );
  }
}

/** Checks that a schema cannot express. */
export function validateSaleRequest(request: ProcessRequest): void {
  // Whether the currency is active at the time of the sale is checked later.
  if (!isActiveCurrency(request.currency, 0)) {
    refuse(
      'currency_unknown',
      'The currency is not in ISO 4217.',
      fieldError('/currency', 'currency_unknown', 'Not an ISO 4217 code to pay in.'),
    );
  }
  validatePurpose(request);
  validatePinMembers(request);
  validateMotoOrder(request);
  validateAmountParts(request);
  refuseCardNumbers(request);
}

function validateMotoOrder(request: ProcessRequest): void {
  const { orderChannel, entryMode, zipCode, houseNumber, instrument } = request;
  if (orderChannel === undefined) {
    refuseAvsWithoutMoto(request);
    return;
  }
  if (entryMode !== 'Keyed') {
    refuse(
      'entry_mode_invalid',
      'A mail or telephone order requires entryMode Keyed.',
      fieldError('/entryMode', 'entry_mode_invalid', 'Must be Keyed when orderChannel is present.'),
    );
  }
  if ((zipCode === undefined) !== (houseNumber === undefined)) {
    const missing = zipCode === undefined ? '/zipCode' : '/houseNumber';
    refuse(
      'avs_data_required',
      'zipCode and houseNumber must be sent together.',
      fieldError(missing, 'avs_data_required', 'Is required with the other member.'),
    );
  }
  if (zipCode === undefined && instrument.address === undefined) {
    refuse(
      'moto_contact_required',
      'Without zipCode, instrument.address with email or phone is required.',
      fieldError('/instrument/address', 'moto_contact_required', 'An email or a phone.'),
    );
  }
}

function refuseAvsWithoutMoto({ zipCode, houseNumber, instrument }: ProcessRequest): void {
  const members = {
    '/zipCode': zipCode,
    '/houseNumber': houseNumber,
    '/instrument/address': instrument.address,
  };
  for (const [pointer, value] of Object.entries(members)) {
    if (value === undefined) continue;
    refuse(
      'field_invalid',
      `${pointer} requires orderChannel.`,
      fieldError(pointer, 'field_invalid', 'Only for a mail or telephone order.'),
    );
  }
}

const normalizeAvsText = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]/g, '');

/** Address verification data in the format of acquirer hosts. */
export function avsData({ zipCode, houseNumber }: ProcessRequest) {
  if (zipCode === undefined || houseNumber === undefined) return undefined;
  return {
    postalCode: normalizeAvsText(zipCode).slice(0, 9),
    houseNumber: normalizeAvsText(houseNumber),
  };
}

const freeTextMembers = ['clientTransactionId', 'order', 'metadata'] as const;

// Free text is stored and returned unchanged, so it must not contain a card number.
function refuseCardNumbers(request: ProcessRequest): void {
  for (const name of freeTextMembers) {
    const value = request[name];
    if (value === undefined || !holdsCardNumber(JSON.stringify(value))) continue;
    const code = name === 'clientTransactionId' ? 'client_id_invalid' : 'field_invalid';
    refuse(
      code,
      'A member contains text that looks like a card number.',
      fieldError(`/${name}`, code, 'Looks like a card number.'),
    );
  }
}

/** @throws Refusal client_id_invalid */
export function validateOperationId(clientOperationId: string | undefined): void {
  if (clientOperationId === undefined || !holdsCardNumber(clientOperationId)) return;
  refuse(
    'client_id_invalid',
    'The identifier contains text that looks like a card number.',
    fieldError('/clientOperationId', 'client_id_invalid', 'Looks like a card number.'),
  );
}
