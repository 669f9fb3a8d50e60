// The blocks of docs/reference/dialects.md: the built-in hosts, and the formats of their fields.
import { actionCodes } from '../../packages/contract/src/index.ts';
import {
  builtInHosts,
  type FieldFormat,
  findHostTable,
  type HostTable,
  hostTableNames,
} from '../../packages/iso8583/src/index.ts';
import { code, table } from './markdown.ts';

const hosts: readonly HostTable[] = Object.values(builtInHosts);
const years = { '0': '1987', '1': '1993', '2': '2003' } as const;
const encodings: Readonly<Record<string, string>> = {
  ascii: 'ASCII',
  bcd: 'BCD',
  binary: 'bytes',
  raw: 'bytes',
  hex: 'hexadecimal text',
  binary2: 'two bytes, binary',
  ascii4: 'four ASCII digits',
  Reversed: 'the reversed amount',
  Remaining: 'the remaining amount',
};
const encoding = (name: string) => encodings[name] ?? name;
const pairs = (codes: Readonly<Record<string, string>> = {}) =>
  Object.entries(codes)
    .map(([from, to]) => `${from} → ${to}`)
    .toSorted()
    .join(', ');

/** The tables of the platform, and the hosts that each is for. */
export function hostTablesTable(): string {
  return table(
    ['Table', 'Hosts'],
    hostTableNames.map((name) => [code(name), findHostTable(name)?.description ?? '']),
  );
}

/** One row for each property, one column for each host. */
export function builtInHostsTable(): string {
  const rows: readonly (readonly [string, (host: HostTable) => string])[] = [
    ['Version of ISO 8583', ({ version }) => years[version]],
    ['Length before a message', ({ framing }) => encoding(framing.length)],
    ['TPDU', ({ framing }) => framing.tpdu ?? 'none'],
    ['Message type', ({ messages }) => encoding(messages.mti)],
    ['Bitmap', ({ messages }) => encoding(messages.bitmap)],
    ['Digits', ({ messages }) => encoding(messages.numerics)],
    ['Lengths of variable fields', ({ messages }) => encoding(messages.lengths)],
    ['Binary fields', ({ messages }) => encoding(messages.binaries)],
    ['DE 2 beside DE 35', ({ pan }) => (pan === 'Always' ? 'yes' : 'no')],
    [
      'Local time',
      ({ localTime }) => (localTime === 'DateTime' ? 'DE 12' : 'time in DE 12, date in DE 13'),
    ],
    ['DE 22 by entry mode', ({ entryModes }) => pairs(entryModes) || 'unchanged'],
    ['DE 24 by message type', ({ functionCodes }) => pairs(functionCodes) || 'none'],
    ['DE 25 by condition', ({ conditions }) => pairs(conditions) || 'unchanged'],
    [
      'Reason of a reversal',
      ({ reversalReasons: reasons }) =>
        reasons === undefined ? 'not sent' : `DE ${reasons.field}`,
    ],
    [
      'Original message',
      ({ originalData }) =>
        originalData === undefined
          ? 'not sent'
          : `DE ${originalData.field}: ${code(originalData.layout)}`,
    ],
    [
      'Partial reversal',
      ({ replacement }) =>
        `DE ${replacement.field}: ${code(replacement.layout)}; DE 4 has ${encoding(replacement.amountIs)}`,
    ],
    ['Field of network messages', ({ network }) => `DE ${network.field}`],
    ...(['signOn', 'signOff', 'echo', 'keyChange', 'keyRequest'] as const).map(
      (name) => [code(name), ({ network }: HostTable) => network.codes[name]] as const,
    ),
    ['New key', ({ keyChange }) => `DE ${keyChange.field}: ${code(keyChange.layout)}`],
    ['DE 53 beside a PIN', ({ securityControl }) => code(securityControl ?? 'none')],
    ['Message authentication code', ({ mac }) => mac?.algorithm ?? 'none'],
  ];
  return table(
    ['Property', ...hosts.map(({ name }) => code(name))],
    rows.map(([title, cellOf]) => [title, ...hosts.map(cellOf)]),
  );
}

function formatOf({ content, size, max, encoding: valueEncoding }: FieldFormat): string {
  const length = size === 'fixed' ? `${max}` : `..${max} ${size}VAR`;
  return `${content} ${length}${valueEncoding === undefined ? '' : `, ${encoding(valueEncoding)}`}`;
}

/** Fields that follow each other and are equal are one row. Both hosts of 1987 have the same formats. */
export function fieldFormatsTable(): string {
  const versions = [builtInHosts['iso1987-binary'], builtInHosts['iso1993-ascii']] as const;
  const tables: readonly HostTable['messages']['fields'][] = versions.map(
    ({ messages }) => messages.fields,
  );
  const rows: { from: number; to: number; cells: string[] }[] = [];
  const numbers = new Set(tables.flatMap((fields) => Object.keys(fields).map(Number)));
  for (const field of [...numbers].toSorted((a, b) => a - b)) {
    const formats = tables.map((fields) => fields[field]);
    const names = new Set(formats.flatMap((format) => format?.name ?? []));
    const cells = [
      [...names].join('; '),
      ...formats.map((format) => (format ? formatOf(format) : '–')),
    ];
    const last = rows.at(-1);
    if (last?.to === field - 1 && last.cells.join() === cells.join()) last.to = field;
    else rows.push({ from: field, to: field, cells });
  }
  return table(
    ['DE', 'Name in 1987; in 1993', '1987', '1993'],
    rows.map(({ from, to, cells }) => [from === to ? `${from}` : `${from} to ${to}`, ...cells]),
  );
}

/** The action codes of 1993 by the response code of 1987 that they mean. */
export function actionCodesTable(): string {
  const byResponseCode = Map.groupBy(Object.entries(actionCodes), ([, response]) => response);
  return table(
    ['Response code', 'Action codes'],
    [...byResponseCode]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([response, entries]) => [
        response,
        entries
          .map(([action]) => action)
          .toSorted()
          .join(', '),
      ]),
  );
}
