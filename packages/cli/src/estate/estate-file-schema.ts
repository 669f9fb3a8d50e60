/** The JSON Schema of an estate file, built from the schemas of the contract. */
import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import {
  definitionsWithin,
  organizationMembers,
  type ResourceDefinition,
  resourceDefinitions,
} from './resource-kinds.ts';

export const estateFormat = 'switchyard-estate/1';

const listMax = 1_000_000;
const organizationsMax = 10_000;
const closed = { additionalProperties: false };

const id = Type.Optional(
  Type.String({
    format: 'uuid',
    description: 'The identifier on the server, for a resource without an external id.',
  }),
);

/** A resource with the lists of the resources below it. */
function thingSchema(kind: ResourceDefinition): TObject {
  const lists = definitionsWithin(kind.name).map((each) => [each.list, listOf(each)]);
  const identity: TProperties = kind.hasId ? { id } : {};
  return Type.Object({ ...identity, ...kind.members, ...Object.fromEntries(lists) }, closed);
}

const listOf = (kind: ResourceDefinition): TSchema =>
  Type.Optional(Type.Array(thingSchema(kind), { maxItems: listMax }));

const organization = Type.Object(
  { id, ...organizationMembers },
  { ...closed, description: 'The organisation itself.' },
);

const subOrganizations = 'organization';
const organizations = Type.Optional(
  Type.Array(Type.Unsafe({ $ref: `#/$defs/${subOrganizations}` }), {
    maxItems: organizationsMax,
    description: 'The organisations below, each with its own estate.',
  }),
);

const only = Type.Optional(
  Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    uniqueItems: true,
    description: 'The keys of the only merchants that the file manages.',
  }),
);

function listProperties(): TProperties {
  const top = resourceDefinitions.filter(({ within }) => within.includes('organization'));
  return Object.fromEntries(top.map((kind) => [kind.list, listOf(kind)]));
}

/** @example Schema.Check(estateSchema(), document); */
export function estateSchema(): TObject {
  const lists = listProperties();
  const format = Type.Literal(estateFormat);
  return Type.Object(
    { format, only, organization: Type.Optional(organization), ...lists, organizations },
    {
      ...closed,
      title: 'A Switchyard estate',
      description: 'An organisation with all its resources, as one file.',
      // Organisations below are estates too, and can have organisations below them.
      $defs: { [subOrganizations]: Type.Object({ organization, ...lists, organizations }, closed) },
    },
  );
}
