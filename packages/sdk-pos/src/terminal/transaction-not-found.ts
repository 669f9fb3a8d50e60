/**
 * Decides whether the answer `NotFound` already proves that a terminal did not receive a service.
 */
import { type AnyMessage, isMessage, resultOf, type SaleJournal } from '@switchyard/nexo';

/** A service that was sent, and the path of its message. */
export type Sent = { readonly serviceId: string; readonly way: string | undefined };

/**
 * A message on another path arrives within this time or never: three heartbeats of a connection.
 */
const underWayMs = 75_000;

export function isNotFound(message: AnyMessage): boolean {
  const isStatus = isMessage(message, 'TransactionStatus', 'Response');
  return isStatus && resultOf(message)?.ErrorCondition === 'NotFound';
}

/**
 * True if the status request used another path than the service, whose message may still arrive.
 */
export function mayStillCome(
  journal: SaleJournal | undefined,
  { sent, way, now }: { sent: Sent | undefined; way: string | undefined; now: number },
): boolean {
  if (way === undefined || journal === undefined) return false;
  const isSameWay = sent?.serviceId === journal.header.ServiceID && sent?.way === way;
  return !isSameWay && now - journal.at < underWayMs;
}
