/** Event notifications that a terminal sends. */
import { defined } from '../defined.ts';
import { type Address, requestOf } from '../messages/build-message.ts';
import type { Message } from '../messages/message.ts';
import { base64Of } from '../messages/text-bytes.ts';
import type { OpenValue } from '../table/value-sets.ts';

/**
 * Further data of an event.
 *
 * Source: nexo Sale to POI 3.0, `EventNotification`.
 *
 * @example
 * const facts: EventFacts = { at: '2026-03-01T10:00:00.000Z', details: 'paper' };
 */
export type EventFacts = {
  /** The time of the event, RFC 3339. */
  readonly at: string;
  /** For the log of the sale system. */
  readonly details?: string;
  readonly maintenanceRequired?: boolean;
};

/**
 * An event notification.
 *
 * Source: nexo Sale to POI 3.0, `EventNotification`.
 *
 * @param event - an `EventToNotify` other than `Reject`
 * @param address - sender and receiver; the identification of the service where the event belongs to one
 * @param facts - the time, and further data
 * @returns a message to {@link writeMessage}
 * @example
 * buildEventNotification('BeginMaintenance', address, { at: clock() });
 */
export function buildEventNotification(
  event: Exclude<OpenValue<'EventToNotify'>, 'Reject'>,
  address: Address,
  { at, details, maintenanceRequired }: EventFacts,
): Message<'Event', 'Notification'> {
  return requestOf('Event', address, {
    TimeStamp: at,
    EventToNotify: event,
    ...defined({ EventDetails: details, MaintenanceRequiredFlag: maintenanceRequired }),
  });
}

/** How many bytes of a message go back in a `Reject`. */
const rejectedBytesMax = 65_536;

/**
 * The event that a message was not taken: it cannot be read, it cannot be aborted any more, or its
 * identification was used before. The message goes back in base64, its first 64 KiB at most, so that the
 * sale system finds out which one it was.
 *
 * Unlike a response it can never be taken for the answer to a service that still runs.
 *
 * Source: nexo Sale to POI 3.0, `EventNotification`: RejectedMessage with Reject alone, and always.
 *
 * @param rejected - the message as it came
 * @param address - sender and receiver
 * @param facts - the time, and why, for the log of the sale system
 * @returns a message to {@link writeMessage}
 * @example
 * buildRejectNotification(text, address, { at: clock(), details: 'not JSON' });
 */
export function buildRejectNotification(
  rejected: string | Uint8Array,
  address: Address,
  { at, details }: EventFacts,
): Message<'Event', 'Notification'> {
  const bytes = typeof rejected === 'string' ? new TextEncoder().encode(rejected) : rejected;
  return requestOf('Event', address, {
    TimeStamp: at,
    EventToNotify: 'Reject',
    RejectedMessage: base64Of(bytes.subarray(0, rejectedBytesMax)),
    ...defined({ EventDetails: details }),
  });
}
