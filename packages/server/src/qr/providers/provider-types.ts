// Defines the calls to QR payment providers, and every outcome as a value.
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
  /** The server's identifier, which both sides use for the payment. */
  readonly transactionId: string;
  /** The provider's identifier, if it is known; an answer with another one contradicts. */
  readonly providerTransactionId?: string;
};

/** The values of a new payment, without its merchant and store. */
export type NewProviderPayment = {
  readonly organizationId: string;
  readonly serviceId: string;
  readonly transactionId: string;
  readonly clientTransactionId: string;
  readonly paymentType: string;
  readonly paymentScenario: CreateQrPayment['paymentScenario'];
  /** May contain a card number or a cryptogram; the server sends it only to the provider. */
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

/** The provider understood the call and refused it. */
export type Refused = {
  readonly outcome: 'Refused';
  /**
   * `signature`: the provider rejects the server's calls; an operator must check the shared secret.
   */
  readonly reason: 'invalid' | 'signature' | 'conflict' | 'refused';
  readonly status: number;
  readonly code?: string;
  readonly text?: string;
};

/** The provider may or may not have processed the call. */
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

/** The provider did not process the call. */
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

/** The provider does not know the payment or the refund. */
export type NotFound = { readonly outcome: 'NotFound' };

export type Failed = Refused | Unknown | NotSent;

/** Unknown members of an answer: stored, and never used. */
type More = { readonly more?: Readonly<Record<string, unknown>> };

export type PaymentAnswer = More & {
  readonly outcome: 'Answered';
  readonly providerTransactionId: string;
  readonly status: ProviderPaymentStatus;
  /** The reported amount; the caller checks it. */
  readonly amount?: number;
  readonly currency?: string;
  readonly display?: QrDisplay;
  /** For a new payment, never later than the requested expiry. */
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

/** The merchant and store of a payment, for the provider. */
export type MerchantDetails = ProviderMerchant;

/** The service that takes a payment of a device. */
export type SelectedService = {
  readonly serviceId: string;
  /** The organisation that provides the service; only it may send the events. */
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
  /** The active service for a payment type at a device, or undefined. */
  selectService(
    organizationId: string,
    query: {
      readonly deviceId: string;
      readonly paymentType: string;
      readonly scenario: CreateQrPayment['paymentScenario'];
    },
  ): Promise<SelectedService | undefined>;
  /** The merchant and store of the payment; refuses unknown or disabled ones. */
  merchantDetails(
    organizationId: string,
    query: { readonly deviceId: string; readonly currency: string; readonly merchantId?: string },
  ): Promise<MerchantDetails>;
  create(merchant: MerchantDetails, payment: NewProviderPayment): Promise<PaymentAnswer | Failed>;
  status(payment: ProviderPaymentRef): Promise<PaymentAnswer | NotFound | Failed>;
  cancel(
    payment: ProviderPaymentRef,
    reason: CancelReason,
  ): Promise<CancelAnswered | NotFound | Failed>;
  refund(
    payment: ProviderPaymentRef,
    refund: NewProviderRefund,
  ): Promise<RefundAnswered | NotFound | Failed>;
  refundStatus(
    payment: ProviderPaymentRef,
    refundId: string,
  ): Promise<RefundAnswered | NotFound | Failed>;
  /** Asks the provider of a service whether it takes payments. */
  health(serviceId: string): Promise<HealthAnswered | Failed>;
  /** The open and half-open circuits of this process. */
  listFailing(): readonly ProviderHealth[];
  /** Stops the scheduled health checks. */
  stop(): void;
};
