/** The JSON Schema of an estate file, made of the schemas of the contract. */
import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { type Kind, kinds, kindsWithin, organizationMembers } from './resource-kinds.ts';

export const estateFormat = 'switchyard-estate/1';

const listMax = 1_000_000;
const organizationsMax = 10_000;
const closed = { additionalProperties: false };

const id = Type.Optional(
  Type.String({
    format: 'uuid',
    description: 'The identifier at the server, where no external id tells which one it is.',
  }),
);

/** A thing with the lists of what stands below it. */
function thingSchema(kind: Kind): TObject {
  const lists = kindsWithin(kind.name).map((each) => [each.list, listOf(each)]);
  const identity: TProperties = kind.hasId ? { id } : {};
  return Type.Object({ ...identity, ...kind.members, ...Object.fromEntries(lists) }, closed);
}

const listOf = (kind: Kind): TSchema =>
  Type.Optional(Type.Array(thingSchema(kind), { maxItems: listMax }));

const organization = Type.Object(
  { id, ...organizationMembers },
  { ...closed, description: 'The organisation itself.' },
);

const below = 'organization';
const organizations = Type.Optional(
  Type.Array(Type.Unsafe({ $ref: `#/$defs/${below}` }), {
    maxItems: organizationsMax,
    description: 'The organisations below, each with an estate of its own.',
  }),
);

const only = Type.Optional(
  Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    uniqueItems: true,
    description: 'The file speaks of these merchants alone, by their keys.',
  }),
);

function listProperties(): TProperties {
  const top = kinds.filter(({ within }) => within.includes('organization'));
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
      description: 'An organisation with all that is its own, as one file.',
      // Organisations below are estates as well, and have others below them.
      $defs: { [below]: Type.Object({ organization, ...lists, organizations }, closed) },
    },
  );
}
