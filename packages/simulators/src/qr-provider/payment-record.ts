// What the reference provider keeps of a payment, and what it tells of it.
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

/** What is going to happen to a payment, and when. */
export type PaymentStep = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly to: ProviderPaymentStatus;
  /** Of a refund, which ends so. */
  readonly refundId?: string;
  /** Happens although the payment is over. */
  readonly isForced?: boolean;
  /** Is told, and not so. */
  readonly isLie?: boolean;
};

/** A payment; never what was scanned of the consumer. */
export type Payment = {
  readonly platformTransactionId: string;
  readonly providerTransactionId: string;
  readonly clientTransactionId: string;
  /** Which of its services the platform asked; absent in files of before there were several. */
  readonly serviceId?: string;
  readonly merchantId: string;
  readonly scenario: 'consumerscan' | 'merchantscan';
  readonly amount: number;
  readonly currency: string;
  readonly eventsUrl: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Tells another message under the same name from a repetition. */
  readonly fingerprint: string;
  status: ProviderPaymentStatus;
  /** The text of its code, where the consumer scans. */
  code?: string;
  payer?: ProviderPayer;
  failure?: ProviderFailure;
  readonly refunds: Refund[];
  /** Of its last event. */
  sequence: number;
  steps: PaymentStep[];
  /** Events that the platform has not acknowledged. */
  unsent: ProviderEvent[];
  /** An event that is told after the next one. */
  heldBack?: ProviderEvent;
};

const open: ReadonlySet<string> = new Set(['Created', 'Pending', 'Scanned', 'Authorized']);
const paid: ReadonlySet<string> = new Set(['Completed', 'PartiallyRefunded', 'Refunded']);

export const isOpen = ({ status }: Payment): boolean => open.has(status);
export const isPaid = ({ status }: Payment): boolean => paid.has(status);

/** What was given back, and what is being given back: both count against what was paid. */
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

/** How it stands, without a picture. */
export function paymentAnswer(payment: Payment): QrPaymentAnswer {
  const { providerTransactionId, status, payer, failure, expiresAt } = payment;
  return {
    providerTransactionId,
    status,
    // Cancelled before it came: nobody ever said how much.
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
