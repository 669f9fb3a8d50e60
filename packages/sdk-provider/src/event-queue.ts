/** Sends events to the platform, repeats failed attempts after pauses, and gives up after a day. */
import type { ProviderEvent } from '@switchyard/contract';
import { type Clock, systemClock } from './clock.ts';
import type { EventStore, WaitingEvent } from './event-stores.ts';
import type { EventsClient, SendResult } from './events-client.ts';

/**
 * How an event ended: acknowledged, permanently refused, or given up after a day of attempts.
 *
 * @example
 * const onSettled = (event, end: EventEnd) => log.info({ eventId: event.eventId, ...end });
 */
export type EventEnd =
  | Exclude<SendResult, { readonly outcome: 'Unsent' }>
  | { readonly outcome: 'GivenUp'; readonly fault: string };

/**
 * The options of a queue.
 *
 * @example
 * const options: EventQueueOptions = { client, store, onSettled: (event, end) => log(end) };
 */
export type EventQueueOptions = {
  readonly client: Pick<EventsClient, 'send'>;
  readonly store: EventStore;
  /**
   * The pauses between the attempts; the last one is repeated. Default: 1, 2, 5, 10, 30 minutes.
   */
  readonly delaysMs?: readonly number[];
  /** Default: one day. */
  readonly giveUpAfterMs?: number;
  /** How many events are sent at a time; default 8. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  /** Receives the end of each event. */
  onSettled?(event: ProviderEvent, end: EventEnd): void;
  /** Receives a failed attempt that will be repeated. */
  onUnsent?(event: ProviderEvent, fault: string): void;
  /**
   * Receives a fault of the store. The event stays in memory and may be sent again after a restart.
   */
  onFault?(error: unknown): void;
};

/**
 * A queue of events.
 *
 * @example
 * await queue.start();
 * await queue.add(payment.eventsUrl, event);
 */
export type EventQueue = {
  /** Loads the events of an earlier process and starts to send. */
  start(): Promise<void>;
  /** Resolves when the store has the event. A repeated `eventId` has no effect. */
  add(eventsUrl: string, event: ProviderEvent): Promise<void>;
  /** The number of waiting events. */
  readonly size: number;
  /** Waits for the running attempts. The other events stay in the store. */
  stop(): Promise<void>;
};

const minuteMs = 60_000;
const defaultDelaysMs = [1, 2, 5, 10, 30].map((minutes) => minutes * minuteMs);
const dayMs = 24 * 60 * minuteMs;
const defaultConcurrency = 8;
const waitingMax = 100_000;
const longestTimerMs = 2 ** 31 - 1;

/**
 * Makes a queue of events. It sends the events of one payment one after the other, in the order of
 * `add`. An event that must be repeated does not block the next one, because the platform sees from
 * `sequence` which is newer.
 *
 * @param options - the client, the store and the pauses
 * @returns the queue; it sends nothing before `start`
 * @example
 * ```ts
 * const queue = createEventQueue({ client, store: fileEventStore('data/events.jsonl') });
 * await queue.start();
 * await queue.add(payment.eventsUrl, { eventId, sequence: 2, type: 'payment.completed', … });
 * ```
 */
export function createEventQueue(options: EventQueueOptions): EventQueue {
  const { client, store, clock = systemClock } = options;
  const { delaysMs = defaultDelaysMs, giveUpAfterMs = dayMs } = options;
  const { concurrency = defaultConcurrency } = options;
  const waiting = new Map<string, WaitingEvent>();
  /** Events that are due, in order; each other event has a timer. */
  const ready = new Set<string>();
  const timers = new Map<string, NodeJS.Timeout>();
  const busyPayments = new Set<string>();
  const tries = new Set<Promise<void>>();
  let isRunning = false;

  function schedule({ event: { eventId }, dueAt }: WaitingEvent): void {
    const waitMs = dueAt - clock.now();
    if (waitMs <= 0) {
      ready.add(eventId);
      return;
    }
    const timer = setTimeout(
      () => {
        timers.delete(eventId);
        ready.add(eventId);
        pump();
      },
      Math.min(waitMs, longestTimerMs),
    );
    timers.set(eventId, timer);
  }

  function pump(): void {
    if (!isRunning) return;
    for (const eventId of ready) {
      if (tries.size >= concurrency) return;
      const one = waiting.get(eventId);
      if (one === undefined) ready.delete(eventId);
      else if (!busyPayments.has(one.eventsUrl)) begin(one);
    }
  }

  function begin(one: WaitingEvent): void {
    ready.delete(one.event.eventId);
    busyPayments.add(one.eventsUrl);
    const work = attempt(one)
      .catch((error: unknown) => options.onFault?.(error))
      .finally(() => {
        tries.delete(work);
        busyPayments.delete(one.eventsUrl);
        pump();
      });
    tries.add(work);
  }

  /** A custom client may throw; the event is then sent again. */
  async function sent({ eventsUrl, event }: WaitingEvent): Promise<SendResult> {
    try {
      return await client.send(eventsUrl, event);
    } catch (error) {
      return { outcome: 'Unsent', fault: error instanceof Error ? error.message : 'failed' };
    }
  }

  async function attempt(one: WaitingEvent): Promise<void> {
    const result = await sent(one);
    if (result.outcome !== 'Unsent') return settle(one, result);
    const attempts = one.attempts + 1;
    const ownDelay = delaysMs[Math.min(attempts, delaysMs.length) - 1] ?? minuteMs;
    const dueAt = clock.now() + Math.max(ownDelay, result.retryAfterMs ?? 0);
    if (dueAt > one.firstAt + giveUpAfterMs) {
      return settle(one, { outcome: 'GivenUp', fault: result.fault });
    }
    options.onUnsent?.(one.event, result.fault);
    const next = { ...one, attempts, dueAt };
    waiting.set(one.event.eventId, next);
    if (isRunning) schedule(next);
    await store.save(next);
  }

  async function settle({ event }: WaitingEvent, end: EventEnd): Promise<void> {
    waiting.delete(event.eventId);
    options.onSettled?.(event, end);
    await store.remove(event.eventId);
  }

  return {
    get size() {
      return waiting.size;
    },
    async start() {
      for (const one of await store.load()) {
        if (!waiting.has(one.event.eventId)) waiting.set(one.event.eventId, one);
      }
      isRunning = true;
      for (const one of waiting.values()) schedule(one);
      pump();
    },
    async add(eventsUrl, event) {
      if (waiting.has(event.eventId)) return;
      if (waiting.size >= waitingMax) throw new Error('too many events wait for the platform');
      const now = clock.now();
      const one: WaitingEvent = { eventsUrl, event, attempts: 0, firstAt: now, dueAt: now };
      waiting.set(event.eventId, one);
      try {
        await store.save(one);
      } catch (error) {
        waiting.delete(event.eventId);
        throw error;
      }
      if (!isRunning) return;
      schedule(one);
      pump();
    },
    async stop() {
      isRunning = false;
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      ready.clear();
      await Promise.all(tries);
    },
  };
}
