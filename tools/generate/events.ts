// docs/reference/events.md: what can happen to a transaction, and what its events are called.
import { transactionEventTypes, transactionMeanings } from '@switchyard/contract';
import { code, table } from './markdown.ts';

const opening = `# Events

\`GET /payment/v1/transactions/{transactionId}\` lists the events of a transaction in order:
\`sequence\` counts from 1 without a gap, \`at\` is the time in UTC, \`data\` holds the facts, never card
data. Replaying the events gives the state that is stored.

`;

export function eventsDocument(): string {
  const rows = transactionEventTypes.map((type) => [code(type), transactionMeanings[type]]);
  return `${opening}${table(['Type', 'What happened'], rows)}\n`;
}
