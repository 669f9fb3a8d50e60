/** Configuration of services: the values of each level, the inherited values and the versions. */
import { type Static, Type } from 'typebox';
import { actorKind } from '../platform/audit.ts';
import { closed, identifier, shortText } from '../values-and-problems/resource-schemas.ts';
import { Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

const levels = ['Service', 'Organization', 'Merchant', 'Store', 'LogicalDevice'] as const;

const level = wordOf(levels, {
  description: 'The level, from the top; `Service` means the defaults of the provider.',
});

const entityId = identifier('The service, organisation, merchant, store or logical device.');

const ownLevel = wordOf(levels.slice(1), { description: 'The requested level.' });

const pointer = Type.String({
  description: 'A JSON Pointer (RFC 6901) into the values.',
  examples: ['/receipt/footer'],
});

const values = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), {
    maxProperties: 1000,
    description,
    examples: [{ receipt: { footer: 'Thank you' }, floorLimit: 2500 }],
  });

const version = Type.Integer({
  minimum: 0,
  description: 'Counts the changes of this level, and is its ETag; 0 where it never set anything.',
  examples: [3],
});

const release = Type.Integer({ minimum: 1, description: 'The release of the service.' });

const isSet = Type.Boolean({ description: 'Whether the level sets something of its own.' });

/**
 * The body that sets the values of a level.
 *
 * @example
 * const body: ConfigurationInput = { values: { floorLimit: 2500 } };
 */
export const ConfigurationInput = closed(
  { values: values('All that the level sets, after the parameter schema of the service.') },
  'The values of a level; absent values are inherited.',
);
export type ConfigurationInput = Static<typeof ConfigurationInput>;

const source = closed({ pointer, level, entityId }, 'A value, and the level that it comes from.');

const misfit = closed(
  {
    pointer,
    code: Type.String({ description: 'An error code.', examples: ['field_invalid'] }),
    detail: Type.String({ description: 'Why.', examples: ['is not a known field'] }),
    level: Type.Optional(level),
    entityId: Type.Optional(entityId),
  },
  'A stored value that does not fit the release in force.',
);

const secrets = Type.Array(pointer, {
  description: 'The secrets that the level sets; their values are never shown.',
});

/**
 * The configuration of a service at one level.
 *
 * @example
 * const { effective } = (await response.json()) as ServiceConfiguration;
 */
export const ServiceConfiguration = closed(
  {
    serviceId: identifier('The service.'),
    name: shortText(100, 'The name of the service.'),
    release,
    level: ownLevel,
    entityId,
    version,
    isSet,
    values: values('The values that this level sets.'),
    secrets,
    effective: closed(
      {
        values: values('The effective values: the values of all levels from the top, merged.'),
        sources: Type.Array(source, { description: 'Where each of the values comes from.' }),
        secrets: Type.Array(source, { description: 'Which secrets are set, and where.' }),
      },
      'The effective configuration of the level.',
    ),
    levels: Type.Array(closed({ level, entityId, version, isSet }, 'A level and its version.'), {
      description: 'The levels that ever set something, from the top to this one.',
    }),
    missing: Type.Array(pointer, { description: 'The required values that no level sets.' }),
    invalid: Type.Array(misfit, {
      description:
        'Stored values that are invalid for the current release; devices do not receive them.',
    }),
  },
  'The configuration of a service at one level.',
);
export type ServiceConfiguration = Static<typeof ServiceConfiguration>;

/**
 * A version of a level's values; lists omit the values.
 *
 * @example
 * const { items } = (await response.json()) as { items: ConfigurationVersion[] };
 */
export const ConfigurationVersion = closed(
  {
    version: Type.Integer({ minimum: 1, description: 'Its number.', examples: [3] }),
    release,
    isSet: Type.Boolean({ description: 'False where everything was taken away.' }),
    isCurrent: Type.Boolean({ description: 'Whether it is the one in force.' }),
    values: Type.Optional(values('The values of the level.')),
    secrets: Type.Optional(secrets),
    restoredFrom: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The older version that it brought back.' }),
    ),
    author: closed(
      {
        subject: Type.String({
          description: 'The user or application that made the version.',
          examples: ['demo-acquirer'],
        }),
        clientId: Type.String({
          description: 'By which application.',
          examples: ['demo-acquirer'],
        }),
        kind: actorKind,
        organizationId: Type.Optional(
          identifier('Whose person or application, where an organisation above made it.'),
        ),
      },
      'The author of the version.',
    ),
    createdAt: Timestamp,
  },
  'A version of what a level set.',
);
export type ConfigurationVersion = Static<typeof ConfigurationVersion>;

/**
 * A service that has a configuration at a level.
 *
 * @example
 * const { items } = (await response.json()) as { items: ConfigurableService[] };
 */
export const ConfigurableService = closed(
  {
    serviceId: identifier('The service.'),
    name: shortText(100, 'The name of the service.'),
    domain: Type.String({ description: 'The domain of the service.', examples: ['Retail API'] }),
    release,
    version,
    isSet,
    updatedAt: Type.Optional(Timestamp),
  },
  'A service that can be configured at a level.',
);
export type ConfigurableService = Static<typeof ConfigurableService>;
