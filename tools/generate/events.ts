// docs/reference/events.md: what can happen, what its events are called, and what they say.
import {
  type EventDefinition,
  eventDefinitions,
  publicSchema,
  transactionEventTypes,
  transactionMeanings,
} from '@switchyard/contract';
import { code, table } from './markdown.ts';

type Schema = {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
};

const opening = `# Events

Events are sent to [endpoints](../how-to/merchant-developers/receive-webhooks.md) and read from
[the feed](../how-to/merchant-developers/receive-webhooks.md#read-the-feed).
[Events and live streams](../explanation/events.md) explains them. Each has the same body on every way:

\`\`\`json
{ "type": "transaction.captured", "timestamp": "2026-03-01T12:30:00.000Z", "data": { "…": "…" } }
\`\`\`

Members may be added to \`data\` in time; readers ignore what they do not know. Where \`data\` would be
larger than 20 kB it holds \`organizationId\`, \`merchantId\`, \`subjectId\`, \`sequence\` and
\`"abridged": true\` alone. The same as AsyncAPI 3: [asyncapi.json](asyncapi.json); each type with its
JSON Schema: \`GET /events/v1/types\`.`;

const titles: Record<string, string> = {
  transaction: 'Card payments',
  qr: 'QR payments',
  batch: 'Captures of many',
  endpoint: 'Endpoints',
  clearing: 'Clearing files',
  organization: 'The estate, its people and its services',
};

/** Whose example stands for its family. */
const exampleTypes: ReadonlySet<string> = new Set([
  'transaction.captured',
  'qr.completed',
  'merchant.updated',
]);

/** Groups the types whose data is the same. */
function groupsOf(): EventDefinition[][] {
  const groups = new Map<unknown, EventDefinition[]>();
  for (const definition of eventDefinitions.values()) {
    const group = groups.get(definition.data);
    if (group === undefined) groups.set(definition.data, [definition]);
    else group.push(definition);
  }
  return [...groups.values()];
}

function kindOf({ type, format, items, properties, ...schema }: Schema): string {
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined && schema.enum.length <= 6) {
    return schema.enum.map((word) => code(String(word))).join(', ');
  }
  if (type === 'array') return `list of ${items === undefined ? 'values' : kindOf(items)}`;
  if (properties !== undefined) return `{ ${Object.keys(properties).join(', ')} }`;
  if (type === 'integer') return 'integer';
  return format ?? 'text';
}

function membersTable(schema: Schema): string {
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]) => [
    code(name),
    kindOf(member),
    required.has(name) ? 'always' : 'where known',
    member.description ?? '',
  ]);
  return table(['Member of `data`', 'Kind', 'There', 'Meaning'], rows);
}

function section(group: EventDefinition[]): string {
  const [first] = group;
  if (first === undefined) return '';
  const types = group.map(({ type, description }) => [code(type), description]);
  const { type, example: data } = group.find((one) => exampleTypes.has(one.type)) ?? first;
  const example = JSON.stringify({ type, data }, null, 2);
  return [
    `## ${titleOf(first)}`,
    table(['Type', 'What happened'], types),
    membersTable(publicSchema(first.data) as Schema),
    `\`\`\`json\n${example}\n\`\`\``,
  ].join('\n\n');
}

/** A family of which each type says something else has a heading for each type. */
function titleOf({ type }: EventDefinition): string {
  const family = type.split('.')[0] ?? '';
  const sizes = groupsOf().filter(([first]) => first?.type.startsWith(`${family}.`)).length;
  return sizes === 1 ? (titles[family] ?? code(type)) : code(type);
}

const history = `## The list of a transaction

\`GET /payment/v1/transactions/{transactionId}\` lists the events of a transaction in order:
\`sequence\` counts from 1 without a gap, \`at\` is the time in UTC, \`data\` holds the facts, never card
data. Replaying the events gives the state that is stored. Besides what is published it holds:`;

export function eventsDocument(): string {
  const inner = transactionEventTypes
    .filter((type) => !eventDefinitions.has(type))
    .map((type) => [code(type), transactionMeanings[type]]);
  const parts = [
    opening,
    ...groupsOf().map(section),
    history,
    table(['Type', 'What happened'], inner),
  ];
  return `${parts.join('\n\n')}\n`;
}
