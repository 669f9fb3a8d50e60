/** Whether that a terminal does not find a service tells anything of it yet. */
import { type AnyMessage, isMessage, resultOf, type SaleJournal } from '@switchyard/nexo';

/** A service that was sent, and the way that it went. */
export type Sent = { readonly serviceId: string; readonly way: string | undefined };

/** What one way still carries reaches the terminal by then, or never: three heartbeats of a connection. */
const underWayMs = 75_000;

export function isNotFound(message: AnyMessage): boolean {
  const isStatus = isMessage(message, 'TransactionStatus', 'Response');
  return isStatus && resultOf(message)?.ErrorCondition === 'NotFound';
}

/** The question went another way than the request, which may still come by its own. */
export function mayStillCome(
  journal: SaleJournal | undefined,
  { sent, way, now }: { sent: Sent | undefined; way: string | undefined; now: number },
): boolean {
  if (way === undefined || journal === undefined) return false;
  const isSameWay = sent?.serviceId === journal.header.ServiceID && sent?.way === way;
  return !isSameWay && now - journal.at < underWayMs;
}
