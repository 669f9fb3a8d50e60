// Types of a payment in reports: its line in the search, and its contribution to sums.

/** The attributes that payments share; an empty text means no value. */
export type PaymentGroup = {
  readonly kind: 'Card' | 'Qr';
  readonly scheme: string;
  readonly entryMode: string;
  readonly category: string;
  readonly reason: string;
  readonly currency: string;
};

/** The stored line of a payment; amounts in minor units. */
export type PaymentLine = {
  readonly paymentId: string;
  readonly createdAt: string;
  readonly state: string;
  readonly group: PaymentGroup;
  readonly merchantId: string;
  readonly storeId: string | undefined;
  readonly deviceId: string | undefined;
  readonly linkId: string | undefined;
  readonly amount: number;
  readonly authorized: number;
  readonly captured: number;
  readonly cancelled: number;
  readonly refunded: number;
  readonly clientTransactionId: string;
  readonly orderId: string | undefined;
  readonly retrievalReference: string | undefined;
  readonly authorizationCode: string | undefined;
  readonly maskedNumber: string | undefined;
  readonly cardToken: string | undefined;
  readonly responseCode: string | undefined;
  readonly isOffline: boolean;
  readonly day: string;
  readonly updatedAt: string;
  /** The number of its events. */
  readonly version: number;
  /** The movement of a sale that was captured at once. */
  readonly saleCapture: SaleCapture | undefined;
};

export type SaleCapture = Omit<MovementReferences, 'number' | 'retrievalReference'> & {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly amount: number;
};

/** The outcome of a payment; `other` includes cancelled and expired payments. */
export type PaymentOutcome = 'approved' | 'declined' | 'failed' | 'other';

export const sumNames = ['authorized', 'captured', 'refunded', 'cancelled', 'reversed'] as const;
export type SumName = (typeof sumNames)[number];
export type Sums = { readonly [Name in SumName]?: number };

/** The contribution of one event to the sums of a day. */
export type SumEntry = {
  readonly day: string;
  readonly hour: number;
  /** Only on the outcome event, so that each payment counts once. */
  readonly outcome?: PaymentOutcome;
  readonly latencyMs?: number;
  readonly sums: Sums;
};

/** The amount that one event moves between an acquirer and a merchant, in minor units. */
export type SettlementMovement = {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly kind: 'Capture' | 'Refund' | 'Reversal' | 'Pending';
  /** For an amount that is no longer pending: -1, with a negative amount. */
  readonly count: number;
  readonly amount: number;
  /**
   * The acquirer's references; absent for a pending amount, which has not moved yet, and for the
   * capture of the sale itself, which is in the line.
   */
  readonly references?: MovementReferences;
};

export type MovementReferences = {
  /** The number of the operation; 0 if the event belongs to the sale itself. */
  readonly number: number;
  readonly merchantNumber: string;
  readonly terminal: string;
  readonly trace: string;
  readonly retrievalReference: string;
};

/** A payment in reports; both maps use the sequence number of the event as key. */
export type ProjectedPayment = {
  readonly line: PaymentLine;
  readonly entries: ReadonlyMap<number, SumEntry>;
  readonly movements: ReadonlyMap<number, readonly SettlementMovement[]>;
};

const namePattern = /^[A-Za-z][A-Za-z0-9]{0,39}$/;

/** Reasons come from short lists; any other text would create a new group each time. */
export const toReasonName = (reason: string | undefined): string =>
  reason === undefined ? '' : namePattern.test(reason) ? reason : 'Other';
