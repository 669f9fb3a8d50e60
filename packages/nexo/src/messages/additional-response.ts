/** `AdditionalResponse`: `key=value` pairs, URL-encoded, at least `message` and `refusalReason`. */
import type { NexoError } from '../errors.ts';

/**
 * The refusal reasons of the terminal itself, each with its message. Besides these a refusal reason is
 * an error code of the platform or the reason of the response code of the host.
 *
 * Source: docs/reference/refusal-reasons.md, "Read AdditionalResponse".
 *
 * @example
 * refusalReasons.no_paper; // 'The printer has no paper.'
 */
export const refusalReasons = {
  aborted: 'The request was aborted.',
  account_missing: 'The request names no account.',
  account_not_found: 'The account does not exist.',
  account_type_not_supported: 'The terminal has gift cards and loyalty points only.',
  admin_service_not_supported: 'The only Admin service is reprint.',
  already_refunded: 'All of the original was refunded or cancelled before.',
  amount_invalid: 'The amount does not fit its currency.',
  amount_missing: 'The request has no amount above zero.',
  answer_not_kept: 'The response is no longer stored.',
  balance_insufficient: 'The balance of the account is too low.',
  batch_interrupted: 'The terminal restarted; the rest of the batch was not begun.',
  batch_too_large: 'A batch has at most 20 transactions.',
  busy: 'The terminal is busy.',
  cancelled: 'The customer cancelled.',
  cancelled_by_cardholder: 'The cardholder pressed Stop.',
  card_acquisition_not_found: 'No card of that card acquisition is held.',
  card_invalid: 'The card cannot be used.',
  card_left_in_reader: 'A card was left in the reader.',
  card_not_presented: 'No card was presented in time.',
  card_removed: 'The card was removed too early.',
  card_removed_reversed: 'The card was removed; the sale is reversed.',
  card_unreadable: 'The card cannot be read.',
  chip_declined: 'The chip declined.',
  chip_declined_reversed: 'The chip declined; the sale is reversed.',
  connection_lost: 'The connection broke off; nothing was taken.',
  currency_not_supported: 'Gift cards are in EUR only.',
  currency_unknown: 'The currency is not known.',
  declined: 'The payment was declined.',
  device_out: 'A device of the terminal does not work.',
  device_unavailable: 'The terminal or its device is not available.',
  gift_card_not_found: 'The gift card does not exist.',
  gift_card_state: 'A gift card is activated once, before it is used.',
  host_unreachable: 'The host was not reached.',
  in_progress: 'The transaction is not finished.',
  login_required: 'The sale system must log in.',
  maintenance: 'The terminal is in maintenance.',
  message_format: 'The message is not valid.',
  no_chip_in_reader: 'No chip card is in the reader.',
  no_paper: 'The printer has no paper.',
  not_allowed: 'The request is not allowed in this state.',
  not_found: 'The transaction was not found.',
  not_sent: 'Nothing was sent to the platform.',
  original_lookup_failed: 'The platform could not be reached to look up the original.',
  original_missing: 'The request must name its original.',
  original_not_uploaded: 'The offline original is not at the platform yet.',
  outcome_unknown: 'The outcome of the operation is unknown.',
  outcome_unknown_reversed: 'The outcome is unknown; the sale is reversed.',
  partial_approval: 'A part of the amount was approved.',
  payment_restricted: 'The card cannot pay for these goods.',
  payment_type_not_supported: 'The terminal does not support this PaymentType.',
  period_not_found: 'The terminal has no such reconciliation period.',
  pin_format_not_supported: 'The PIN block format is not ISO0.',
  pin_not_entered: 'No PIN was entered in time.',
  pin_wrong: 'The PIN was wrong.',
  receipt_not_found: 'The terminal has no receipt to print again.',
  reconciliation_not_supported: 'The platform settles with the acquirer, not the terminal.',
  serial_number_differs: 'The terminal has another serial number.',
  service_unavailable: 'The terminal does not support the service.',
  signature_missing_reversed: 'The cardholder did not sign; the sale is reversed.',
  signature_refused: 'The cashier refused the signature; the sale is reversed.',
  storage_failed: 'The terminal could not store the request; nothing was taken.',
  terminal_fault: 'The terminal has an internal fault.',
  terminal_restarted: 'The terminal restarted; nothing was taken.',
  transmit_not_supported: 'The terminal transmits to its echo service only.',
  unreferenced_refund_not_supported:
    'A refund must name its original; unreferenced refunds are not supported.',
} as const;

/**
 * The refusal reason of an amount that cannot be read.
 *
 * Source: docs/reference/refusal-reasons.md, "Read AdditionalResponse".
 *
 * @param error - the error of `toMinorUnits`
 * @returns `currency_unknown` or `amount_invalid`
 * @example
 * throw new ServiceFault('NotAllowed', amountReason(error));
 */
export const amountReason = ({ code }: NexoError) =>
  code === 'currency_unknown' ? code : 'amount_invalid';

declare const isPassedOn: unique symbol;

/**
 * A reason that the terminal did not choose: an error code of the platform, a reason of the host, or the
 * state of a transaction.
 *
 * Source: docs/reference/refusal-reasons.md, "Read AdditionalResponse".
 *
 * @example
 * const reason: PassedOnReason = passOnReason('InsufficientFunds');
 */
export type PassedOnReason = string & { readonly [isPassedOn]: true };

/**
 * A reason of the documented list, or one that is passed on. A plain text is neither.
 *
 * Source: docs/reference/refusal-reasons.md, "Read AdditionalResponse".
 *
 * @example
 * const reason: RefusalReason = 'no_paper';
 */
export type RefusalReason = keyof typeof refusalReasons | PassedOnReason;

/**
 * Marks a text as a reason of the platform or the host.
 *
 * Source: docs/reference/refusal-reasons.md, "Read AdditionalResponse".
 *
 * @param reason - the code or the reason as it was received
 * @returns the same text
 * @example
 * throw new ServiceFault('NotAllowed', passOnReason(problem.code));
 */
export const passOnReason = (reason: string): PassedOnReason => reason as PassedOnReason;

const reasonsByCondition: Readonly<Record<string, keyof typeof refusalReasons>> = {
  Aborted: 'aborted',
  Busy: 'busy',
  Cancel: 'cancelled',
  DeviceOut: 'device_out',
  InProgress: 'in_progress',
  InsertedCard: 'card_left_in_reader',
  InvalidCard: 'card_invalid',
  LoggedOut: 'login_required',
  MessageFormat: 'message_format',
  NotAllowed: 'not_allowed',
  NotFound: 'not_found',
  PaymentRestriction: 'payment_restricted',
  Refusal: 'declined',
  UnavailableDevice: 'device_unavailable',
  UnavailableService: 'service_unavailable',
  UnreachableHost: 'host_unreachable',
  WrongPIN: 'pin_wrong',
};

/** `refund_amount_exceeded` and `InsufficientFunds` as sentences. */
function toSentence(reason: string): string {
  const words = reason
    .replaceAll('_', ' ')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}.`;
}

/**
 * Writes `AdditionalResponse`.
 *
 * Source: docs/reference/refusal-reasons.md, "Read AdditionalResponse".
 *
 * @param condition - the `ErrorCondition`, which gives the reason where none is known
 * @param reason - a refusal reason of the terminal, the platform or the host
 * @param detail - replaces the message of the reason
 * @returns the text
 * @example
 * additionalResponse('DeviceOut', 'no_paper'); // 'message=The%20printer%20has%20no%20paper.&refusalReason=no_paper'
 */
export function additionalResponse(
  condition: string,
  reason?: RefusalReason,
  detail?: string,
): string {
  const refusalReason: string = reason || (reasonsByCondition[condition] ?? 'terminal_fault');
  const defaultMessage = Object.hasOwn(refusalReasons, refusalReason)
    ? refusalReasons[refusalReason as keyof typeof refusalReasons]
    : toSentence(refusalReason);
  return Object.entries({ message: detail ?? defaultMessage, refusalReason })
    .map(([key, value]) => `${key}=${encodeURIComponent(value.toWellFormed())}`)
    .join('&');
}

/**
 * Reads `AdditionalResponse`; a text in another format is the message.
 *
 * Source: docs/reference/refusal-reasons.md, "Read AdditionalResponse".
 *
 * @param text - `AdditionalResponse`
 * @returns the message and the reason, as far as they are there
 * @example
 * readAdditionalResponse('message=no&refusalReason=no_paper').refusalReason; // 'no_paper'
 */
export function readAdditionalResponse(text: string): {
  readonly message: string;
  readonly refusalReason: string | undefined;
} {
  const pairs = new URLSearchParams(text);
  return {
    message: pairs.get('message') ?? text,
    refusalReason: pairs.get('refusalReason') ?? undefined,
  };
}
