/** The service catalogue: the declarations of service providers, and their view for acquirers. */
import { type Static, Type } from 'typebox';
import {
  closed,
  identifier,
  replacement,
  shortText,
} from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const serviceId = identifier('The service.');

/** A machine-readable word of letters, digits, dots, hyphens and underscores. */
const word = (description: string, example: string) =>
  Type.String({ pattern: '^[A-Za-z][A-Za-z0-9._-]{0,63}$', description, examples: [example] });

const words = (item: ReturnType<typeof word>, description: string) =>
  Type.Array(item, { maxItems: 50, uniqueItems: true, default: [], description });

const methods = words(
  word('A way of using the service.', 'merchantscan'),
  'The ways of using the service, such as the scenarios of a QR payment.',
);

const paymentTypes = words(
  word('A payment type.', 'demopay'),
  'The codes by which a QR payment selects the service. If several services that are active at a device have the code, the one that was declared first takes the payment.',
);

const events = Type.Array(
  Type.String({
    pattern: '^[a-z][a-z0-9_]{0,31}(?:\\.[a-z][a-z0-9_]{0,31}){1,3}$',
    maxLength: 128,
    description: 'A type of event: words that dots join.',
    examples: ['payment.completed'],
  }),
  {
    maxItems: 50,
    uniqueItems: true,
    default: [],
    description: 'The events that the provider reports to the platform.',
  },
);

const spiUrl = Type.String({
  minLength: 8,
  maxLength: 2000,
  pattern: '^https?://[^\\s\\u0000-\\u001f\\u007f]+$',
  description:
    'The address at which the platform calls the provider: https and a public address. Without it, activations need no response. Only the provider sees it.',
  examples: ['https://provider.example/spi'],
});

/**
 * A JSON Schema of parameters, limited to the keywords that the how-to for providers lists.
 *
 * @example
 * const schema = { type: 'object', properties: { account: { type: 'string', maxLength: 32 } } };
 */
const parameterSchema = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), {
    maxProperties: 20,
    description,
    examples: [
      {
        type: 'object',
        properties: { account: { type: 'string', minLength: 1, maxLength: 32 } },
        required: ['account'],
        additionalProperties: false,
      },
    ],
  });

const logo = closed(
  {
    mediaType: wordOf(['image/png', 'image/jpeg', 'image/webp']),
    data: Type.String({
      pattern: '^[A-Za-z0-9+/]+={0,2}$',
      minLength: 4,
      maxLength: 65_536,
      description: 'The image in base64.',
      examples: ['iVBORw0KGgo='],
    }),
  },
  'A picture of the service; lists leave it out.',
);

const declaration = {
  name: shortText(100, 'The name that the catalogue shows.'),
  description: Type.Optional(shortText(500, 'The description of the service.')),
  domain: Type.String({
    pattern: '^[A-Za-z][A-Za-z0-9 ._-]{0,63}$',
    description: 'The domain that the service belongs to.',
    examples: ['Retail API'],
  }),
  methods: Type.Optional(methods),
  paymentTypes: Type.Optional(paymentTypes),
  spiUrl: Type.Optional(spiUrl),
  events: Type.Optional(events),
  activationParameters: Type.Optional(
    parameterSchema(
      'The parameters that an administrator enters for an activation; default: none.',
    ),
  ),
  parameterSchema: Type.Optional(
    parameterSchema('The configuration options at each level while the service is active.'),
  ),
  defaults: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      maxProperties: 1000,
      description:
        'The values that hold where no level sets others, after `parameterSchema`; lists leave them out.',
      examples: [{ receipt: { footer: 'Thank you' } }],
    }),
  ),
  logo: Type.Optional(logo),
};

/**
 * The body that declares a service.
 *
 * @example
 * const body: ServiceInput = { name: 'QR', domain: 'Payments', paymentTypes: ['demopay'] };
 */
export const ServiceInput = closed(declaration, 'A service as a provider declares it.');
export type ServiceInput = Static<typeof ServiceInput>;

const serviceStatus = wordOf(['Draft', 'Published', 'Retired'], {
  description:
    '`Draft`: only the provider sees it. `Retired`: no new activations; existing ones stay active.',
});

const release = Type.Integer({
  minimum: 0,
  description: 'Counts the publications; 0 was never published.',
});

const unpublishedChanges = Type.Boolean({
  description: 'Whether publishing would change what others see; for the provider alone.',
});

const providerName = shortText(100, 'The name of the provider.');

/**
 * The body that replaces a service; missing members take their defaults.
 *
 * @example
 * const body = { ...service, methods: ['consumerscan'] };
 */
export const ServiceReplacement = replacement(
  declaration,
  { serviceId, status: serviceStatus, release, unpublishedChanges, providerName },
  'A service as it is replaced; others see the change once it is published.',
);

const facts = {
  serviceId,
  organizationId: identifier('The organisation of the provider.'),
  providerName: Type.Optional(providerName),
  ...declaration,
  methods,
  paymentTypes,
  events,
  status: serviceStatus,
  release,
  unpublishedChanges: Type.Optional(unpublishedChanges),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * A service of the catalogue.
 *
 * @example
 * const service = (await response.json()) as Service;
 */
export const Service = closed(facts, 'A service of the catalogue.');
export type Service = Static<typeof Service>;

const signingSecret = Type.String({
  description: 'Signs the calls to the provider (Standard Webhooks, `v1`); shown this once.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
});

const verificationKey = Type.String({
  description:
    'For providers that keep no secret: the public key that the same calls are signed with (Ed25519, `v1a`).',
  examples: ['whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='],
});

/**
 * A newly declared service.
 *
 * @example
 * const { serviceId, signingSecret } = (await response.json()) as ServiceWithSecret;
 */
export const ServiceWithSecret = closed(
  { ...facts, signingSecret, verificationKey },
  'A service that was declared a moment ago.',
);
export type ServiceWithSecret = Static<typeof ServiceWithSecret>;

/**
 * A new signing secret. For 24 hours, calls also have a signature with the previous secret.
 *
 * @example
 * const { signingSecret } = (await response.json()) as RenewedSigningSecret;
 */
export const RenewedSigningSecret = closed(
  { serviceId, signingSecret, verificationKey },
  'A new signing secret of a service.',
);

/**
 * The content of the catalogue between two publications.
 *
 * @example
 * const { items } = (await response.json()) as { items: ServiceRelease[] };
 */
export const ServiceRelease = closed(
  { ...declaration, serviceId, release, publishedAt: Timestamp },
  'A release of a service.',
);
export type ServiceRelease = Static<typeof ServiceRelease>;

/**
 * The filters of the list of services, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...pageQuery, ...serviceFilters });
 */
export const serviceFilters = {
  domain: Type.Optional(declaration.domain),
  status: Type.Optional(wordOf(['Draft', 'Published', 'Retired'])),
  providerId: Type.Optional(identifier('The organisation of the provider.')),
};
