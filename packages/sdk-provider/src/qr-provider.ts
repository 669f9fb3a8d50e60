/** The operations of a provider, one for each call of the platform. */
import type {
  CancelAnswer,
  CancelQrPayment,
  CreateQrPayment,
  HealthAnswer,
  QrPaymentAnswer,
  RefundAnswer,
  RefundQrPayment,
} from '@switchyard/contract';

/**
 * A value, or a promise of it.
 *
 * @example
 * const answer: Awaitable<string> = Promise.resolve('paid');
 */
export type Awaitable<Value> = Value | Promise<Value>;

/**
 * An administrator activates the service for an organisation, a merchant, a store or a device.
 *
 * @example
 * const { level, entityId, parameters } = request;
 */
export type ActivationRequest = {
  /** Identifies this request; a later answer must contain it. */
  readonly handshakeId: string;
  readonly organizationId: string;
  readonly activationId: string;
  readonly serviceId: string;
  readonly release: number;
  readonly level: 'Organization' | 'Merchant' | 'Store' | 'LogicalDevice';
  readonly entityId: string;
  readonly merchantId?: string;
  readonly storeId?: string;
  /** The values that the administrator entered for the service's `activationParameters`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The address for a later answer. */
  readonly answerUrl: string;
};

/**
 * The answer to an activation. After `Later`, the provider sends its decision to `answerUrl`.
 *
 * @example
 * const answer: ActivationDecision = { status: 'Refused', reason: 'The account is closed.' };
 */
export type ActivationDecision =
  | { readonly status: 'Accepted'; readonly parameters?: Readonly<Record<string, unknown>> }
  | { readonly status: 'Refused'; readonly reason: string }
  | { readonly status: 'Later' };

/**
 * A provider of QR payments. Each operation answers or throws {@link ProviderProblemError}. Any other
 * exception becomes a 500, and the platform repeats the call.
 *
 * The platform can repeat `create`, `cancel` and `refund`. The same `platformTransactionId` or
 * `refundId` must give the same answer and no second effect.
 *
 * @example
 * const provider: QrProvider = {
 *   create: async (payment) => ({ providerTransactionId: await begin(payment), status: 'Pending' }),
 *   find: async (id) => answerOf(await payments.get(id)),
 *   cancel: async ({ platformTransactionId }) => ({ status: await payments.stop(platformTransactionId) }),
 *   refund: async ({ refundId, amount }) => ({ refundId, status: 'Completed', amount }),
 *   findRefund: async (_id, refundId) => refunds.get(refundId),
 * };
 */
export type QrProvider = {
  /** Begins a payment. `Created` without `display` becomes a 202; events bring the rest. */
  create(payment: CreateQrPayment): Awaitable<QrPaymentAnswer>;
  /** Returns the state of a payment, or undefined if the provider never received it. */
  find(platformTransactionId: string): Awaitable<QrPaymentAnswer | undefined>;
  /**
   * Always succeeds: an unknown payment becomes `Cancelled`, also if its create call arrives later.
   */
  cancel(cancel: CancelQrPayment): Awaitable<CancelAnswer>;
  refund(refund: RefundQrPayment): Awaitable<RefundAnswer>;
  /** Returns the state of a refund, or undefined if the provider never received it. */
  findRefund(platformTransactionId: string, refundId: string): Awaitable<RefundAnswer | undefined>;
  /** Default: `Up`. */
  health?(): Awaitable<HealthAnswer>;
  /** Default: accepts every activation. */
  activate?(request: ActivationRequest): Awaitable<ActivationDecision>;
  /** An administrator deactivated the service at a level. */
  deactivated?(request: ActivationRequest): Awaitable<void>;
};
