/** The Retail API: the terminals of a store, and the Nexo Retailer messages to them. */
import { type Static, Type } from 'typebox';
import { pageOf, Timestamp, Uuid, wordOf } from '../values-and-problems/value-schemas.ts';

const Tsn = Type.String({
  description: 'Make, model and serial number of the terminal.',
  examples: ['AXIUM_DX8000-12345678'],
});

const state = {
  tsn: Tsn,
  online: Type.Boolean({ description: 'Connected to the Cloud Connector.' }),
  claimed: Type.Boolean({ description: 'A point of sale uses it.' }),
  lastSeenAt: Type.Optional(Timestamp),
};

/**
 * The status of a terminal at the connector.
 *
 * @example
 * const { online, claimed }: RetailDeviceStatus = await response.json();
 */
export const RetailDeviceStatus = Type.Object(state, { title: 'RetailDeviceStatus' });
/** The type of {@link RetailDeviceStatus}. */
export type RetailDeviceStatus = Static<typeof RetailDeviceStatus>;

/**
 * A terminal of a store.
 *
 * @example
 * const free = page.items.filter(({ online, claimed }) => online && !claimed);
 */
export const RetailDevice = Type.Object(
  {
    ...state,
    physicalDeviceId: Uuid,
    deviceId: Type.Optional(Uuid),
    family: Type.String(),
    enabled: Type.Boolean({ description: 'It, its place, store and merchant are enabled.' }),
    paymentMethods: Type.Array(Type.String(), {
      description: '`card`, and the payment types of services that are active at it.',
      examples: [['card', 'demopay']],
    }),
  },
  { title: 'RetailDevice' },
);
/** The type of {@link RetailDevice}. */
export type RetailDevice = Static<typeof RetailDevice>;

/** A page of {@link RetailDevice}. */
export const RetailDeviceList = pageOf(RetailDevice);

/**
 * The statuses of a message. `Sent`: a message without an answer, such as an Abort. `Failed`: no
 * answer came, and the client must request what the terminal did.
 *
 * @example
 * retailMessageStatuses.includes('Answered'); // true
 */
export const retailMessageStatuses = ['Waiting', 'Answered', 'Sent', 'Failed'] as const;
/** One of {@link retailMessageStatuses}. */
export type RetailMessageStatus = (typeof retailMessageStatuses)[number];

const commonFields = {
  messageId: Uuid,
  tsn: Tsn,
  saleId: Type.String({ description: 'The SaleID of the header.' }),
  serviceId: Type.String({ description: 'The ServiceID of the header.' }),
  category: Type.String({ description: 'The MessageCategory of the header.' }),
};

const outcome = {
  result: Type.Optional(
    Type.String({ description: 'Result of the response, where it is in clear.' }),
  ),
  errorCondition: Type.Optional(Type.String({ description: 'ErrorCondition of the response.' })),
  fault: Type.Optional(
    Type.String({ description: 'The code with which it failed, such as `timeout`.' }),
  ),
};

/**
 * A Nexo Retailer message to a terminal, and its result.
 *
 * @example
 * if (message.status === 'Answered') show(message.response);
 */
export const RetailMessage = Type.Object(
  {
    ...commonFields,
    status: wordOf(retailMessageStatuses),
    ...outcome,
    response: Type.Optional(
      Type.Object(
        {},
        { additionalProperties: true, description: 'The unchanged response of the terminal.' },
      ),
    ),
    createdAt: Timestamp,
    dueAt: Timestamp,
    settledAt: Type.Optional(Timestamp),
  },
  { title: 'RetailMessage' },
);
/** The type of {@link RetailMessage}. */
export type RetailMessage = Static<typeof RetailMessage>;

/**
 * The response to a message whose result follows later.
 *
 * @example
 * const { serviceId }: RetailAccepted = await response.json();
 */
export const RetailAccepted = Type.Object(
  { ...commonFields, dueAt: Timestamp },
  { title: 'RetailAccepted' },
);
/** The type of {@link RetailAccepted}. */
export type RetailAccepted = Static<typeof RetailAccepted>;

/**
 * The Nexo Retailer answer of a terminal, unchanged.
 *
 * @example
 * const { SaleToPOIResponse } = await response.json();
 */
export const NexoAnswer = Type.Object(
  {},
  { additionalProperties: true, title: 'NexoAnswer', description: 'A message of Nexo Retailer.' },
);
