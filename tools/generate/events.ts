// docs/reference/events.md: what can happen to a transaction, and what its events are called.
import { type TransactionEventType, transactionEventTypes } from '@switchyard/contract';
import { code, table } from './markdown.ts';

/** Exhaustive: a new type of event does not compile without its sentence. */
const meanings: Record<TransactionEventType, string> = {
  'transaction.received': 'The intent to charge the card is durable; nothing was sent yet.',
  'transaction.stored': 'An offline sale was taken in and waits for the acquirer.',
  'transaction.sent':
    'The offline sale may have left for the acquirer; it is repeated until answered.',
  'transaction.rerouted':
    'Nothing of the sale was sent; it goes to the next acquirer of the merchant.',
  'transaction.authorized': 'The acquirer approved and holds the amount.',
  'transaction.declined': 'The acquirer or the issuer declined.',
  'transaction.failed': 'Nothing reached the acquirer; no money moved.',
  'transaction.capture_pending': 'A capture is on its way and its amount is reserved.',
  'transaction.captured': 'The amount is captured, by an immediate sale or by a capture.',
  'transaction.confirmed': 'The till has heard of the approval; the sale is not reversed any more.',
  'transaction.capture_failed': 'The acquirer refused the capture; its amount is free again.',
  'transaction.cancel_pending': 'A cancel is on its way and its amount is reserved.',
  'transaction.cancelled': 'The acquirer released the amount, all of it or a part.',
  'transaction.cancel_failed': 'The acquirer refused the cancel; its amount is free again.',
  'transaction.refund_pending': 'A refund is on its way and its amount is reserved.',
  'transaction.refunded': 'The acquirer took the refund.',
  'transaction.refund_failed': 'The acquirer refused the refund; its amount is free again.',
  'transaction.reversal_queued':
    'The sale does not count; its reversal is durable and will be sent.',
  'transaction.reversed': 'The acquirer acknowledged the reversal.',
  'transaction.late_response':
    'An answer came after its time. The sale stays reversed; an approval is reversed once more.',
  'transaction.expired': 'The authorisation lapsed before all of it was captured.',
  'offline.gap_detected':
    'The terminal has counted offline sales that were not uploaded; data.missing tells which.',
};

const opening = `# Events

\`GET /payment/v1/transactions/{transactionId}\` lists the events of a transaction in order:
\`sequence\` counts from 1 without a gap, \`at\` is the time in UTC, \`data\` holds the facts, never card
data. Replaying the events gives the state that is stored.

`;

export function eventsDocument(): string {
  const rows = transactionEventTypes.map((type) => [code(type), meanings[type]]);
  return `${opening}${table(['Type', 'What happened'], rows)}\n`;
}
