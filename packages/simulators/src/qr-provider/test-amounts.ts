// What amounts ask for: the last four digits of a payment or a refund pick its story.
import type { ProviderFailure, ProviderPaymentStatus, QrDisplay } from '@switchyard/sdk-provider';

/** How the answer to a call comes, or does not. */
export type Delivery =
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

/** How events are told. */
export type Telling = 'once' | 'twice' | 'in-wrong-order' | 'not-at-all' | 'other-amount';

/** What a cancel finds. */
export type CancelStory = 'obeys' | 'paid-afterwards' | 'paid-before' | 'error-twice';

/** The story of a payment. */
export type Script = {
  /** For people. */
  readonly does: string;
  /** What happens after the answer, in steps; left out: Scanned, Completed. */
  readonly next?: readonly ProviderPaymentStatus[];
  /** The answer where the merchant scans; left out: Completed. */
  readonly atOnce?: ProviderPaymentStatus;
  /** The answer comes without a picture, which follows. */
  readonly isLater?: true;
  readonly failure?: ProviderFailure;
  readonly display?: QrDisplay['type'];
  /** Refused with this status, and not taken. */
  readonly refusal?: 422 | 500 | 503;
  readonly delivery?: Delivery;
  readonly telling?: Telling;
  readonly onCancel?: CancelStory;
  /** Nobody tells that it has expired. */
  readonly staysOpen?: true;
  /** Told once it is over, and not so. */
  readonly lie?: ProviderPaymentStatus;
  /** Paid when it was over. */
  readonly isPaidLate?: true;
};

const declined = { code: 'insufficient_funds', text: 'The account does not hold so much.' };
const failed = { code: 'wallet_failed', text: 'The wallet failed.' };

/** By the last four digits of the amount of a payment. */
export const paymentScripts: Readonly<Record<number, Script>> = {
  9001: {
    does: 'promised before it is paid',
    next: ['Scanned', 'Authorized', 'Completed'],
    atOnce: 'Pending',
  },
  9002: {
    does: 'answered with 202; the picture follows as an event',
    next: ['Pending', 'Scanned', 'Completed'],
    atOnce: 'Created',
    isLater: true,
  },
  9005: {
    does: 'declined: insufficient_funds',
    next: ['Scanned', 'Declined'],
    atOnce: 'Declined',
    failure: declined,
  },
  9006: {
    does: 'failed: wallet_failed',
    next: ['Scanned', 'Failed'],
    atOnce: 'Failed',
    failure: failed,
  },
  9007: {
    does: 'cancelled by the consumer',
    next: ['Scanned', 'Cancelled'],
    atOnce: 'Cancelled',
  },
  9008: { does: 'nobody scans: expires, with an event', next: [], atOnce: 'Pending' },
  9009: {
    does: 'nobody scans, and nobody tells that it expired',
    next: [],
    atOnce: 'Pending',
    staysOpen: true,
  },
  9010: {
    does: 'scanned, and never confirmed',
    next: ['Scanned'],
    atOnce: 'Pending',
    staysOpen: true,
  },
  9011: { does: 'paid; shows the text of the code', display: 'text/emvqr' },
  9012: { does: 'paid; shows a PNG', display: 'image/png' },
  9013: { does: 'paid; shows an SVG', display: 'image/svg+xml' },
  9014: { does: 'paid; shows an address', display: 'url' },
  9022: { does: 'refused with 422, not taken', refusal: 422 },
  9050: { does: 'answered with 500, not taken', refusal: 500 },
  9051: { does: 'taken, and answered with 500', delivery: 'error' },
  9052: { does: 'taken, and never answered', delivery: 'never' },
  9053: { does: 'taken, and answered too late', delivery: 'late' },
  9054: { does: 'taken, and the connection is cut', delivery: 'cut' },
  9055: { does: 'taken, and answered with no JSON', delivery: 'garbled' },
  9056: { does: 'taken, and answered with more than 64 KiB', delivery: 'too-large' },
  9057: { does: 'taken, and answered byte by byte, without an end', delivery: 'drip' },
  9058: { does: 'taken, and answered with a redirect', delivery: 'redirect' },
  9059: { does: 'answered with 503 and Retry-After, not taken', refusal: 503 },
  9060: {
    does: 'the event that it is paid comes before the answer',
    next: ['Completed'],
    atOnce: 'Pending',
    delivery: 'after-event',
  },
  9061: { does: 'each event is told twice', atOnce: 'Pending', telling: 'twice' },
  9062: { does: 'paid is told before scanned', atOnce: 'Pending', telling: 'in-wrong-order' },
  9063: { does: 'paid, and then told to be declined', atOnce: 'Pending', lie: 'Declined' },
  9064: { does: 'the event tells one unit less', atOnce: 'Pending', telling: 'other-amount' },
  9065: { does: 'paid, without any event', atOnce: 'Pending', telling: 'not-at-all' },
  9066: {
    does: 'waits; a cancel is answered Cancelled, and then it is paid',
    next: [],
    atOnce: 'Pending',
    onCancel: 'paid-afterwards',
  },
  9067: {
    does: 'paid after its time, whatever was said before',
    next: [],
    atOnce: 'Pending',
    isPaidLate: true,
  },
  9068: {
    does: 'waits; a cancel comes too late: it is paid',
    next: [],
    atOnce: 'Pending',
    onCancel: 'paid-before',
  },
  9069: {
    does: 'waits; a cancel is answered with 500 twice, then obeyed',
    next: [],
    atOnce: 'Pending',
    onCancel: 'error-twice',
  },
};

/** The story of a refund. */
export type RefundScript = {
  readonly does: string;
  /** The answer; left out: Completed. */
  readonly atOnce?: 'Pending' | 'Declined';
  /** How it ends. */
  readonly next?: 'Completed' | 'Declined';
  readonly delivery?: Delivery;
};

/** By the last four digits of the amount of a refund. */
export const refundScripts: Readonly<Record<number, RefundScript>> = {
  9080: { does: 'pending, then done', atOnce: 'Pending', next: 'Completed' },
  9081: { does: 'declined', atOnce: 'Declined' },
  9082: { does: 'pending, then declined', atOnce: 'Pending', next: 'Declined' },
  9083: { does: 'taken, and answered with 500 twice', delivery: 'error-twice' },
  9084: { does: 'taken, and never answered', delivery: 'never' },
};

/** Why a refund is declined. */
export const refundFailure: ProviderFailure = {
  code: 'account_closed',
  text: 'The account that paid is closed.',
};

const lastFour = 10_000;
const ordinary: Script = { does: 'paid' };
const ordinaryRefund: RefundScript = { does: 'done at once' };

export const scriptOf = (amount: number): Script => paymentScripts[amount % lastFour] ?? ordinary;

export const refundScriptOf = (amount: number): RefundScript =>
  refundScripts[amount % lastFour] ?? ordinaryRefund;
