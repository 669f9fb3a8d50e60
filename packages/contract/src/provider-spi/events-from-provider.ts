/** Events that a provider of QR payments sends to the `eventsUrl` of a payment. */
import { type Static, Type } from 'typebox';
import {
  messageSchema,
  moment,
  ProviderAmount,
  ProviderFailure,
  ProviderPayer,
  ProviderPaymentStatus,
  providerId,
  providerTransactionId,
  QrDisplay,
  uuid,
} from './value-schemas.ts';

/**
 * The status of the payment for each event type; for refund events, the status of the refund.
 *
 * @example
 * providerEventStatuses['payment.completed']; // Completed
 */
export const providerEventStatuses = {
  'payment.pending': 'Pending',
  'payment.scanned': 'Scanned',
  'payment.authorized': 'Authorized',
  'payment.completed': 'Completed',
  'payment.declined': 'Declined',
  'payment.cancelled': 'Cancelled',
  'payment.expired': 'Expired',
  'payment.failed': 'Failed',
  'refund.completed': 'Completed',
  'refund.declined': 'Declined',
} as const satisfies Readonly<Record<string, ProviderPaymentStatus>>;

/**
 * An event type that the platform processes.
 *
 * @example
 * const type: ProviderEventType = 'payment.completed';
 */
export type ProviderEventType = keyof typeof providerEventStatuses;

/**
 * Whether the platform processes an event type; it only stores other types.
 *
 * @example
 * if (isProviderEventType(event.type)) apply(event.type);
 */
export function isProviderEventType(type: string): type is ProviderEventType {
  return Object.hasOwn(providerEventStatuses, type);
}

/**
 * One event of a payment or of its refund. `eventId` is the same for all attempts. `sequence` grows
 * with each event of a payment, so that the platform detects late events.
 *
 * @example
 * const event: ProviderEvent = { eventId, sequence: 3, type: 'payment.completed', occurredAt, status: 'Completed', providerTransactionId, amount };
 */
export const ProviderEvent = messageSchema(
  {
    eventId: uuid('Names the event for ever; a try that is repeated has the same one.'),
    sequence: Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'Grows with each event of the payment; gaps are allowed.',
      examples: [3],
    }),
    type: Type.String({
      pattern: '^[a-z][a-z0-9_]{0,31}(?:\\.[a-z][a-z0-9_]{0,31}){1,3}$',
      maxLength: 128,
      description: `The event type: ${Object.keys(providerEventStatuses).join(', ')}. Another type is kept and changes nothing.`,
      examples: ['payment.completed'],
    }),
    occurredAt: moment('When it happened at the provider.'),
    status: Type.Optional(ProviderPaymentStatus),
    providerTransactionId,
    amount: Type.Optional(ProviderAmount),
    display: Type.Optional(QrDisplay),
    refundId: Type.Optional(
      uuid('The refund at the platform; of refund.… alone, and never left out.'),
    ),
    providerRefundId: Type.Optional(providerId('The refund at the provider.')),
    payer: Type.Optional(ProviderPayer),
    failure: Type.Optional(ProviderFailure),
  },
  'An event of a payment or of its refund.',
);
export type ProviderEvent = Static<typeof ProviderEvent>;
