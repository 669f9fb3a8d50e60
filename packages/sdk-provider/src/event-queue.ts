/** Brings events to the platform, however long it is away: tries, pauses, and gives up after a day. */
import type { ProviderEvent } from '@switchyard/contract';
import { type Clock, systemClock } from './clock.ts';
import type { EventStore, WaitingEvent } from './event-stores.ts';
import type { EventsClient, SendResult } from './events-client.ts';

/**
 * How an event ended: told, refused for ever, or given up after a day of tries.
 *
 * @example
 * const onSettled = (event, end: EventEnd) => log.info({ eventId: event.eventId, ...end });
 */
export type EventEnd =
  | Exclude<SendResult, { readonly outcome: 'Unsent' }>
  | { readonly outcome: 'GivenUp'; readonly fault: string };

/**
 * What a queue needs.
 *
 * @example
 * const options: EventQueueOptions = { client, store, onSettled: (event, end) => log(end) };
 */
export type EventQueueOptions = {
  readonly client: Pick<EventsClient, 'send'>;
  readonly store: EventStore;
  /** The pauses between the tries; the last one is repeated. Left out: 1, 2, 5, 10, 30 minutes. */
  readonly delaysMs?: readonly number[];
  /** A day where it is left out. */
  readonly giveUpAfterMs?: number;
  /** Tries at a time; 8 where it is left out. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  /** Hears how each event ended. */
  onSettled?(event: ProviderEvent, end: EventEnd): void;
  /** Hears of a try that failed and will be repeated. */
  onUnsent?(event: ProviderEvent, fault: string): void;
  /** Hears that the store failed: the event stays in memory, and may be sent again after a restart. */
  onFault?(error: unknown): void;
};

/**
 * Events on their way.
 *
 * @example
 * await queue.start();
 * await queue.add(payment.eventsUrl, event);
 */
export type EventQueue = {
  /** Takes up what an earlier process left. */
  start(): Promise<void>;
  /** Resolves once the store has it; a repetition of the same `eventId` changes nothing. */
  add(eventsUrl: string, event: ProviderEvent): Promise<void>;
  /** How many wait. */
  readonly size: number;
  /** Waits for the tries that are under way; what is left is in the store. */
  stop(): Promise<void>;
};

const minuteMs = 60_000;
const defaultDelaysMs = [1, 2, 5, 10, 30].map((minutes) => minutes * minuteMs);
const dayMs = 24 * 60 * minuteMs;
const defaultConcurrency = 8;
const waitingMax = 100_000;
const longestTimerMs = 2 ** 31 - 1;

/**
 * Makes a queue of events. Events of one payment are sent one after the other, in the order in which
 * they were added; one that has to be repeated does not hold up the next, since `sequence` tells
 * the platform what is newer.
 *
 * @param options - client, store, pauses
 * @returns the queue; nothing is sent before `start`
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
  /** To be tried now, in their order; the others have a timer. */
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

  /** A client of somebody's own may throw: that is no end of an event. */
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
