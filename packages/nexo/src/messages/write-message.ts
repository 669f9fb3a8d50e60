/** Writes messages, after the same table that reads them, and without its forgiveness. */
import { NexoError } from '../errors.ts';
import { messageBytesMax } from '../limits.ts';
import type { Fault } from './check-structure.ts';
import { type AnyMessage, bodyMemberOf, envelopeOf } from './message.ts';
import { readWith } from './read-message.ts';
import { isLongerThan } from './text-bytes.ts';

/**
 * The text of a message. It is read back strictly before it is handed out, so that nothing leaves
 * that breaks the table or a rule of the dictionary: an `ErrorCondition` whenever the result is not
 * `Success`, a `RejectedMessage` with every `Reject`, the content that an `OutputFormat` names.
 *
 * Source: ADR 0049.
 *
 * @param message - header, body, and what is to stand beside them
 * @returns JSON of at most {@link messageBytesMax} bytes
 * @throws NexoError `message_invalid` with the place, or `message_too_large`
 * @example
 * socket.send(writeMessage(requestOf('Diagnosis', address, { HostDiagnosisFlag: true })));
 */
export function writeMessage(message: AnyMessage): string {
  const text = JSON.stringify(wireForm(message));
  if (isLongerThan(text, messageBytesMax)) throw new NexoError('message_too_large');
  const reading = readWith(text, false);
  if (reading.kind === 'Message') return text;
  const [first] = reading.kind === 'Protected' ? [] : reading.faults;
  throw new NexoError('message_invalid', first?.pointer, first?.problem);
}

/**
 * The faults of a message before it is written.
 *
 * Source: ADR 0049.
 *
 * @param message - header and body
 * @returns places and problems, none where {@link writeMessage} would write it
 * @example
 * faultsOf(message); // [{ pointer: '/SaleToPOIRequest/PaymentRequest/SaleData', problem: 'is missing' }]
 */
export function findFaults(message: AnyMessage): readonly Fault[] {
  const reading = readWith(JSON.stringify(wireForm(message)), false);
  return 'faults' in reading ? reading.faults : [];
}

/** The object that goes over the wire. */
function wireForm({ header, body, more, outside }: AnyMessage): Record<string, unknown> {
  const envelope = { MessageHeader: header, [bodyMemberOf(header)]: body, ...more };
  return { [envelopeOf(header.MessageType)]: envelope, ...outside };
}
