/** The common members of provisioned entities, and helpers that build their schemas. */
import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { findable, Labels, Timestamp } from './value-schemas.ts';

const provisioningStatuses = ['Enabled', 'Disabled'] as const;

/**
 * The schema of an identifier.
 *
 * @param description - one sentence for the reference
 * @returns a schema of a UUID (RFC 9562)
 * @example
 * identifier('The merchant.');
 */
export const identifier = (description: string) => Type.String({ format: 'uuid', description });

/**
 * The schema of a short text with at least one character that is not a space.
 *
 * @param maxLength - the most characters
 * @param description - one sentence for the reference
 * @returns a schema
 * @example
 * shortText(60, 'City.');
 */
export const shortText = (maxLength: number, description: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: '^[^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$',
    description,
  });

/**
 * The schema of a closed object.
 *
 * @param properties - its members
 * @param description - one sentence for the reference
 * @returns a schema that refuses every other member
 * @example
 * closed({ city: shortText(60, 'City.') }, 'An address.');
 */
export const closed = <const Properties extends TProperties>(
  properties: Properties,
  description: string,
): TObject<Properties> => Type.Object(properties, { additionalProperties: false, description });

/**
 * The common members of a body that creates a provisioned entity.
 *
 * @example
 * closed({ ...commonInput, mcc }, 'A merchant.');
 */
export const commonInput = {
  name: shortText(100, 'The name that people know it by.'),
  externalId: Type.Optional(shortText(64, 'The identifier in the system of the organisation.')),
  status: Type.Optional(
    Type.Enum([...provisioningStatuses], {
      default: 'Enabled',
      description: 'A disabled entity accepts no sales, and neither do the entities below it.',
    }),
  ),
  labels: Type.Optional(Labels),
};

/**
 * The common members of every response about a provisioned entity.
 *
 * @example
 * closed({ ...commonInput, ...commonAnswer }, 'A merchant.');
 */
export const commonAnswer = {
  status: Type.Enum([...provisioningStatuses]),
  labels: Labels,
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

/**
 * The schema of a PUT. Its read-only members may contain the values that the client read. The
 * server refuses a changed one with `field_read_only`. The type omits them, because no operation
 * reads them.
 *
 * @param input - the writable members
 * @param readOnly - the other members of the response, except `organizationId` and the times
 * @param description - one sentence for the reference
 * @returns a schema that refuses every other member
 * @example
 * replacement(merchantInput, { merchantId }, 'A merchant as it is replaced.');
 */
export const replacement = <const Input extends TProperties>(
  input: Input,
  readOnly: Readonly<Record<string, TSchema>>,
  description: string,
): TObject<Input> => {
  const echoed: Record<string, TSchema> = {
    ...readOnly,
    organizationId: identifier('The organisation.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  };
  const optional = Object.entries(echoed).map(([name, schema]) => [name, Type.Optional(schema)]);
  const all: TProperties = { ...Object.fromEntries(optional), ...input };
  return Type.Object(all, {
    additionalProperties: false,
    description,
  }) as unknown as TObject<Input>;
};

/**
 * The filters of every list of provisioned entities, in addition to `limit` and `cursor`.
 *
 * @example
 * Type.Object({ ...commonFilters, merchantId: Type.Optional(Uuid) });
 */
export const commonFilters = {
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: findable,
      description: 'A prefix of the name, without regard to letter case.',
    }),
  ),
  externalId: Type.Optional(Type.String({ minLength: 1, maxLength: 64, pattern: findable })),
  status: Type.Optional(Type.Enum([...provisioningStatuses])),
};
