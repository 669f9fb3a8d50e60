/**
 * Decides whether the answer `NotFound` already proves that a terminal did not receive a service.
 */
import { type AnyMessage, isMessage, resultOf, type SaleJournal } from '@switchyard/nexo';

/** A service that was sent, and the path of its message. */
export type SentService = { readonly serviceId: string; readonly path: string | undefined };

/**
 * A message on another path arrives within this time or never: three heartbeats of a connection.
 */
const deliveryLimitMs = 75_000;

export function isTransactionNotFound(message: AnyMessage): boolean {
  const isStatus = isMessage(message, 'TransactionStatus', 'Response');
  return isStatus && resultOf(message)?.ErrorCondition === 'NotFound';
}

/**
 * True if the status request used another path than the service, whose message may still arrive.
 */
export function mayStillArrive(
  journal: SaleJournal | undefined,
  { sent, path, now }: { sent: SentService | undefined; path: string | undefined; now: number },
): boolean {
  if (path === undefined || journal === undefined) return false;
  const isSamePath = sent?.serviceId === journal.header.ServiceID && sent?.path === path;
  return !isSamePath && now - journal.at < deliveryLimitMs;
}
