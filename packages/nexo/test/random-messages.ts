/** Arbitrary messages, made of the table: what the tests feed to both ends. */
import fc from 'fast-check';
import type { AnyMessage } from '../src/messages/message.ts';
import { categoryRules, messageKinds } from '../src/table/categories.ts';
import { type FieldTypeName, fieldTypes } from '../src/table/field-types.ts';
import { type StructureName, structures } from '../src/table/structures.ts';
import { closedSets, openSets } from '../src/table/value-sets.ts';

const sets: Readonly<Record<string, readonly string[]>> = { ...closedSets, ...openSets };
const minorUnits = fc.integer({ min: 0, max: 99_999_999 });
const decimal = minorUnits.map((minor) => Number(`${Math.trunc(minor / 100)}.${minor % 100}`));

const leafValues: Readonly<Record<FieldTypeName, fc.Arbitrary<unknown>>> = {
  Text: fc.string({ maxLength: 12, unit: 'grapheme' }),
  PairId: fc.stringMatching(/^[A-Z0-9]{1,10}$/),
  SystemId: fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/),
  Version: fc.constantFrom('3.0', '3.1', '3.1-dmg'),
  Currency: fc.constantFrom('EUR', 'JPY', 'KWD'),
  Language: fc.constantFrom('en', 'de', 'fr-BE'),
  DateTime: fc.constantFrom('2026-03-01T10:00:00.000Z', '2026-03-01T10:00:00+10:30'),
  Date: fc.constantFrom('2026-03-01', '2026-03-01T10:00:00Z'),
  Bytes: fc.constantFrom('', 'AQID', '/+8='),
  Amount: decimal,
  Balance: decimal.map((amount) => -amount),
  Rate: decimal,
  Count: fc.nat({ max: 1000 }),
  Flag: fc.boolean(),
  Opaque: fc.constantFrom<unknown>('a=1&b=2', { anything: [1, null, { deep: true }] }),
};

const made = new Map<string, fc.Arbitrary<unknown>>();

/** Any value of a name of the table; the deeper, the fewer of the members that may be absent. */
export function anyOf(name: string, depth = 0): fc.Arbitrary<unknown> {
  if (name in fieldTypes) return leafValues[name as FieldTypeName];
  const values = sets[name];
  if (values !== undefined) return fc.constantFrom(...values);
  const key = `${name} ${depth}`;
  const known = made.get(key);
  if (known !== undefined) return known;
  const arbitrary = anyStructure(name as StructureName, depth);
  made.set(key, arbitrary);
  return arbitrary;
}

function anyStructure(name: StructureName, depth: number): fc.Arbitrary<unknown> {
  const row: Readonly<Record<string, string>> = structures[name];
  const members: Record<string, fc.Arbitrary<unknown>> = {};
  const requiredKeys: string[] = [];
  for (const [member, written] of Object.entries(row)) {
    const of = written.replace(/[?*+]$/, '');
    const needed = !/[?*]$/.test(written);
    if (!needed && depth > 2 && (of in structures || depth > 4)) continue;
    const value = anyOf(of, depth + 1);
    if (written.endsWith('*')) members[member] = fc.array(value, { maxLength: 2 });
    else if (written.endsWith('+'))
      members[member] = fc.array(value, { minLength: 1, maxLength: 2 });
    else members[member] = value;
    if (needed) requiredKeys.push(member);
  }
  return fc.record(members, { requiredKeys, noNullPrototype: true });
}

/** Any message of one kind, as it is on the wire; rules between members are not looked at. */
export function anyMessageOf({
  category,
  type,
  body,
}: (typeof messageKinds)[number]): fc.Arbitrary<AnyMessage> {
  const header = fc.record(
    {
      ProtocolVersion: fc.constant('3.0'),
      MessageClass: fc.constant(categoryRules(category).class),
      MessageCategory: fc.constant(category),
      MessageType: fc.constant(type),
      ServiceID: leafValues.PairId as fc.Arbitrary<string>,
      SaleID: leafValues.SystemId as fc.Arbitrary<string>,
      POIID: leafValues.SystemId as fc.Arbitrary<string>,
    },
    { noNullPrototype: true },
  );
  return fc.record(
    { header, body: anyOf(body) as fc.Arbitrary<Record<string, unknown>> },
    { noNullPrototype: true },
  );
}

/** Any message of any kind. */
export const anyMessage: fc.Arbitrary<AnyMessage> = fc.oneof(...messageKinds.map(anyMessageOf));

/** The wire form of a message. */
export function wireOf({ header, body }: AnyMessage): Record<string, unknown> {
  const member = messageKinds.find(
    ({ category, type }) => category === header.MessageCategory && type === header.MessageType,
  )?.body;
  const envelope = header.MessageType === 'Response' ? 'SaleToPOIResponse' : 'SaleToPOIRequest';
  return { [envelope]: { MessageHeader: header, [String(member)]: body } };
}
