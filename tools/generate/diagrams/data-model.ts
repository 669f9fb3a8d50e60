// The block of docs/explanation/data-model.md: keys and relations of the main tables, from the schema.

/** The tables of a sale, from the organisation to the event. */
const mainTables = [
  'organizations',
  'merchants',
  'stores',
  'logical_devices',
  'physical_devices',
  'points_of_sale',
  'acquirer_links',
  'acquirer_contracts',
  'acquirer_terminals',
  'transactions',
  'transaction_events',
  'operations',
] as const;

const tenant = 'organization_id';
/** The columns that come before the identifier in a key. */
const firstColumns: ReadonlySet<string> = new Set([tenant, 'bucket']);

type Table = {
  readonly name: string;
  readonly types: ReadonlyMap<string, string>;
  readonly key: readonly string[];
  readonly foreignKeys: ReadonlySet<string>;
};

const namesIn = (list: string): string[] => list.split(',').map((name) => name.trim());

function readTable(schema: string, name: string): Table {
  const [, body] = new RegExp(`^CREATE TABLE ${name} \\(\\n(.*?)^\\)`, 'ms').exec(schema) ?? [];
  if (body === undefined) throw new Error(`The schema has no table ${name}.`);
  const columns = [...body.matchAll(/^ {2}([a-z_]+) ([a-z]+)(.*)$/gm)];
  const [, list] = /PRIMARY KEY \(([^)]+)\)/.exec(body) ?? [];
  const ownKey = columns.filter(([, , , rest]) => rest?.includes('PRIMARY KEY'));
  return {
    name,
    types: new Map(columns.map(([, column = '', type = '']) => [column, type])),
    key: list === undefined ? ownKey.map(([, column = '']) => column) : namesIn(list),
    foreignKeys: new Set(
      [...body.matchAll(/FOREIGN KEY \(([^)]+)\)/g)].flatMap(([, keys = '']) => namesIn(keys)),
    ),
  };
}

/** The column by which other tables name a row. */
function identifierOf({ name, key }: Table): string | undefined {
  if (name === 'organizations') return tenant;
  const columns = key.filter((column) => !firstColumns.has(column));
  return columns.length === 1 ? columns[0] : undefined;
}

/**
 * A full line is a foreign key; a dotted line is an identifier without one. A column that a nearer parent also has
 * gets no line, such as the merchant of a device, which is the merchant of its store.
 */
function relationsOf(table: Table, tables: readonly Table[]): string[] {
  const parents = tables.flatMap((parent) => {
    const identifier = identifierOf(parent);
    const isColumn = parent !== table && identifier !== undefined && table.types.has(identifier);
    return isColumn ? [{ parent, identifier }] : [];
  });
  return parents
    .filter(
      ({ parent, identifier }) =>
        !parents.some((nearer) => nearer.parent !== parent && nearer.parent.types.has(identifier)),
    )
    .map(({ parent, identifier }) => {
      const line = table.foreignKeys.has(identifier) ? '--' : '..';
      return `  ${parent.name} ||${line}o{ ${table.name} : has`;
    });
}

function entityOf({ name, types, key, foreignKeys }: Table): string {
  const lines = [...types]
    .filter(([column]) => key.includes(column) || foreignKeys.has(column))
    .filter(([column]) => !firstColumns.has(column) || key.length === 1)
    .map(([column, type]) => `    ${type} ${column} ${key.includes(column) ? 'PK' : 'FK'}`);
  return `  ${name} {\n${lines.join('\n')}\n  }`;
}

export function dataModelDiagram(schema: string): string {
  const tables = mainTables.map((name) => readTable(schema, name));
  return [
    '```mermaid\nerDiagram',
    ...tables.flatMap((table) => relationsOf(table, tables)),
    ...tables.map(entityOf),
    '```',
  ].join('\n');
}
