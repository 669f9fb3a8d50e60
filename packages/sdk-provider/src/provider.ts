/** What a provider does: one operation for each call of the platform. */
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
 * A value, or the promise of one.
 *
 * @example
 * const answer: Awaitable<string> = Promise.resolve('paid');
 */
export type Awaitable<Value> = Value | Promise<Value>;

/**
 * An administrator switches the service on: for an organisation, a merchant, a store or a device.
 *
 * @example
 * const { level, entityId, parameters } = request;
 */
export type ActivationRequest = {
  /** Names this request; a later answer has to carry it. */
  readonly handshakeId: string;
  readonly organizationId: string;
  readonly activationId: string;
  readonly serviceId: string;
  readonly release: number;
  readonly level: 'Organization' | 'Merchant' | 'Store' | 'LogicalDevice';
  readonly entityId: string;
  readonly merchantId?: string;
  readonly storeId?: string;
  /** What the administrator gave, after the service's `activationParameters`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Where a later answer goes. */
  readonly answerUrl: string;
};

/**
 * The answer to an activation; `Later` is told at `answerUrl` once it is decided.
 *
 * @example
 * const answer: ActivationDecision = { status: 'Refused', reason: 'The account is closed.' };
 */
export type ActivationDecision =
  | { readonly status: 'Accepted'; readonly parameters?: Readonly<Record<string, unknown>> }
  | { readonly status: 'Refused'; readonly reason: string }
  | { readonly status: 'Later' };

/**
 * A provider of QR payments. Each operation answers, or throws {@link ProviderRefusal}; whatever
 * else it throws is a 500, and the platform asks again.
 *
 * `create`, `cancel` and `refund` come more than once: the same `platformTransactionId` or
 * `refundId` has the same answer and no second effect.
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
  /** A payment begins. `Created` without `display` is answered with 202: the rest comes as events. */
  create(payment: CreateQrPayment): Awaitable<QrPaymentAnswer>;
  /** How a payment stands; nothing where it never came. */
  find(platformTransactionId: string): Awaitable<QrPaymentAnswer | undefined>;
  /** Is always taken: what never came is `Cancelled`, and stays so when it comes late. */
  cancel(cancel: CancelQrPayment): Awaitable<CancelAnswer>;
  refund(refund: RefundQrPayment): Awaitable<RefundAnswer>;
  /** How a refund stands; nothing where it never came. */
  findRefund(platformTransactionId: string, refundId: string): Awaitable<RefundAnswer | undefined>;
  /** Left out: `Up`. */
  health?(): Awaitable<HealthAnswer>;
  /** Left out: every activation is accepted. */
  activate?(request: ActivationRequest): Awaitable<ActivationDecision>;
  /** The service was switched off somewhere. */
  deactivated?(request: ActivationRequest): Awaitable<void>;
};
