// Validates the members of a sale before anything is stored. Pure.
import { fieldError, type ProcessRequest, refuse } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import { validatePinMembers } from '../card-input/validate-pin-block.ts';
import { validatePurpose } from './account-verification.ts';
import { validateAmountParts } from './tip-and-cashback.ts';

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
