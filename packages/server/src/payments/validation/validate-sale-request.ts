// Validates the members of a sale request before anything is read or stored. Pure.
import { type ProcessRequest, throwFieldProblem, throwProblem } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import type { PinData } from '../card-input/translate-pin.ts';

export const isAccountVerification = ({ purpose }: Pick<ProcessRequest, 'purpose'>): boolean =>
  purpose === 'AccountVerification';

/** @throws ProblemError amount_zero, amount_invalid, field_invalid */
function validatePurpose(request: ProcessRequest): void {
  const { amount, captureMode, partialApproval, confirmWithinSeconds, offlineTransaction } =
    request;
  if (!isAccountVerification(request)) {
    if (amount > 0) return;
    const detail = 'Amount 0 is allowed with purpose AccountVerification only.';
    throwFieldProblem('amount_zero', '/amount', detail);
  }
  if (amount > 0) {
    throwFieldProblem('amount_invalid', '/amount', 'An account verification has the amount 0.');
  }
  const notAllowedMembers = {
    captureMode: captureMode === 'Immediate',
    partialApproval: partialApproval === true,
    confirmWithinSeconds: confirmWithinSeconds !== undefined,
    offlineTransaction: offlineTransaction === true,
  };
  for (const [name, isPresent] of Object.entries(notAllowedMembers)) {
    if (!isPresent) continue;
    throwFieldProblem(
      'field_invalid',
      `/${name}`,
      `${name} is not allowed with purpose AccountVerification.`,
    );
  }
}

/** @throws ProblemError amount_invalid, field_invalid, entry_mode_invalid */
function validateAmountParts(request: ProcessRequest) {
  const { amount, amounts, entryMode, orderChannel, partialApproval } = request;
  if (amounts === undefined) return;
  const { tip = 0, cashback = 0 } = amounts;
  if (tip + cashback >= amount) {
    throwFieldProblem(
      'amount_invalid',
      '/amounts',
      'amount must be greater than tip plus cashback.',
    );
  }
  if (cashback === 0) return;
  if (partialApproval === true) {
    const detail = 'Cashback is not allowed with partialApproval.';
    throwFieldProblem('field_invalid', '/partialApproval', detail);
  }
  if (entryMode === 'Keyed' || orderChannel !== undefined) {
    const detail = 'Cashback requires a card that was read by the terminal.';
    throwFieldProblem('entry_mode_invalid', '/entryMode', detail);
  }
}

const pinMembers = ['ksn', 'pinblock', 'pinblockFormat'] as const;

/** @throws ProblemError pin_data_incomplete, pin_format_unsupported, entry_mode_invalid */
export function validatePinMembers(request: ProcessRequest): void {
  if (pinMembers.every((name) => request[name] === undefined)) return;
  const missing = pinMembers.filter((name) => request[name] === undefined);
  if (missing.length > 0) {
    const code = 'pin_data_incomplete';
    const detail = 'Is required if one of the other two fields is sent.';
    throwProblem(code, 'ksn, pinblock and pinblockFormat must be sent together.', {
      errors: missing.map((name) => ({ pointer: `/${name}`, code, detail })),
    });
  }
  if (request.entryMode === 'Keyed') {
    throwFieldProblem(
      'entry_mode_invalid',
      '/entryMode',
      'A PIN is not allowed with entryMode Keyed.',
    );
  }
  // Format 4 uses AES, the others TDES. AES DUKPT can derive both kinds of keys (ANSI X9.24-3).
  const { ksn, pinblock, pinblockFormat } = request as PinData;
  const isFormat4 = pinblockFormat === 'ISO4';
  if ((isFormat4 && ksn.length !== 24) || (pinblock.length === 32) !== isFormat4) {
    const detail =
      'pinblockFormat does not match ksn or pinblock: ISO4 needs AES DUKPT and 32 digits, the others 16 digits.';
    throwFieldProblem('pin_format_unsupported', '/pinblockFormat', detail);
  }
}

/** Checks that a schema cannot express. */
export function validateSaleRequest(request: ProcessRequest): void {
  // Whether the currency is active at the time of the sale is checked later.
  if (!isActiveCurrency(request.currency, 0)) {
    throwFieldProblem(
      'currency_unknown',
      '/currency',
      'The currency is not an active code of ISO 4217.',
    );
  }
  validatePurpose(request);
  validatePinMembers(request);
  if (request.orderChannel === undefined) requireMotoForAvs(request);
  else validateMotoOrder(request);
  validateAmountParts(request);
  requireNoCardNumbers(request);
}

function validateMotoOrder(request: ProcessRequest): void {
  const { entryMode, zipCode, houseNumber, instrument } = request;
  if (entryMode !== 'Keyed') {
    const detail = 'A mail or telephone order requires entryMode Keyed.';
    throwFieldProblem('entry_mode_invalid', '/entryMode', detail);
  }
  if ((zipCode === undefined) !== (houseNumber === undefined)) {
    const missing = zipCode === undefined ? '/zipCode' : '/houseNumber';
    throwFieldProblem(
      'avs_data_required',
      missing,
      'zipCode and houseNumber must be sent together.',
    );
  }
  if (zipCode === undefined && instrument.address === undefined) {
    const detail = 'Without zipCode, instrument.address with email or phone is required.';
    throwFieldProblem('moto_contact_required', '/instrument/address', detail);
  }
}

function requireMotoForAvs({ zipCode, houseNumber, instrument }: ProcessRequest): void {
  const members = {
    '/zipCode': zipCode,
    '/houseNumber': houseNumber,
    '/instrument/address': instrument.address,
  };
  for (const [pointer, value] of Object.entries(members)) {
    if (value === undefined) continue;
    throwFieldProblem('field_invalid', pointer, `${pointer.slice(1)} requires orderChannel.`);
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
function requireNoCardNumbers(request: ProcessRequest): void {
  for (const name of freeTextMembers) {
    const value = request[name];
    if (value === undefined || !holdsCardNumber(JSON.stringify(value))) continue;
    const code = name === 'clientTransactionId' ? 'client_id_invalid' : 'field_invalid';
    throwFieldProblem(code, `/${name}`, 'A field contains text that looks like a card number.');
  }
}

/** @throws ProblemError client_id_invalid */
export function validateOperationId(clientOperationId: string | undefined): void {
  if (clientOperationId === undefined || !holdsCardNumber(clientOperationId)) return;
  const detail = 'The identifier contains text that looks like a card number.';
  throwFieldProblem('client_id_invalid', '/clientOperationId', detail);
}
