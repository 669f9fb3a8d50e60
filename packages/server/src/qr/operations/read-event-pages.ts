// Reads the events of a payment for the event stream of its terminal.
import type { Caller, ReadPage, StreamPage } from '../../http/index.ts';
import type { QrDeps } from '../runtime/qr-dependencies.ts';
import { isOpen } from '../transaction/build-change.ts';
import { viewEvent } from '../transaction/payment-views.ts';
import type { LoadedPayment, StoredEvent } from '../transaction/records.ts';
import { isLive } from '../transaction/state-machine.ts';
import { findPayment } from './find-payment.ts';

const pageMax = 64;
/** An upper limit for all events: of the payment, its operations and its provider. */
const eventsMax = 2000;

/** Whether no further event can follow without a new request. */
export const isFinished = ({ row, operations }: LoadedPayment): boolean =>
  !isLive(row.position) && row.position.hold === null && !operations.some(isOpen);

/**
 * Keeps only the newest display. A terminal does not show the older ones, and all of them together
 * can take megabytes. Pure.
 */
export function withNewestDisplay(events: readonly StoredEvent[]): StoredEvent[] {
  const newest = events.findLastIndex(({ data }) => data.display !== undefined);
  return events.map((event, at) => {
    if (at >= newest || event.data.display === undefined) return event;
    const { display: _replaced, ...data } = event.data;
    return { ...event, data };
  });
}

export async function readAllEvents(
  deps: Pick<QrDeps, 'store'>,
  { row }: LoadedPayment,
): Promise<StoredEvent[]> {
  return withNewestDisplay(await deps.store.eventsAfter(row, 0, eventsMax));
}

/** Leaves out events that are newer than the row; the next page returns them. */
function toPage(
  loaded: LoadedPayment,
  storedEvents: readonly StoredEvent[],
  after: number,
): StreamPage {
  const { version } = loaded.row;
  const events = withNewestDisplay(storedEvents.filter(({ sequence }) => sequence <= version));
  const next = events.at(-1)?.sequence ?? after;
  return {
    events: events.map((event) => ({
      id: event.sequence,
      type: event.type,
      data: JSON.stringify(viewEvent(event)),
    })),
    next,
    isLast: isFinished(loaded) && next >= version,
  };
}

/** Reads pages for a stream, within the caller's scope. */
export function createPageReader(
  deps: Pick<QrDeps, 'store' | 'numbering'>,
  caller: Caller,
  storedEvents: LoadedPayment,
  merchantId: string | undefined,
): ReadPage {
  const { transactionId } = storedEvents.row;
  return async (after) => {
    const loaded = await findPayment(deps, caller, transactionId, merchantId);
    return toPage(loaded, await deps.store.eventsAfter(loaded.row, after, pageMax), after);
  };
}
