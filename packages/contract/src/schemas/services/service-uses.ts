/** A provider's view of the uses of its services, and the state of a service at each level. */
import { type Static, Type } from 'typebox';
import { closed, identifier, shortText } from '../values-and-problems/resource-schemas.ts';
import { Currency, pageOf, Timestamp, Uuid, wordOf } from '../values-and-problems/value-schemas.ts';

const levels = ['Organization', 'Merchant', 'Store', 'LogicalDevice'] as const;
const states = ['Requested', 'Pending', 'Active', 'Refused', 'Inactive'] as const;

const level = wordOf(levels, { description: 'The level at which the service is activated.' });
const status = wordOf(states, { description: 'The state of the activation.' });
const entityId = identifier('The organisation, merchant, store or logical device.');
const activationId = identifier('The activation.');

/**
 * An activation, as the provider of the service sees it: its request and its result.
 *
 * @example
 * const waiting = items.filter(({ status }) => status === 'Pending');
 */
export const ServiceUse = closed(
  {
    activationId,
    handshakeId: identifier('The request, which an answer names.'),
    serviceId: identifier('The service.'),
    organizationId: identifier('The organisation that uses it.'),
    organizationName: Type.Optional(shortText(100, 'The name of the organisation.')),
    release: Type.Integer({ minimum: 1, description: 'The release at the time of the request.' }),
    level,
    entityId,
    merchantId: Type.Optional(identifier('The merchant that the entity is, or belongs to.')),
    storeId: Type.Optional(identifier('The store that the entity is, or belongs to.')),
    status,
    reason: Type.Optional(shortText(500, 'Why it was refused.')),
    requestedAt: Timestamp,
    decidedAt: Type.Optional(Timestamp),
  },
  'An activation as the provider of the service sees it.',
);
export type ServiceUse = Static<typeof ServiceUse>;

/**
 * The filters of the list of uses, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...serviceUseFilters });
 */
export const serviceUseFilters = {
  level: Type.Optional(
    wordOf(levels, {
      default: 'Organization',
      description: 'One level; left out, the organisations that use the service.',
    }),
  ),
  status: Type.Optional(wordOf(states)),
};

const count = (description: string) => Type.Integer({ minimum: 0, description });
const counts = {
  answered: count('Calls that the provider answered, be it with a refusal.'),
  failed: count('Calls without an answer that could be used.'),
};

/**
 * Statistics of a provider's answers to the platform's calls.
 *
 * @example
 * const { status, calls } = (await response.json()) as ServiceCalls;
 */
export const ServiceCalls = closed(
  {
    serviceId: identifier('The service.'),
    status: wordOf(['Up', 'Degraded', 'Down', 'Quiet'], {
      description:
        '`Up`: the last calls were answered. `Degraded`: some were not. `Down`: most were not. `Quiet`: nothing was called.',
    }),
    from: Timestamp,
    to: Timestamp,
    calls: Type.Array(
      closed(
        {
          call: Type.String({ description: 'The type of the call.', examples: ['create'] }),
          ...counts,
          meanMs: count('The mean time to an answer or a fault.'),
          longestMs: count('The longest of them.'),
          lastFault: Type.Optional(
            closed(
              {
                at: Timestamp,
                reason: Type.String({
                  description: 'The reason of the failure.',
                  examples: ['timeout'],
                }),
              },
              'The last call that failed.',
            ),
          ),
        },
        'Calls of one kind.',
      ),
      { description: 'The calls, grouped by type.' },
    ),
    hours: Type.Array(closed({ at: Timestamp, ...counts }, 'The calls of an hour.'), {
      description: 'From the oldest on, without hours in which nothing was called.',
    }),
  },
  'How the server of a provider answered.',
);
export type ServiceCalls = Static<typeof ServiceCalls>;

const levelStateFields = {
  level,
  entityId,
  active: Type.Boolean({ description: 'Whether the service is active at this very level.' }),
  activationId: Type.Optional(activationId),
  status: Type.Optional(status),
};

/**
 * The state of a service at the entities directly below a level, and at the levels above them.
 *
 * @example
 * const off = items.filter(({ usable }) => !usable);
 */
export const ServiceStateList = closed(
  {
    above: Type.Array(
      closed(
        {
          ...levelStateFields,
          name: Type.Optional(shortText(100, 'Its name; the organisation has none here.')),
        },
        'A level above.',
      ),
      { description: 'The levels from the organisation down to the requested entity.' },
    ),
    items: Type.Array(
      closed(
        {
          ...levelStateFields,
          name: shortText(100, 'Its name.'),
          usable: Type.Boolean({ description: 'Active here and at every level above.' }),
        },
        'A merchant, a store or a logical device.',
      ),
    ),
    nextCursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Send it as ?cursor= for the next page; null on the last one.',
    }),
  },
  'The state of a service at the entities directly below a level.',
);
export type ServiceStateList = Static<typeof ServiceStateList>;
/** An entity of {@link ServiceStateList}. */
export type ServicePlace = ServiceStateList['items'][number];

/**
 * The level whose children are listed; without one, the merchants.
 *
 * @example
 * Type.Object({ ...pageQuery, ...serviceStateFilters });
 */
export const serviceStateFilters = {
  merchantId: Type.Optional(identifier('The stores of this merchant.')),
  storeId: Type.Optional(identifier('The logical devices of this store.')),
};

const money = (description: string) => Type.Integer({ minimum: 0, description });

/**
 * A QR payment, as the provider of its service sees it: the data sent to it, and the state.
 *
 * @example
 * const { status, refundedAmount } = payment;
 */
export const ProviderQrPayment = closed(
  {
    transactionId: Uuid,
    clientTransactionId: Type.String({ description: 'The identifier of the terminal.' }),
    providerTransactionId: Type.Optional(
      Type.String({ description: 'The identifier of the provider.', examples: ['QR-4711'] }),
    ),
    serviceId: identifier('The service.'),
    organizationId: identifier('The organisation of the merchant.'),
    paymentType: Type.String({ description: 'The payment type.', examples: ['demopay'] }),
    status: Type.String({ description: 'The status of the payment.', examples: ['Completed'] }),
    amount: money('The requested amount, in minor units.'),
    paidAmount: money('The paid amount, in minor units.'),
    refundedAmount: money('The refunded amount, in minor units.'),
    currency: Currency,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  'A QR payment as the provider of its service sees it.',
);
export type ProviderQrPayment = Static<typeof ProviderQrPayment>;

/**
 * A page of {@link ProviderQrPayment}.
 *
 * @example
 * const { items, nextCursor } = page;
 */
export const ProviderQrPaymentList = pageOf(ProviderQrPayment);
