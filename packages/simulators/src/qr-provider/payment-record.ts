// The record of a payment, and the answers that the provider builds from it.
import { defined } from '@switchyard/contract';
import type {
  ProviderAmount,
  ProviderEvent,
  ProviderFailure,
  ProviderPayer,
  ProviderPaymentStatus,
  QrPaymentAnswer,
  RefundAnswer,
} from '@switchyard/sdk-provider';

/** A refund of a payment. */
export type Refund = {
  readonly refundId: string;
  readonly providerRefundId: string;
  readonly amount: number;
  status: RefundAnswer['status'];
  failure?: ProviderFailure;
};

/** A planned step of a payment. */
export type PaymentStep = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly to: ProviderPaymentStatus;
  /** The refund that the step ends. */
  readonly refundId?: string;
  /** Runs although the payment is finished. */
  readonly isForced?: boolean;
  /** The event reports this status, which the payment does not get. */
  readonly isLie?: boolean;
};

/** A payment, without the scanned code of the consumer. */
export type Payment = {
  readonly platformTransactionId: string;
  readonly providerTransactionId: string;
  readonly clientTransactionId: string;
  /** The service that the platform called; absent in old files. */
  readonly serviceId?: string;
  readonly merchantId: string;
  readonly scenario: 'consumerscan' | 'merchantscan';
  readonly amount: number;
  readonly currency: string;
  readonly eventsUrl: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Distinguishes a repeated request from a different one with the same identifier. */
  readonly fingerprint: string;
  status: ProviderPaymentStatus;
  /** The text of its code, where the consumer scans. */
  code?: string;
  payer?: ProviderPayer;
  failure?: ProviderFailure;
  readonly refunds: Refund[];
  /** Sequence number of the last event. */
  sequence: number;
  steps: PaymentStep[];
  /** Events that the platform has not acknowledged. */
  unsent: ProviderEvent[];
  /** An event that is sent after the next one. */
  heldBack?: ProviderEvent;
};

const open: ReadonlySet<string> = new Set(['Created', 'Pending', 'Scanned', 'Authorized']);
const paid: ReadonlySet<string> = new Set(['Completed', 'PartiallyRefunded', 'Refunded']);

export const isOpen = ({ status }: Payment): boolean => open.has(status);
export const isPaid = ({ status }: Payment): boolean => paid.has(status);

/** Completed refunds, and completed and pending refunds together. */
export function refundTotals({ refunds }: Payment): { done: number; claimed: number } {
  let done = 0;
  let claimed = 0;
  for (const { status, amount } of refunds) {
    if (status === 'Completed') done += amount;
    if (status !== 'Declined') claimed += amount;
  }
  return { done, claimed };
}

export const amountOf = ({ amount, currency }: Payment): ProviderAmount => ({ amount, currency });

/** The state of a payment, without the image of the code. */
export function paymentAnswer(payment: Payment): QrPaymentAnswer {
  const { providerTransactionId, status, payer, failure, expiresAt } = payment;
  return {
    providerTransactionId,
    status,
    // A payment that was cancelled before its request came has no amount.
    ...(payment.amount === 0 ? {} : { amount: amountOf(payment) }),
    expiresAt: new Date(expiresAt).toISOString(),
    ...defined({ payer, failure }),
  };
}

export function refundAnswer({ currency }: Payment, refund: Refund): RefundAnswer {
  const { refundId, providerRefundId, status, amount, failure } = refund;
  return {
    refundId,
    providerRefundId,
    status,
    amount: { amount, currency },
    ...defined({ failure }),
  };
}
