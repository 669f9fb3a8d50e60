// The published schema of host tables: it accepts the tables of the page, and refuses what the reader refuses.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HostTableError, readHostTable } from '@switchyard/iso8583';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { repositoryRoot } from '../repository-root.ts';
import { hostTableSchemaDocument } from './host-table-schema.ts';

type Schema = Readonly<Record<string, unknown>>;

const schema = JSON.parse(hostTableSchemaDocument()) as Schema;
const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
const page = readFileSync(join(repositoryRoot, 'docs/reference/host-tables.md'), 'utf8');

test('the schema accepts each table of the page', () => {
  const tables = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) =>
    JSON.parse(text),
  );
  assert.ok(tables.length > 0);
  for (const table of tables) assert.ok(validate(table), JSON.stringify(validate.errors));
});

test('the schema and the reader refuse the same names and values', () => {
  const base = { name: 'x', base: 'iso1987-ascii' };
  const field = (members: object) => ({ ...base, messages: { fields: { '60': members } } });
  const wrong = [
    { name: 'x' },
    { ...base, other: 1 },
    { ...base, name: 'Nord Bank' },
    { ...base, base: 'iso2021' },
    { ...base, framing: { length: 'binary9' } },
    { ...base, messages: { bitmap: 'none' } },
    field({ content: 'q' }),
    field({ size: 'LLLLLLL' }),
    field({ max: -1 }),
    field({ lengthBytes: 5 }),
    field({ subFields: { type: 'Tag' } }),
    field({ subFields: { type: 'Tags', tagSize: 2 } }),
    field({ subFields: { type: 'BerTlv', parts: {} } }),
    { ...base, messages: { fields: { '1': null } } },
    { ...base, keyChange: { layout: 'unknown:4' } },
    { ...base, omit: [1] },
    { ...base, mac: 'none' },
  ];
  for (const table of wrong) {
    assert.equal(validate(table), false, JSON.stringify(table));
    assert.throws(() => readHostTable(table), HostTableError);
  }
});

/** Schemas that state nothing: a member whose shape does not describe itself. */
function emptySchemas(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Object.keys(value);
  const isEmpty = keys.every((key) => key === 'description');
  if (isEmpty && /\/(?:properties|patternProperties)\/[^/]+$|\/items$/.test(path)) return [path];
  return Object.entries(value).flatMap(([key, inner]) => emptySchemas(inner, `${path}/${key}`));
}

test('each member of the schema states its values, and the main ones have a description', () => {
  assert.deepEqual(emptySchemas(schema, ''), []);
  const properties = schema['properties'] as Record<string, Schema>;
  const { $schema: _schema, ...members } = properties;
  for (const [name, member] of Object.entries(members))
    assert.ok(String(member['description'] ?? '').length > 3, `${name} has no description`);
  assert.match(JSON.stringify(schema), /half bytes on the wire/);
});
