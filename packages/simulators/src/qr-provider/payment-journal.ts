// The journal of the reference provider: each change of a payment is written before the provider answers.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Payment } from './payment-record.ts';

/** A line of the journal: the current state of a payment, or an acknowledged event. */
type Line =
  | { readonly payment: Payment }
  | { readonly acknowledged: readonly [paymentId: string, eventId: string] };

/** The stored payments. */
export type PaymentJournal = {
  readonly payments: Map<string, Payment>;
  write(payment: Payment): void;
  /** The platform acknowledged this event. */
  recordAcknowledged(payment: Payment, eventId: string): void;
  close(): void;
};

const ownerOnly = 0o600;
const ownerOnlyDirectory = 0o700;
const fileName = 'qr-payments.jsonl';
/** After this number of lines the file is rewritten with the last line of each payment. */
const linesMax = 400_000;
/** Above this number the oldest finished payments are dropped at a rewrite. */
const paymentsMax = 100_000;

export const paymentJournalFile = (directory: string): string => join(directory, fileName);

/** Leaves out an incomplete last line of a killed process, which was never answered. */
export function readPaymentJournal(directory: string): Map<string, Payment> {
  const payments = new Map<string, Payment>();
  const path = paymentJournalFile(directory);
  if (!existsSync(path)) return payments;
  for (const text of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const line = JSON.parse(text) as Line;
    if ('payment' in line) payments.set(line.payment.platformTransactionId, line.payment);
    else if ('acknowledged' in line)
      removeEvent(payments.get(line.acknowledged[0]), line.acknowledged[1]);
    else
      throw new Error(`${path} has a line of another version. Delete the directory ${directory}.`);
  }
  return payments;
}

function removeEvent(payment: Payment | undefined, eventId: string): void {
  if (payment === undefined) return;
  payment.unsent = payment.unsent.filter((event) => event.eventId !== eventId);
}

function dropOldest(payments: Map<string, Payment>): void {
  for (const [id, { steps, unsent }] of payments) {
    if (payments.size <= paymentsMax) return;
    if (steps.length === 0 && unsent.length === 0) payments.delete(id);
  }
}

/**
 * Opens the journal of a directory, for one provider only.
 *
 * @throws Error where it cannot be read or written
 */
export function openPaymentJournal(directory: string): PaymentJournal {
  mkdirSync(directory, { recursive: true, mode: ownerOnlyDirectory });
  const path = paymentJournalFile(directory);
  const payments = readPaymentJournal(directory);
  let lines = 0;
  let file = rewrite();

  function rewrite(): number {
    dropOldest(payments);
    const unfinished = `${path}.new`;
    const all = [...payments.values()].map((payment) => `${JSON.stringify({ payment })}\n`);
    writeFileSync(unfinished, all.join(''), { mode: ownerOnly });
    renameSync(unfinished, path);
    lines = all.length;
    return openSync(path, 'a', ownerOnly);
  }

  function append(line: Line): void {
    writeSync(file, `${JSON.stringify(line)}\n`);
    lines += 1;
    if (lines < linesMax) return;
    closeSync(file);
    file = rewrite();
  }

  return {
    payments,
    write(payment) {
      payments.set(payment.platformTransactionId, payment);
      append({ payment });
    },
    recordAcknowledged(payment, eventId) {
      removeEvent(payment, eventId);
      append({ acknowledged: [payment.platformTransactionId, eventId] });
    },
    close: () => closeSync(file),
  };
}
