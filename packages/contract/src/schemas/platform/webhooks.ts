/** Schemas of webhooks: endpoints, signatures and deliveries. */
import { type Static, Type } from 'typebox';
import { EventTypePattern } from '../../events/index.ts';
import {
  closed,
  identifier,
  replacement,
  shortText,
} from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const endpointId = identifier('The endpoint.');
const deliveryId = identifier('The delivery.');

const endpointInput = {
  url: Type.String({
    minLength: 1,
    maxLength: 2000,
    pattern: '^[!-~]+$',
    description:
      'Where events are sent by POST: https, at a public address, without user name and fragment.',
    examples: ['https://shop.example/webhooks/payments'],
  }),
  eventTypes: Type.Array(EventTypePattern, {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'Which events are sent.',
    examples: [['transaction.*', 'batch.completed']],
  }),
  merchantId: Type.Optional(
    identifier(
      'Only events of this merchant. Left out: all events of the organisation, or of the merchant whose token creates the endpoint.',
    ),
  ),
  description: Type.Optional(shortText(500, 'The purpose of the endpoint.')),
  status: Type.Optional(
    wordOf(['Enabled', 'Disabled'], {
      default: 'Enabled',
      description:
        'The platform plans no deliveries for a disabled endpoint; planned deliveries wait.',
    }),
  ),
};

const challenge = Type.Optional(
  Type.Boolean({
    default: false,
    description: 'The endpoint begins disabled, until it has answered a signed challenge.',
  }),
);

/**
 * The body that creates an endpoint.
 *
 * @example
 * const body: WebhookEndpointInput = { url: 'https://shop.example/hooks', eventTypes: ['*'] };
 */
export const WebhookEndpointInput = closed(
  { ...endpointInput, challenge },
  'An endpoint as it is made.',
);
/** The type of {@link WebhookEndpointInput}. */
export type WebhookEndpointInput = Static<typeof WebhookEndpointInput>;

const disabledReasons = ['Requested', 'Unverified', 'Gone', 'Unreachable'] as const;

/**
 * Why an endpoint is disabled.
 *
 * @example
 * const reason: DisabledReason = 'Gone';
 */
export type DisabledReason = (typeof disabledReasons)[number];

const publicKey = Type.String({
  description: 'The Ed25519 key that verifies the signatures `v1a`.',
  examples: ['whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='],
});

const endpointFacts = {
  owner: wordOf(['Organization', 'Merchant'], {
    description:
      'The owner: the organisation, or the merchant in `merchantId`. The organisation sees both.',
  }),
  disabledReason: Type.Optional(
    wordOf(disabledReasons, {
      description:
        '`Requested`: by one of you. `Unverified`: its challenge was not answered yet. `Gone`: it answered 410. `Unreachable`: five days without a success.',
    }),
  ),
  disabledAt: Type.Optional({ ...Timestamp, description: 'Since when it is disabled.' }),
  missedEvents: Type.Optional(
    Type.Boolean({
      description: 'Whether there may be events that a replay without a time would bring.',
    }),
  ),
  verifiedAt: Type.Optional({ ...Timestamp, description: 'When it answered its challenge.' }),
  publicKey,
  previousPublicKey: Type.Optional(publicKey),
  previousUntil: Type.Optional({
    ...Timestamp,
    description: 'Until then the keys before these sign as well.',
  }),
  health: Type.Optional(
    closed(
      {
        failures: Type.Integer({ minimum: 0, description: 'Tries that failed in a row.' }),
        failingSince: Type.Optional({
          ...Timestamp,
          description: 'The first failure after the last success.',
        }),
        restingUntil: Type.Optional({
          ...Timestamp,
          description: 'Until then nothing is sent, after many failures or since it asked for it.',
        }),
        succeededAt: Type.Optional({ ...Timestamp, description: 'About when it last took one.' }),
      },
      'How the endpoint fares.',
    ),
  ),
};

/**
 * The body that replaces an endpoint; missing members take their defaults.
 *
 * @example
 * const body = { ...endpoint, status: 'Disabled' };
 */
export const WebhookEndpointReplacement = replacement(
  endpointInput,
  { endpointId, ...endpointFacts },
  'An endpoint as it is replaced.',
);
/** The type of {@link WebhookEndpointReplacement}. */
export type WebhookEndpointReplacement = Static<typeof WebhookEndpointReplacement>;

const endpoint = {
  endpointId,
  organizationId: identifier('The organisation.'),
  ...endpointInput,
  status: wordOf(['Enabled', 'Disabled']),
  ...endpointFacts,
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * An endpoint that receives the events of an organisation.
 *
 * @example
 * const { status } = (await response.json()) as WebhookEndpoint;
 */
export const WebhookEndpoint = closed(endpoint, 'Where events are sent.');
/** The type of {@link WebhookEndpoint}. */
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

const secret = Type.String({
  description: 'The key of the signatures `v1`. It is shown this once.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
});

/**
 * A newly created endpoint.
 *
 * @example
 * const { endpointId, secret } = (await response.json()) as CreatedWebhookEndpoint;
 */
export const CreatedWebhookEndpoint = closed(
  { ...endpoint, secret },
  'An endpoint that was made, with its secret.',
);
/** The type of {@link CreatedWebhookEndpoint}. */
export type CreatedWebhookEndpoint = Static<typeof CreatedWebhookEndpoint>;

/**
 * The new keys of an endpoint.
 *
 * @example
 * const { secret, previousUntil } = (await response.json()) as WebhookSecret;
 */
export const WebhookSecret = closed(
  {
    endpointId,
    secret,
    publicKey,
    previousUntil: { ...Timestamp, description: 'Until then the keys before these sign as well.' },
  },
  'The new keys of an endpoint.',
);
/** The type of {@link WebhookSecret}. */
export type WebhookSecret = Static<typeof WebhookSecret>;

/**
 * The event of a test: its type, marked as a test.
 *
 * @example
 * const body: WebhookTest = { type: 'transaction.captured' };
 */
export const WebhookTest = closed(
  {
    type: Type.Optional(
      Type.String({
        maxLength: 64,
        pattern: '^[a-z_]{1,40}\\.[a-z_]{1,40}$',
        default: 'endpoint.test',
        description: 'A type of event.',
        examples: ['transaction.captured'],
      }),
    ),
  },
  'The event of a test.',
);
/** The type of {@link WebhookTest}. */
export type WebhookTest = Static<typeof WebhookTest>;

/**
 * The events to send again. Without a time: all events since the last accepted one.
 *
 * @example
 * const body: WebhookReplay = { from: '2026-03-01T00:00:00Z', to: '2026-03-02T00:00:00Z' };
 */
export const WebhookReplay = closed(
  {
    from: Type.Optional({ ...Timestamp, description: 'Events of this time and later.' }),
    to: Type.Optional({ ...Timestamp, description: 'Events before this time; left out: now.' }),
  },
  'Which events are sent once more.',
);
/** The type of {@link WebhookReplay}. */
export type WebhookReplay = Static<typeof WebhookReplay>;

/**
 * A started replay, in positions of the feed.
 *
 * @example
 * const { afterPosition, toPosition } = (await response.json()) as BegunWebhookReplay;
 */
export const BegunWebhookReplay = closed(
  {
    endpointId,
    afterPosition: Type.Integer({ minimum: 0, description: 'Events behind this position.' }),
    toPosition: Type.Integer({ minimum: 0, description: 'The last position that is looked at.' }),
  },
  'A replay that was begun.',
);
/** The type of {@link BegunWebhookReplay}. */
export type BegunWebhookReplay = Static<typeof BegunWebhookReplay>;

const attempt = closed(
  {
    at: { ...Timestamp, description: 'When it was sent.' },
    status: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 999, description: 'The HTTP status of the answer.' }),
    ),
    fault: Type.Optional(
      wordOf(['address_refused', 'unreachable', 'tls_failed', 'timed_out', 'event_expired'], {
        description: 'Why there was no answer.',
      }),
    ),
    ms: Type.Integer({ minimum: 0, description: 'How long it took, in milliseconds.' }),
    answer: Type.Optional(Type.String({ description: 'The start of the body of the answer.' })),
  },
  'One try.',
);

const deliveryStatuses = ['Pending', 'Delivered', 'Failed'] as const;

const delivery = {
  deliveryId,
  endpointId,
  eventId: identifier('The event, and the `webhook-id` of each try.'),
  type: Type.String({ description: 'The type of the event.', examples: ['transaction.captured'] }),
  position: Type.Optional(
    Type.Integer({ minimum: 1, description: 'The position of the event in the feed.' }),
  ),
  status: wordOf(deliveryStatuses, {
    description: '`Failed`: all tries of the schedule failed.',
  }),
  attempts: Type.Integer({
    minimum: 0,
    description: 'The number of attempts since the last request for delivery.',
  }),
  nextAttemptAt: Type.Optional({
    ...Timestamp,
    description: 'When it is tried next, at the earliest.',
  }),
  lastAttempt: Type.Optional(attempt),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * One delivery of one event to one endpoint.
 *
 * @example
 * const { status, lastAttempt } = (await response.json()) as WebhookDelivery;
 */
export const WebhookDelivery = closed(delivery, 'One event on its way to one endpoint.');
/** The type of {@link WebhookDelivery}. */
export type WebhookDelivery = Static<typeof WebhookDelivery>;

/**
 * A delivery with its attempts.
 *
 * @example
 * const failed = log.filter(({ status }) => status === undefined || status >= 300);
 */
export const WebhookDeliveryDetail = closed(
  {
    ...delivery,
    body: Type.Optional(
      Type.String({ description: 'The bytes that are sent, as long as the feed keeps them.' }),
    ),
    log: Type.Array(attempt, { maxItems: 20, description: 'The last tries, the newest last.' }),
  },
  'A delivery with its tries.',
);
/** The type of {@link WebhookDeliveryDetail}. */
export type WebhookDeliveryDetail = Static<typeof WebhookDeliveryDetail>;

/**
 * The filters of the list of deliveries, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...webhookDeliveryFilters });
 */
export const webhookDeliveryFilters = {
  endpointId: Type.Optional(endpointId),
  status: Type.Optional(wordOf(deliveryStatuses)),
  eventId: Type.Optional(identifier('The event.')),
};
