// What the room asks of providers, and what it is told: every outcome of the outside world is a value.
import type {
  CancelReason,
  CreateQrPayment,
  ProviderAmount,
  ProviderFailure,
  ProviderMerchant,
  ProviderPayer,
  ProviderPaymentStatus,
  ProviderRefundStatus,
  QrDisplay,
} from '@switchyard/contract';

/** A payment at its provider. */
export type ProviderPaymentRef = {
  readonly organizationId: string;
  readonly serviceId: string;
  /** Ours: it names the payment on both sides. */
  readonly transactionId: string;
  /** Theirs, where it is known: an answer that names another one contradicts. */
  readonly providerTransactionId?: string;
};

/** What a payment begins with, beside its place. */
export type NewProviderPayment = {
  readonly organizationId: string;
  readonly serviceId: string;
  readonly transactionId: string;
  readonly clientTransactionId: string;
  readonly paymentType: string;
  readonly paymentScenario: CreateQrPayment['paymentScenario'];
  /** May hold a card number or a cryptogram: it goes to the provider and nowhere else. */
  readonly scannedPaymentId?: string;
  readonly amount: number;
  readonly currency: string;
  readonly order?: { readonly orderId?: string; readonly orderDescription?: string };
  readonly createdAt: Date;
  readonly expiresAt: Date;
};

export type NewProviderRefund = {
  readonly refundId: string;
  readonly amount: number;
  readonly currency: string;
  readonly reason?: 'Merchant' | 'CompletedAfterCancel';
};

/** The provider said no, and understood what it was asked. */
export type Refused = {
  readonly outcome: 'Refused';
  /** `signature`: nothing of ours is taken there; somebody has to look at the secret. */
  readonly reason: 'invalid' | 'signature' | 'conflict' | 'refused';
  readonly status: number;
  readonly code?: string;
  readonly text?: string;
};

/** It may have been done, or not. */
export type Unknown = {
  readonly outcome: 'Unknown';
  readonly fault:
    | 'timed_out'
    | 'unreachable'
    | 'tls_failed'
    | 'answer_too_large'
    | 'answer_unreadable'
    | 'answer_contradicts'
    | 'display_refused'
    | 'redirected'
    | 'server_fault';
  readonly retryAfterMs?: number;
};

/** Nothing has reached the provider: nothing was done. */
export type NotSent = {
  readonly outcome: 'NotSent';
  readonly reason:
    | 'circuit_open'
    | 'busy'
    | 'no_service'
    | 'no_address'
    | 'address_refused'
    | 'unreachable'
    | 'tls_failed'
    | 'timed_out'
    | 'too_many_requests';
  readonly retryAfterMs?: number;
};

/** The provider never heard of it. */
export type NotFound = { readonly outcome: 'NotFound' };

export type Failed = Refused | Unknown | NotSent;

/** What else stood in an answer: kept, and never acted upon. */
type More = { readonly more?: Readonly<Record<string, unknown>> };

export type PaymentAnswer = More & {
  readonly outcome: 'Answered';
  readonly providerTransactionId: string;
  readonly status: ProviderPaymentStatus;
  /** Where it was told; whether it is the right one is for the caller to judge. */
  readonly amount?: number;
  readonly currency?: string;
  readonly display?: QrDisplay;
  /** Never later than was asked for. */
  readonly expiresAt?: Date;
  readonly pollAfterMs?: number;
  readonly payer?: ProviderPayer;
  readonly failure?: ProviderFailure;
};

export type CancelAnswered = More & {
  readonly outcome: 'Answered';
  readonly providerTransactionId?: string;
  readonly status: ProviderPaymentStatus;
  readonly failure?: ProviderFailure;
};

export type RefundAnswered = More & {
  readonly outcome: 'Answered';
  readonly providerRefundId?: string;
  readonly status: ProviderRefundStatus;
  readonly amount?: ProviderAmount;
  readonly failure?: ProviderFailure;
};

export type HealthAnswered = { readonly outcome: 'Answered'; readonly status: 'Up' | 'Down' };

/** Where a payment is made, as providers are told. */
export type Place = ProviderMerchant;

/** The service that takes a payment of a device. */
export type PickedService = {
  readonly serviceId: string;
  /** The organisation that provides it, and alone may send its events. */
  readonly providerId: string;
  readonly release: number;
  readonly name: string;
};

export type CircuitState = 'closed' | 'half_open' | 'open';

export type ProviderHealth = {
  readonly serviceId: string;
  readonly circuit: CircuitState;
  readonly consecutiveFailures: number;
  readonly retryAfterMs?: number;
};

export type Providers = {
  /** The service of a payment type that is active at a device; undefined where none is. */
  pick(
    organizationId: string,
    asked: {
      readonly deviceId: string;
      readonly paymentType: string;
      readonly scenario: CreateQrPayment['paymentScenario'];
    },
  ): Promise<PickedService | undefined>;
  /** Who sells and where; refuses what is unknown or disabled. */
  place(
    organizationId: string,
    asked: { readonly deviceId: string; readonly currency: string; readonly merchantId?: string },
  ): Promise<Place>;
  create(place: Place, payment: NewProviderPayment): Promise<PaymentAnswer | Failed>;
  status(of: ProviderPaymentRef): Promise<PaymentAnswer | NotFound | Failed>;
  cancel(of: ProviderPaymentRef, reason: CancelReason): Promise<CancelAnswered | NotFound | Failed>;
  refund(
    of: ProviderPaymentRef,
    refund: NewProviderRefund,
  ): Promise<RefundAnswered | NotFound | Failed>;
  refundStatus(
    of: ProviderPaymentRef,
    refundId: string,
  ): Promise<RefundAnswered | NotFound | Failed>;
  /** Asks the provider of a service whether it takes payments. */
  health(serviceId: string): Promise<HealthAnswered | Failed>;
  /** How the circuits of this process stand, the troubled ones alone. */
  troubled(): readonly ProviderHealth[];
  /** Ends the looks at providers that are away. */
  stop(): void;
};
