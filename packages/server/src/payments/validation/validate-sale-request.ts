// Validation of a request before anything is stored. Pure.
import {
  type AllowedOperation,
  defined,
  type ErrorCode,
  type ProcessRequest,
  refuse,
} from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import { validatePinMembers } from '../card-input/validate-pin-block.ts';
import {
  type ContractTerms,
  checkAllowed,
  confirmRuleFor,
  hasReservation,
  type OperationType,
  remainingAuthorized,
  reversibleAmount,
} from '../transaction/state-machine.ts';
import type {
  OperationKind,
  TransactionRecord,
  TransactionRow,
} from '../transaction/transaction.ts';
import { isAccountVerification, validatePurpose } from './account-verification.ts';
import { validateAmountParts } from './tip-and-cashback.ts';

/** Terms of the acquirer contract that limit a sale. */
export type SaleContractTerms = {
  currencies: readonly string[];
  captureModes: readonly string[];
  defaultCaptureMode: 'Immediate' | 'Deferred';
  clearCardData: 'Allowed' | 'Refused';
  partialApproval: boolean;
};

const at = (pointer: string, code: ErrorCode, detail: string) => ({
  errors: [{ pointer, code, detail }],
});

/** Faults of the fields that a schema cannot see. @throws Refusal of the fields */
export function validateSaleRequest(request: ProcessRequest): void {
  // Whether it was one at the time of the sale is asked once that is known.
  if (!isActiveCurrency(request.currency, 0)) {
    refuse('currency_unknown', 'The currency is not in ISO 4217.', {
      ...at('/currency', 'currency_unknown', 'Not an ISO 4217 code to pay in.'),
    });
  }
  validatePurpose(request);
  validatePinMembers(request);
  validateMotoOrder(request);
  validateAmountParts(request);
  refuseCardNumbers(request);
}

/** Of a mail or telephone order; the address is for it alone. */
function validateMotoOrder(request: ProcessRequest): void {
  const { orderChannel, entryMode, zipCode, houseNumber, instrument } = request;
  if (orderChannel === undefined) {
    refuseAvsWithoutMoto(request);
    return;
  }
  if (entryMode !== 'Keyed') {
    refuse('entry_mode_invalid', 'A mail or telephone order requires entryMode Keyed.', {
      ...at('/entryMode', 'entry_mode_invalid', 'Must be Keyed when orderChannel is present.'),
    });
  }
  if ((zipCode === undefined) !== (houseNumber === undefined)) {
    const missing = zipCode === undefined ? '/zipCode' : '/houseNumber';
    refuse('avs_data_required', 'zipCode and houseNumber must be sent together.', {
      ...at(missing, 'avs_data_required', 'Is required with the other member.'),
    });
  }
  if (zipCode === undefined && instrument.address === undefined) {
    refuse(
      'moto_contact_required',
      'Without zipCode, instrument.address with email or phone is required.',
      {
        ...at('/instrument/address', 'moto_contact_required', 'An email or a phone.'),
      },
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
    refuse('field_invalid', `${pointer} requires orderChannel.`, {
      ...at(pointer, 'field_invalid', 'Only for a mail or telephone order.'),
    });
  }
}

const normalizeAvsText = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]/g, '');

/** What is compared with the cardholder's address, in the spelling of hosts. */
export function avsData({
  zipCode,
  houseNumber,
}: ProcessRequest): { postalCode: string; houseNumber: string } | undefined {
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
    refuse(code, 'A member contains text that looks like a card number.', {
      ...at(`/${name}`, code, 'Looks like a card number.'),
    });
  }
}

/** The client's identifier of an operation is kept as it came. @throws Refusal client_id_invalid */
export function validateOperationId(clientOperationId: string | undefined): void {
  if (clientOperationId === undefined || !holdsCardNumber(clientOperationId)) return;
  refuse('client_id_invalid', 'The identifier contains text that looks like a card number.', {
    ...at('/clientOperationId', 'client_id_invalid', 'Looks like a card number.'),
  });
}

/** What the contract allows. @throws Refusal of the configuration */
export function chooseCaptureMode(
  request: ProcessRequest,
  terms: SaleContractTerms,
): 'Immediate' | 'Deferred' {
  if (!terms.currencies.includes(request.currency)) {
    refuse('currency_not_supported', 'The acquirer contract does not include this currency.', {
      ...at('/currency', 'currency_not_supported', 'Not in the acquirer contract.'),
    });
  }
  const { encrypted, token } = request.instrument;
  // What captures nothing is an authorisation, whichever modes the contract names.
  const isZeroAmount = isAccountVerification(request);
  const mode = isZeroAmount ? 'Deferred' : (request.captureMode ?? terms.defaultCaptureMode);
  if (!isZeroAmount && !terms.captureModes.includes(mode)) {
    refuse('capture_mode_not_supported', `The acquirer contract does not allow ${mode}.`, {
      ...at('/captureMode', 'capture_mode_not_supported', 'Not in the acquirer contract.'),
    });
  }
  if (request.partialApproval === true && !terms.partialApproval) {
    refuse(
      'partial_approval_not_supported',
      'The acquirer contract does not allow partial approval.',
      {
        ...at(
          '/partialApproval',
          'partial_approval_not_supported',
          'Not in the acquirer contract.',
        ),
      },
    );
  }
  const isClear = encrypted === undefined && token === undefined;
  if (terms.clearCardData === 'Refused' && isClear) {
    refuse(
      'clear_card_data_refused',
      'The acquirer contract does not accept unencrypted card data.',
    );
  }
  return mode;
}

/** Members that distinguish two requests with the same identifier. */
export function createRequestFingerprint(
  request: ProcessRequest,
  identity: {
    storeId: string | undefined;
    deviceId: string | undefined;
    /** Keyed hashes: they tell two cards or names apart, and give neither away. */
    card: string;
    holder?: string;
    /** Of a mail or telephone order. */
    address?: string;
    zipCode?: string;
    houseNumber?: string;
  },
): Record<string, unknown> {
  const {
    instrument: _instrument,
    clientTransactionId: _id,
    merchantId: _merchant,
    zipCode: _zip,
    houseNumber: _house,
    ksn: _ksn,
    pinblock: _pinBlock,
    pinblockFormat: _pinFormat,
    ...members
  } = request;
  return {
    ...members,
    storeId: identity.storeId,
    deviceId: identity.deviceId,
    instrument: [identity.card, identity.holder, identity.address].filter(Boolean).join('|'),
    ...defined({ zipCode: identity.zipCode, houseNumber: identity.houseNumber }),
  };
}

/** The keyed hash of the card in a fingerprint; the cardholder's name and address follow it. */
export function cardFingerprintFrom(fingerprint: Record<string, unknown>): string {
  return String(fingerprint['instrument']).split('|')[0] ?? '';
}

const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  ) ?? 'null';

/** The names of the members in which two requests differ; never their values. */
export function differingMembers(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
): string[] {
  const memberNames = new Set([...Object.keys(first), ...Object.keys(second)]);
  return [...memberNames]
    .filter((name) => canonicalJson(first[name]) !== canonicalJson(second[name]))
    .sort();
}

/** @throws Refusal client_id_reused, naming the members that differ */
export function refuseIdentifierReuse(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
  identifierName: 'clientTransactionId' | 'clientOperationId',
): void {
  const memberNames = differingMembers(first, second);
  if (memberNames.length === 0) return;
  refuse('client_id_reused', `This ${identifierName} was used for a different request.`, {
    errors: memberNames.map((name) => ({
      pointer: `/${name}`,
      code: 'client_id_reused',
      detail: 'Differs from the first request.',
    })),
  });
}

export const operationKindByType: Readonly<Record<OperationType, OperationKind>> = {
  Capture: 'Capture',
  Cancel: 'Cancel',
  Reverse: 'Reversal',
  Refund: 'Refund',
};

const amountExceededCodes: Readonly<Record<OperationType, ErrorCode>> = {
  Capture: 'capture_amount_exceeded',
  Cancel: 'cancel_amount_exceeded',
  Reverse: 'partial_reversal_not_supported',
  Refund: 'refund_amount_exceeded',
};

/** Allowed operations with maximum amounts, for `allowedoperations` and for conflict errors. */
export function allowedOperations(row: TransactionRow, terms: ContractTerms): AllowedOperation[] {
  const operationTypes: OperationType[] = ['Capture', 'Refund', 'Cancel', 'Reverse'];
  const { position, currency } = row;
  const results: AllowedOperation[] = operationTypes.map((operationType) => {
    const result = checkAllowed(position, operationType, terms);
    const operation = operationKindByType[operationType];
    if (!result.allowed) {
      return { operation, allowed: false, maxAmount: 0, currency, reason: result.reason };
    }
    const maxAmount = maxAmountOf(row, result);
    const allowed = maxAmount > 0 || isFullSaleRule(result.mode);
    if (!allowed) {
      return {
        operation,
        allowed,
        maxAmount: 0,
        currency,
        reason: nothingLeftReason(operationType),
      };
    }
    return { operation, allowed, maxAmount, currency };
  });
  if (confirmRuleFor(position) !== 'Confirm') return results;
  const maxAmount = reversibleAmount(position);
  return [...results, { operation: 'Confirm', allowed: true, maxAmount, currency }];
}

/** Whether a verb takes all of the sale, whatever of it was approved by now. */
const isFullSaleRule = (rule: string): boolean => rule === 'Queue' || rule === 'Withdraw';

const maxAmountOf = (row: TransactionRow, result: { mode: string; maxAmount: number }): number =>
  isFullSaleRule(result.mode) ? row.amount : result.maxAmount;

// The state allows the operation, but no amount is left or nothing needs to be done.
function nothingLeftReason(operationType: OperationType): ErrorCode {
  return operationType === 'Reverse' ? 'already_cancelled' : amountExceededCodes[operationType];
}

export function conflictExtensions(
  transaction: TransactionRecord,
  terms: ContractTerms,
): Record<string, unknown> {
  const { row } = transaction;
  return {
    transaction: {
      transactionId: row.transactionId,
      clientTransactionId: row.clientTransactionId,
      state: row.state,
    },
    allowedOperations: allowedOperations(row, terms),
  };
}

export type OperationRequest = {
  amount?: number | undefined;
  currency?: string | undefined;
  final?: boolean | undefined;
};

export type OperationDecision =
  | {
      amount: number;
      isAfterOutcome: boolean;
      isFinal: boolean;
      /** Voided before submission: no message to the acquirer is needed. */
      isVoidedLocally?: true;
    }
  | 'Nothing'
  | 'Replay';

/**
 * Decides about an operation: the state first, then the amount, then the configuration.
 *
 * @returns the amount to reserve, minor units, or that nothing is to be done
 * @throws Refusal of the state, the amount or the configuration, with what is allowed instead
 */
export function decideOperation(
  transaction: TransactionRecord,
  operationType: OperationType,
  request: OperationRequest,
  terms: ContractTerms,
): OperationDecision {
  const { row } = transaction;
  const extensions = () => ({ extensions: conflictExtensions(transaction, terms) });
  if (request.currency !== undefined && request.currency !== row.currency) {
    refuse('currency_mismatch', `The transaction is in ${row.currency}.`, {
      ...at('/currency', 'currency_mismatch', 'Must be the currency of the sale.'),
    });
  }
  const result = checkAllowed(row.position, operationType, terms);
  if (!result.allowed) {
    refuse(
      result.reason,
      `${operationKindByType[operationType]} is not possible while the transaction is ${row.state}.`,
      extensions(),
    );
  }
  if (result.mode === 'Nothing' || result.mode === 'Replay') return result.mode;
  const maxAmount = maxAmountOf(row, result);
  const amount = operationAmount(row, operationType, request, maxAmount);
  if (amount === undefined || amount > maxAmount) {
    const remainingText = `The maximum amount is ${maxAmount} minor units (${row.currency}).`;
    refuse(amountExceededCodes[operationType], remainingText, {
      extensions: { ...conflictExtensions(transaction, terms), maxAmount },
      errors: [{ pointer: '/amount', code: 'too_large', detail: remainingText }],
    });
  }
  const isFullOnly = result.mode === 'Withdraw' || !terms.partialCancel;
  if (operationType === 'Cancel' && amount < maxAmount && isFullOnly) {
    refuse(
      'partial_cancel_not_supported',
      'The acquirer contract does not allow partial cancellation. Cancel the full amount.',
      extensions(),
    );
  }
  const final = isFinalCapture(operationType, request, terms);
  if (final && hasReservation(row.position)) {
    const detail =
      'A final capture is not possible while another operation has no response. Retry later.';
    refuse('transaction_in_progress', detail, extensions());
  }
  const isVoidedLocally = result.mode === 'Withdraw';
  return {
    amount,
    isAfterOutcome: result.mode === 'Queue',
    isFinal: final,
    ...(isVoidedLocally ? { isVoidedLocally: true } : {}),
  };
}

// A reversal applies to the full sale; any other amount is refused.
function operationAmount(
  row: TransactionRow,
  operationType: OperationType,
  request: OperationRequest,
  maxAmount: number,
): number | undefined {
  const amount = request.amount ?? defaultAmount(row, operationType, maxAmount);
  if (operationType === 'Reverse') return amount === maxAmount ? maxAmount : undefined;
  return amount > 0 ? amount : undefined;
}

// What is left is what was authorised; an allowance above it is taken only when it is asked for.
function defaultAmount(
  row: TransactionRow,
  operationType: OperationType,
  maxAmount: number,
): number {
  if (operationType !== 'Capture') return maxAmount;
  const { captureReserved, cancelReserved } = row.position;
  return Math.min(maxAmount, remainingAuthorized(row.position) - captureReserved - cancelReserved);
}

function isFinalCapture(
  operationType: OperationType,
  request: OperationRequest,
  terms: ContractTerms,
): boolean {
  if (operationType !== 'Capture') return false;
  if (terms.multipleCapture) return request.final ?? false;
  if (request.final === false) {
    refuse(
      'multiple_capture_not_supported',
      'The acquirer contract allows one capture for each sale.',
      {
        ...at('/final', 'multiple_capture_not_supported', 'Every capture is final.'),
      },
    );
  }
  return true;
}
