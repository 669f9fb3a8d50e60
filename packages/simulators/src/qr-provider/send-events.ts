// Sends events to the platform with the queue of the SDK; a fault mode changes them.
import { randomUUID } from 'node:crypto';
import { defined } from '@switchyard/contract';
import {
  createEventQueue,
  type EventQueue,
  type EventStore,
  type EventsClient,
  type ProviderEvent,
  type SendResult,
} from '@switchyard/sdk-provider';
import type { Clock } from '../clock.ts';
import type { IsBroken } from './fault-modes.ts';
import type { PaymentJournal } from './payment-journal.ts';
import type { Payment } from './payment-record.ts';
import type { PlatformAccounts } from './platform-accounts.ts';
import { scriptForAmount } from './test-amounts.ts';

export type EventSender = {
  readonly queue: EventQueue;
  /** Registers the payment of an event. */
  registerEvent(payment: Payment, event: ProviderEvent): void;
};

type Deps = {
  readonly journal: PaymentJournal;
  readonly platform: PlatformAccounts;
  readonly clock: Clock;
  readonly isBroken: IsBroken;
  readonly retryMs: readonly number[] | undefined;
  onFault(error: unknown): void;
  warn(message: string): void;
};

const concurrency = 32;
const withoutTokenTimeoutMs = 10_000;

/** Sends an event without a token, for a fault mode. */
async function sendWithoutToken(url: string, event: ProviderEvent): Promise<SendResult> {
  try {
    const { status } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(event),
      signal: AbortSignal.timeout(withoutTokenTimeoutMs),
    });
    if (status >= 200 && status < 300) return { outcome: 'Acknowledged', isDuplicate: false };
    return { outcome: 'Unsent', fault: `status ${status}` };
  } catch (error) {
    return { outcome: 'Unsent', fault: error instanceof Error ? error.message : 'unreachable' };
  }
}

/** @example const { queue } = createSender(deps); await queue.start(); */
export function createEventSender(deps: Deps): EventSender {
  const { journal, platform, clock, isBroken } = deps;
  const owners = new Map<string, Payment>();
  const tried = new Set<string>();

  /** The journal already contains the events: it writes each change of a payment with its events. */
  const store: EventStore = {
    load: () =>
      [...journal.payments.values()].flatMap((payment) =>
        payment.unsent.map((event) => {
          owners.set(event.eventId, payment);
          const firstAt = Date.parse(event.occurredAt);
          return {
            eventsUrl: payment.eventsUrl,
            event,
            attempts: 0,
            firstAt,
            dueAt: clock.now(),
          };
        }),
      ),
    save() {},
    remove(eventId) {
      const payment = owners.get(eventId);
      owners.delete(eventId);
      tried.delete(eventId);
      if (payment !== undefined) journal.recordAcknowledged(payment, eventId);
    },
  };

  /** Changes an event as the fault mode requires. */
  function changeEvent(event: ProviderEvent): ProviderEvent {
    if (isBroken('wrong-event')) {
      const { sequence: _left, ...rest } = event;
      return rest as ProviderEvent;
    }
    if (isBroken('changes-repeated-event') && tried.has(event.eventId)) {
      return { ...event, eventId: randomUUID() };
    }
    return event;
  }

  async function send(
    client: EventsClient,
    url: string,
    event: ProviderEvent,
  ): Promise<SendResult> {
    const result = isBroken('event-without-token')
      ? await sendWithoutToken(url, event)
      : await client.send(url, changeEvent(event));
    tried.add(event.eventId);
    const payment = owners.get(event.eventId);
    const isTwice =
      payment !== undefined && scriptForAmount(payment.amount).eventDelivery === 'twice';
    if (result.outcome === 'Acknowledged' && (isTwice || isBroken('repeats-acknowledged'))) {
      await client.send(url, event);
    }
    const givesUp = isBroken('gives-up') && result.outcome === 'Unsent';
    return givesUp ? { outcome: 'Refused', status: 0, code: 'given_up' } : result;
  }

  const queue = createEventQueue({
    store,
    clock,
    concurrency,
    ...defined({ delaysMs: deps.retryMs }),
    client: {
      async send(url, event) {
        const client = platform.client(owners.get(event.eventId)?.serviceId);
        if (client === undefined) return { outcome: 'Unsent', fault: 'no platform yet' };
        return send(client, url, event);
      },
    },
    onError: deps.onFault,
    onFinished({ eventId, type }, end) {
      if (end.outcome === 'Acknowledged') return;
      const why = end.outcome === 'GivenUp' ? end.fault : `${end.status} ${end.code ?? ''}`.trim();
      deps.warn(`the platform did not take ${type} ${eventId}: ${why}`);
    },
    onRetry({ eventId, type }, fault) {
      deps.warn(`${type} ${eventId} waits for the platform: ${fault}`);
    },
  });

  return {
    queue,
    registerEvent(payment, event) {
      owners.set(event.eventId, payment);
    },
  };
}
