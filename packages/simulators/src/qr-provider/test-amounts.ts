// Test amounts: the last four digits of a payment or refund select its course.
import type { ProviderFailure, ProviderPaymentStatus, QrDisplay } from '@switchyard/sdk-provider';

/** How the provider sends the answer to a call. */
export type AnswerDelivery =
  | 'in-time'
  | 'error'
  | 'error-twice'
  | 'never'
  | 'late'
  | 'cut'
  | 'garbled'
  | 'too-large'
  | 'drip'
  | 'redirect'
  | 'after-event';

/** How the provider sends events. */
export type EventDelivery = 'once' | 'twice' | 'in-wrong-order' | 'not-at-all' | 'other-amount';

/** How a cancel ends. */
export type CancelBehaviour = 'obeys' | 'paid-afterwards' | 'paid-before' | 'error-twice';

/** The course of a payment. */
export type PaymentScript = {
  /** Text of the command `qr-provider outcomes`. */
  readonly description: string;
  /** The statuses after the answer; default: Scanned, Completed. */
  readonly next?: readonly ProviderPaymentStatus[];
  /** The status in the answer where the merchant scans; default: Completed. */
  readonly atOnce?: ProviderPaymentStatus;
  /** The answer has no display; it follows in an event. */
  readonly isDisplayLater?: true;
  readonly failure?: ProviderFailure;
  readonly display?: QrDisplay['type'];
  /** The provider rejects the call with this status and creates no payment. */
  readonly refusal?: 422 | 500 | 503;
  readonly delivery?: AnswerDelivery;
  readonly eventDelivery?: EventDelivery;
  readonly onCancel?: CancelBehaviour;
  /** The provider sends no event for the expiry. */
  readonly staysOpen?: true;
  /** A wrong status that the provider reports after the payment has ended. */
  readonly falseStatus?: ProviderPaymentStatus;
  /** The payment is paid after its expiry. */
  readonly isPaidLate?: true;
};

const declined = { code: 'insufficient_funds', text: 'The account does not hold so much.' };
const failed = { code: 'wallet_failed', text: 'The wallet failed.' };

/** By the last four digits of the amount of a payment. */
export const paymentScripts: Readonly<Record<number, PaymentScript>> = {
  9001: {
    description: 'authorized before it is paid',
    next: ['Scanned', 'Authorized', 'Completed'],
    atOnce: 'Pending',
  },
  9002: {
    description: 'answered with 202; the picture follows as an event',
    next: ['Pending', 'Scanned', 'Completed'],
    atOnce: 'Created',
    isDisplayLater: true,
  },
  9005: {
    description: 'declined: insufficient_funds',
    next: ['Scanned', 'Declined'],
    atOnce: 'Declined',
    failure: declined,
  },
  9006: {
    description: 'failed: wallet_failed',
    next: ['Scanned', 'Failed'],
    atOnce: 'Failed',
    failure: failed,
  },
  9007: {
    description: 'cancelled by the consumer',
    next: ['Scanned', 'Cancelled'],
    atOnce: 'Cancelled',
  },
  9008: {
    description: 'the code is not scanned: expires, with an event',
    next: [],
    atOnce: 'Pending',
  },
  9009: {
    description: 'the code is not scanned, and no event reports the expiry',
    next: [],
    atOnce: 'Pending',
    staysOpen: true,
  },
  9010: {
    description: 'scanned, and never confirmed',
    next: ['Scanned'],
    atOnce: 'Pending',
    staysOpen: true,
  },
  9011: { description: 'paid; shows the text of the code', display: 'text/emvqr' },
  9012: { description: 'paid; shows a PNG', display: 'image/png' },
  9013: { description: 'paid; shows an SVG', display: 'image/svg+xml' },
  9014: { description: 'paid; shows an address', display: 'url' },
  9022: { description: 'refused with 422, not accepted', refusal: 422 },
  9050: { description: 'answered with 500, not accepted', refusal: 500 },
  9051: { description: 'accepted, and answered with 500', delivery: 'error' },
  9052: { description: 'accepted, and never answered', delivery: 'never' },
  9053: { description: 'accepted, and answered too late', delivery: 'late' },
  9054: { description: 'accepted, and the connection is cut', delivery: 'cut' },
  9055: { description: 'accepted, and the answer is not JSON', delivery: 'garbled' },
  9056: { description: 'accepted, and answered with more than 64 KiB', delivery: 'too-large' },
  9057: { description: 'accepted, and answered byte by byte, without an end', delivery: 'drip' },
  9058: { description: 'accepted, and answered with a redirect', delivery: 'redirect' },
  9059: { description: 'answered with 503 and Retry-After, not accepted', refusal: 503 },
  9060: {
    description: 'the event that it is paid comes before the answer',
    next: ['Completed'],
    atOnce: 'Pending',
    delivery: 'after-event',
  },
  9061: { description: 'each event is sent twice', atOnce: 'Pending', eventDelivery: 'twice' },
  9062: {
    description: 'paid is sent before scanned',
    atOnce: 'Pending',
    eventDelivery: 'in-wrong-order',
  },
  9063: {
    description: 'paid, and then sent as declined',
    atOnce: 'Pending',
    falseStatus: 'Declined',
  },
  9064: {
    description: 'the amount in the event is one unit less',
    atOnce: 'Pending',
    eventDelivery: 'other-amount',
  },
  9065: { description: 'paid, without any event', atOnce: 'Pending', eventDelivery: 'not-at-all' },
  9066: {
    description: 'waits; a cancel is answered Cancelled, and then it is paid',
    next: [],
    atOnce: 'Pending',
    onCancel: 'paid-afterwards',
  },
  9067: {
    description: 'paid after its expiry, after any earlier event',
    next: [],
    atOnce: 'Pending',
    isPaidLate: true,
  },
  9068: {
    description: 'waits; a cancel comes too late: it is paid',
    next: [],
    atOnce: 'Pending',
    onCancel: 'paid-before',
  },
  9069: {
    description: 'waits; a cancel is answered with 500 twice, then accepted',
    next: [],
    atOnce: 'Pending',
    onCancel: 'error-twice',
  },
};

/** The course of a refund. */
export type RefundScript = {
  readonly description: string;
  /** The status in the answer; default: Completed. */
  readonly atOnce?: 'Pending' | 'Declined';
  /** The final status. */
  readonly next?: 'Completed' | 'Declined';
  readonly delivery?: AnswerDelivery;
};

/** By the last four digits of the amount of a refund. */
export const refundScripts: Readonly<Record<number, RefundScript>> = {
  9080: { description: 'pending, then done', atOnce: 'Pending', next: 'Completed' },
  9081: { description: 'declined', atOnce: 'Declined' },
  9082: { description: 'pending, then declined', atOnce: 'Pending', next: 'Declined' },
  9083: { description: 'accepted, and answered with 500 twice', delivery: 'error-twice' },
  9084: { description: 'accepted, and never answered', delivery: 'never' },
};

/** Why a refund is declined. */
export const refundFailure: ProviderFailure = {
  code: 'account_closed',
  text: 'The account that paid is closed.',
};

const amountModulus = 10_000;
const ordinary: PaymentScript = { description: 'paid' };
const ordinaryRefund: RefundScript = { description: 'done immediately' };

export const scriptForAmount = (amount: number): PaymentScript =>
  paymentScripts[amount % amountModulus] ?? ordinary;

export const refundScriptForAmount = (amount: number): RefundScript =>
  refundScripts[amount % amountModulus] ?? ordinaryRefund;
