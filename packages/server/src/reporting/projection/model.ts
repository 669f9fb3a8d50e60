// What a payment comes to in reports: its line in the search, and what it adds to sums. Plain data.

/** What payments have in common; the empty text is for none. */
export type Group = {
  readonly kind: 'Card' | 'Qr';
  readonly scheme: string;
  readonly entryMode: string;
  readonly category: string;
  readonly reason: string;
  readonly currency: string;
};

/** The line of a payment, as it is stored; amounts in minor units. */
export type PaymentLine = {
  readonly paymentId: string;
  readonly createdAt: string;
  readonly state: string;
  readonly group: Group;
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
  readonly timeZone: string;
  readonly updatedAt: string;
  /** The number of its events. */
  readonly version: number;
};

/** How a payment ended; `other` are those that nobody wanted any more. */
export type Ending = 'approved' | 'declined' | 'failed' | 'other';

export const sumNames = ['authorized', 'captured', 'refunded', 'cancelled', 'reversed'] as const;
export type SumName = (typeof sumNames)[number];
export type Sums = { readonly [Name in SumName]?: number };

/** What one event adds to the sums of a day. */
export type Entry = {
  readonly day: string;
  readonly hour: number;
  /** With the outcome alone: the payment counts once. */
  readonly ending?: Ending;
  readonly latencyMs?: number;
  readonly sums: Sums;
};

/** What one event moves between an acquirer and a merchant; minor units. */
export type SettlementMove = {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly kind: 'Capture' | 'Refund' | 'Reversal' | 'Pending';
  /** Of what is pending no more: -1, with an amount below zero. */
  readonly count: number;
  readonly amount: number;
  /** How the acquirer knows it; of what is pending nothing has moved yet. */
  readonly movement?: Movement;
};

export type Movement = {
  /** The number of the operation; 0 is the sale itself. */
  readonly number: number;
  readonly merchantNumber: string;
  readonly terminal: string;
  readonly trace: string;
  readonly retrievalReference: string;
  /** RFC 3339. */
  readonly movedAt: string;
};

/** A payment as reports know it. Both lists go by the number of the event. */
export type Reported = {
  readonly line: PaymentLine;
  readonly entries: ReadonlyMap<number, Entry>;
  readonly moves: ReadonlyMap<number, readonly SettlementMove[]>;
};

const wordForm = /^[A-Za-z][A-Za-z0-9]{0,39}$/;

/** Reasons are words out of short lists; what is none would make a group of its own each time. */
export const reasonWord = (reason: string | undefined): string =>
  reason === undefined ? '' : wordForm.test(reason) ? reason : 'Other';
