// docs/reference/host-table.schema.json: the JSON Schema of a host table, with the descriptions of its page.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostTableSchema } from '../../packages/iso8583/src/index.ts';
import { repositoryRoot } from '../repository-root.ts';

type Schema = Readonly<Record<string, unknown>>;
type Properties = Readonly<Record<string, Schema>>;

const pagePath = 'docs/reference/host-tables.md';

/** A cell without the marks of Markdown. */
const plainText = (cell: string): string =>
  cell.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');

/** The second cell of each row by the code words of the first, of the table with this first header. */
function descriptionsOf(page: string, header: string): ReadonlyMap<string, string> {
  const [, rest = ''] = page.split(`\n| ${header} |`);
  const rows = /\n(?:\|.*\n)+/.exec(rest)?.[0].trim().split('\n').slice(1) ?? [];
  return new Map(
    rows.flatMap((row) => {
      const [, names = '', text = ''] = row.split('|').map((cell) => cell.trim());
      return [...names.matchAll(/`(.+?)`/g)].map(
        ([, name = '']) => [name, plainText(text)] as const,
      );
    }),
  );
}

function describe(properties: Properties, descriptions: ReadonlyMap<string, string>): Properties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const description = descriptions.get(name);
      return [name, description === undefined ? schema : { description, ...schema }];
    }),
  );
}

const propertiesOf = (schema: Schema): Properties => schema['properties'] as Properties;

/** The schema of each field of `messages`, with the descriptions of its members. */
function describeFields(fields: Schema, descriptions: ReadonlyMap<string, string>): Schema {
  const [[pattern, { anyOf }] = ['', { anyOf: [] }]] = Object.entries(
    fields['patternProperties'] as Properties,
  );
  const [line = {}, nothing = {}] = anyOf as readonly Schema[];
  const described = { ...line, properties: describe(propertiesOf(line), descriptions) };
  return { ...fields, patternProperties: { [pattern]: { anyOf: [described, nothing] } } };
}

export function hostTableSchemaDocument(): string {
  const page = readFileSync(join(repositoryRoot, pagePath), 'utf8');
  const schema = hostTableSchema();
  const { messages = {} } = propertiesOf(schema);
  const { fields = {}, ...ofMessages } = propertiesOf(messages);
  const describedMessages = describe(
    { ...ofMessages, fields: describeFields(fields, descriptionsOf(page, 'Member of a field')) },
    descriptionsOf(page, 'Member of `messages`'),
  );
  const properties = describe(
    { ...propertiesOf(schema), messages: { ...messages, properties: describedMessages } },
    descriptionsOf(page, 'Member'),
  );
  return `${JSON.stringify({ ...schema, properties }, undefined, 2)}\n`;
}
