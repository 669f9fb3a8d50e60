// The rules a request must pass before anything is stored; pure: values in, a refusal or facts out.
import {
  type AllowedOperation,
  defined,
  type ErrorCode,
  type ProcessRequest,
  refuse,
} from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { isActiveCurrency } from '@switchyard/money';
import { checkPinData } from '../card-input/validate-pin-block.ts';
import {
  confirmRuleOf,
  isShared,
  judge,
  openAmount,
  type Terms,
  type Verb,
  wholeAmount,
} from '../transaction/state-machine.ts';
import type {
  LoadedTransaction,
  OperationKind,
  TransactionRow,
} from '../transaction/transaction.ts';
import { checkPurpose, isVerification } from './account-verification.ts';
import { checkAmountParts } from './tip-and-cashback.ts';

/** What of the acquirer contract a sale is measured against. */
export type SaleTerms = {
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
export function checkFields(request: ProcessRequest): void {
  // Whether it was one at the time of the sale is asked once that is known.
  if (!isActiveCurrency(request.currency, 0)) {
    refuse('currency_unknown', 'The currency is not in ISO 4217.', {
      ...at('/currency', 'currency_unknown', 'Not an ISO 4217 code to pay in.'),
    });
  }
  checkPurpose(request);
  checkPinData(request);
  checkRemoteOrder(request);
  checkAmountParts(request);
  refuseCardNumbers(request);
}

/** Of a mail or telephone order; the address is for it alone. */
function checkRemoteOrder(request: ProcessRequest): void {
  const { orderChannel, entryMode, zipCode, houseNumber, instrument } = request;
  if (orderChannel === undefined) {
    refuseAddress(request);
    return;
  }
  if (entryMode !== 'Keyed') {
    refuse('entry_mode_invalid', 'A mail or telephone order is keyed.', {
      ...at('/entryMode', 'entry_mode_invalid', 'Keyed, where orderChannel is sent.'),
    });
  }
  if ((zipCode === undefined) !== (houseNumber === undefined)) {
    const missing = zipCode === undefined ? '/zipCode' : '/houseNumber';
    refuse('avs_data_required', 'zipCode and houseNumber come together.', {
      ...at(missing, 'avs_data_required', 'Is needed beside the other one.'),
    });
  }
  if (zipCode === undefined && instrument.address === undefined) {
    refuse('moto_contact_required', 'An address with e-mail or phone is needed without zipCode.', {
      ...at('/instrument/address', 'moto_contact_required', 'An email or a phone.'),
    });
  }
}

function refuseAddress({ zipCode, houseNumber, instrument }: ProcessRequest): void {
  const members = {
    '/zipCode': zipCode,
    '/houseNumber': houseNumber,
    '/instrument/address': instrument.address,
  };
  for (const [pointer, value] of Object.entries(members)) {
    if (value === undefined) continue;
    refuse('field_invalid', `${pointer} goes with orderChannel.`, {
      ...at(pointer, 'field_invalid', 'Only for a mail or telephone order.'),
    });
  }
}

const bare = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]/g, '');

/** What is compared with the cardholder's address, in the spelling of hosts. */
export function addressCheckOf({
  zipCode,
  houseNumber,
}: ProcessRequest): { postalCode: string; houseNumber: string } | undefined {
  if (zipCode === undefined || houseNumber === undefined) return undefined;
  return { postalCode: bare(zipCode).slice(0, 9), houseNumber: bare(houseNumber) };
}

const textMembers = ['clientTransactionId', 'order', 'metadata'] as const;

// Free text is stored and shown as it came: a card number in it would be one in clear.
function refuseCardNumbers(request: ProcessRequest): void {
  for (const name of textMembers) {
    const value = request[name];
    if (value === undefined || !holdsCardNumber(JSON.stringify(value))) continue;
    const code = name === 'clientTransactionId' ? 'client_id_invalid' : 'field_invalid';
    refuse(code, 'A member holds what looks like a card number.', {
      ...at(`/${name}`, code, 'Looks like a card number.'),
    });
  }
}

/** The client's identifier of an operation is kept as it came. @throws Refusal client_id_invalid */
export function checkOperationId(clientOperationId: string | undefined): void {
  if (clientOperationId === undefined || !holdsCardNumber(clientOperationId)) return;
  refuse('client_id_invalid', 'The identifier holds what looks like a card number.', {
    ...at('/clientOperationId', 'client_id_invalid', 'Looks like a card number.'),
  });
}

/** What the contract allows. @throws Refusal of the configuration */
export function captureModeFor(
  request: ProcessRequest,
  terms: SaleTerms,
): 'Immediate' | 'Deferred' {
  if (!terms.currencies.includes(request.currency)) {
    refuse('currency_not_supported', 'The acquirer contract does not hold this currency.', {
      ...at('/currency', 'currency_not_supported', 'Not in the acquirer contract.'),
    });
  }
  const { encrypted, token } = request.instrument;
  // What captures nothing is an authorisation, whichever modes the contract names.
  const isEmpty = isVerification(request);
  const mode = isEmpty ? 'Deferred' : (request.captureMode ?? terms.defaultCaptureMode);
  if (!isEmpty && !terms.captureModes.includes(mode)) {
    refuse('capture_mode_not_supported', `The acquirer contract does not allow ${mode}.`, {
      ...at('/captureMode', 'capture_mode_not_supported', 'Not in the acquirer contract.'),
    });
  }
  if (request.partialApproval === true && !terms.partialApproval) {
    refuse('partial_approval_not_supported', 'The acquirer contract knows no partial approval.', {
      ...at('/partialApproval', 'partial_approval_not_supported', 'Not in the acquirer contract.'),
    });
  }
  const isClear = encrypted === undefined && token === undefined;
  if (terms.clearCardData === 'Refused' && isClear) {
    refuse('clear_card_data_refused', 'The acquirer contract takes no card data in clear.');
  }
  return mode;
}

/** The members of a request that tell it from another under the same identifier. */
export function fingerprintOf(
  request: ProcessRequest,
  keyed: {
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
    storeId: keyed.storeId,
    deviceId: keyed.deviceId,
    instrument: [keyed.card, keyed.holder, keyed.address].filter(Boolean).join('|'),
    ...defined({ zipCode: keyed.zipCode, houseNumber: keyed.houseNumber }),
  };
}

/** The keyed hash of the card in a fingerprint; the cardholder's name and address follow it. */
export function cardMarkOf(fingerprint: Record<string, unknown>): string {
  return String(fingerprint['instrument']).split('|')[0] ?? '';
}

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  ) ?? 'null';

/** The names of the members in which two requests differ; never their values. */
export function differences(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
): string[] {
  const names = new Set([...Object.keys(first), ...Object.keys(second)]);
  return [...names].filter((name) => canonical(first[name]) !== canonical(second[name])).sort();
}

/** @throws Refusal client_id_reused, naming the members that differ */
export function refuseReuse(
  first: Record<string, unknown>,
  second: Record<string, unknown>,
  what: 'clientTransactionId' | 'clientOperationId',
): void {
  const names = differences(first, second);
  if (names.length === 0) return;
  refuse('client_id_reused', `This ${what} stands for another request.`, {
    errors: names.map((name) => ({
      pointer: `/${name}`,
      code: 'client_id_reused',
      detail: 'Differs from the first request.',
    })),
  });
}

export const operationOf: Readonly<Record<Verb, OperationKind>> = {
  Capture: 'Capture',
  Cancel: 'Cancel',
  Reverse: 'Reversal',
  Refund: 'Refund',
};

const amountExceeded: Readonly<Record<Verb, ErrorCode>> = {
  Capture: 'capture_amount_exceeded',
  Cancel: 'cancel_amount_exceeded',
  Reverse: 'partial_reversal_not_supported',
  Refund: 'refund_amount_exceeded',
};

/** What each verb could do now, for `allowedoperations` and beside every conflict. */
export function allowedOperations(row: TransactionRow, terms: Terms): AllowedOperation[] {
  const verbs: Verb[] = ['Capture', 'Refund', 'Cancel', 'Reverse'];
  const { position, currency } = row;
  const listed: AllowedOperation[] = verbs.map((verb) => {
    const verdict = judge(position, verb, terms);
    const operation = operationOf[verb];
    if (!verdict.allowed) {
      return { operation, allowed: false, maxAmount: 0, currency, reason: verdict.reason };
    }
    const maxAmount = maxAmountOf(row, verdict);
    const allowed = maxAmount > 0 || isOfWholeSale(verdict.mode);
    if (!allowed) {
      return { operation, allowed, maxAmount: 0, currency, reason: idleReason(verb) };
    }
    return { operation, allowed, maxAmount, currency };
  });
  if (confirmRuleOf(position) !== 'Confirm') return listed;
  const maxAmount = wholeAmount(position);
  return [...listed, { operation: 'Confirm', allowed: true, maxAmount, currency }];
}

/** Whether a verb takes all of the sale, whatever of it was approved by now. */
const isOfWholeSale = (mode: string): boolean => mode === 'Queue' || mode === 'Withdraw';

const maxAmountOf = (row: TransactionRow, verdict: { mode: string; maxAmount: number }): number =>
  isOfWholeSale(verdict.mode) ? row.amount : verdict.maxAmount;

// Allowed in this state, but another operation has reserved all there is, or nothing is to be done.
function idleReason(verb: Verb): ErrorCode {
  return verb === 'Reverse' ? 'already_cancelled' : amountExceeded[verb];
}

export function conflict(loaded: LoadedTransaction, terms: Terms): Record<string, unknown> {
  const { row } = loaded;
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

export type Decision =
  | {
      amount: number;
      queued: boolean;
      final: boolean;
      /** Taken back before anybody was asked: no message is needed. */
      withdrawn?: true;
    }
  | 'Nothing'
  | 'Replay';

/**
 * Decides about an operation: the state first, then the amount, then the configuration.
 *
 * @returns the amount to reserve, minor units, or that nothing is to be done
 * @throws Refusal of the state, the amount or the configuration, with what is allowed instead
 */
export function decide(
  loaded: LoadedTransaction,
  verb: Verb,
  request: OperationRequest,
  terms: Terms,
): Decision {
  const { row } = loaded;
  const extensions = () => ({ extensions: conflict(loaded, terms) });
  if (request.currency !== undefined && request.currency !== row.currency) {
    refuse('currency_mismatch', `The transaction is in ${row.currency}.`, {
      ...at('/currency', 'currency_mismatch', 'Must be the currency of the sale.'),
    });
  }
  const verdict = judge(row.position, verb, terms);
  if (!verdict.allowed) {
    refuse(
      verdict.reason,
      `${operationOf[verb]} is not possible while the transaction is ${row.state}.`,
      extensions(),
    );
  }
  if (verdict.mode === 'Nothing' || verdict.mode === 'Replay') return verdict.mode;
  const maxAmount = maxAmountOf(row, verdict);
  const amount = amountOf(row, verb, request, maxAmount);
  if (amount === undefined || amount > maxAmount) {
    const left = `${maxAmount} ${row.currency} minor units are left.`;
    refuse(amountExceeded[verb], left, {
      extensions: { ...conflict(loaded, terms), maxAmount },
      errors: [{ pointer: '/amount', code: 'too_large', detail: left }],
    });
  }
  const whole = verdict.mode === 'Withdraw' || !terms.partialCancel;
  if (verb === 'Cancel' && amount < maxAmount && whole) {
    refuse('partial_cancel_not_supported', 'Only all of it can be cancelled.', extensions());
  }
  const final = isFinal(verb, request, terms);
  if (final && isShared(row.position)) {
    const detail = 'The last capture waits until what is under way has an answer.';
    refuse('transaction_in_progress', detail, extensions());
  }
  const withdrawn = verdict.mode === 'Withdraw';
  return {
    amount,
    queued: verdict.mode === 'Queue',
    final,
    ...(withdrawn ? { withdrawn: true } : {}),
  };
}

// A reversal is of the whole sale: any other amount is told so.
function amountOf(
  row: TransactionRow,
  verb: Verb,
  request: OperationRequest,
  whole: number,
): number | undefined {
  const amount = request.amount ?? defaultAmount(row, verb, whole);
  if (verb === 'Reverse') return amount === whole ? whole : undefined;
  return amount > 0 ? amount : undefined;
}

// What is left is what was authorised; an allowance above it is taken only when it is asked for.
function defaultAmount(row: TransactionRow, verb: Verb, whole: number): number {
  if (verb !== 'Capture') return whole;
  const { captureReserved, cancelReserved } = row.position;
  return Math.min(whole, openAmount(row.position) - captureReserved - cancelReserved);
}

function isFinal(verb: Verb, request: OperationRequest, terms: Terms): boolean {
  if (verb !== 'Capture') return false;
  if (terms.multipleCapture) return request.final ?? false;
  if (request.final === false) {
    refuse('multiple_capture_not_supported', 'The acquirer takes one capture a sale.', {
      ...at('/final', 'multiple_capture_not_supported', 'Every capture is final.'),
    });
  }
  return true;
}
