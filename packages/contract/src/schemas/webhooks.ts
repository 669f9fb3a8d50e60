/** Schemas of webhooks: where events are sent, with which signatures, and what became of each of them. */
import { type Static, Type } from 'typebox';
import { EventTypePattern } from '../events/index.ts';
import { closed, identifier, replacement, shortText } from './provisioned.ts';
import { Timestamp, wordOf } from './values.ts';

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
  description: Type.Optional(shortText(500, 'What it is for.')),
  status: Type.Optional(
    wordOf(['Enabled', 'Disabled'], {
      default: 'Enabled',
      description: 'For a disabled endpoint nothing is planned; what was planned waits.',
    }),
  ),
};

const challenge = Type.Optional(
  Type.Boolean({
    default: false,
    description: 'Begins disabled, until the endpoint has answered a challenge with its secret.',
  }),
);

/**
 * An endpoint as it is made.
 *
 * @example
 * const body: WebhookEndpointInput = { url: 'https://shop.example/hooks', eventTypes: ['*'] };
 */
export const WebhookEndpointInput = closed(
  { ...endpointInput, challenge },
  'An endpoint as it is made.',
);
/** What the schema {@link WebhookEndpointInput} describes. */
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
      'Who manages it: the organisation, or the merchant that `merchantId` names. The organisation sees both.',
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
 * An endpoint as it is replaced: what is left out takes its default.
 *
 * @example
 * const body = { ...endpoint, status: 'Disabled' };
 */
export const WebhookEndpointReplacement = replacement(
  endpointInput,
  { endpointId, ...endpointFacts },
  'An endpoint as it is replaced.',
);
/** What the schema {@link WebhookEndpointReplacement} describes. */
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
 * Where an organisation has its events sent.
 *
 * @example
 * const { status } = (await response.json()) as WebhookEndpoint;
 */
export const WebhookEndpoint = closed(endpoint, 'Where events are sent.');
/** What the schema {@link WebhookEndpoint} describes. */
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

const secret = Type.String({
  description: 'The key of the signatures `v1`. It is shown this once.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
});

/**
 * An endpoint that was just made.
 *
 * @example
 * const { endpointId, secret } = (await response.json()) as CreatedWebhookEndpoint;
 */
export const CreatedWebhookEndpoint = closed(
  { ...endpoint, secret },
  'An endpoint that was made, with its secret.',
);
/** What the schema {@link CreatedWebhookEndpoint} describes. */
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
/** What the schema {@link WebhookSecret} describes. */
export type WebhookSecret = Static<typeof WebhookSecret>;

/**
 * What a test sends: an event of this type, marked as a test.
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
  'What a test sends.',
);
/** What the schema {@link WebhookTest} describes. */
export type WebhookTest = Static<typeof WebhookTest>;

/**
 * Which events are sent once more. Without a time: all since the last one that the endpoint took.
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
/** What the schema {@link WebhookReplay} describes. */
export type WebhookReplay = Static<typeof WebhookReplay>;

/**
 * A replay that was begun, in positions of the feed.
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
/** What the schema {@link BegunWebhookReplay} describes. */
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
  attempts: Type.Integer({ minimum: 0, description: 'Tries since it was asked for last.' }),
  nextAttemptAt: Type.Optional({
    ...Timestamp,
    description: 'When it is tried next, at the earliest.',
  }),
  lastAttempt: Type.Optional(attempt),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * One event on its way to one endpoint.
 *
 * @example
 * const { status, lastAttempt } = (await response.json()) as WebhookDelivery;
 */
export const WebhookDelivery = closed(delivery, 'One event on its way to one endpoint.');
/** What the schema {@link WebhookDelivery} describes. */
export type WebhookDelivery = Static<typeof WebhookDelivery>;

/**
 * A delivery with its tries.
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
/** What the schema {@link WebhookDeliveryDetail} describes. */
export type WebhookDeliveryDetail = Static<typeof WebhookDeliveryDetail>;

/**
 * What the list of deliveries can be narrowed by, beside `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...webhookDeliveryFilters });
 */
export const webhookDeliveryFilters = {
  endpointId: Type.Optional(endpointId),
  status: Type.Optional(wordOf(deliveryStatuses)),
  eventId: Type.Optional(identifier('The event.')),
};
