/** Sends events to the platform, repeats failed attempts after pauses, and gives up after a day. */
import type { ProviderEvent } from '@switchyard/contract';
import { systemClock } from '@switchyard/sdk-core';
import type { Clock } from './clock.ts';
import type { EventStore, WaitingEvent } from './event-stores.ts';
import type { EventsClient, SendResult } from './events-client.ts';

/**
 * How an event ended: acknowledged, permanently refused, or given up after a day of attempts.
 *
 * @example
 * const onFinished = (event, end: EventDeliveryOutcome) => log.info({ eventId: event.eventId, ...end });
 */
export type EventDeliveryOutcome =
  | Exclude<SendResult, { readonly outcome: 'Unsent' }>
  | { readonly outcome: 'GivenUp'; readonly fault: string };

/**
 * The options of a queue.
 *
 * @example
 * const options: EventQueueOptions = { client, store, onFinished: (event, end) => log(end) };
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
  onFinished?(event: ProviderEvent, end: EventDeliveryOutcome): void;
  /** Receives a failed attempt that will be repeated. */
  onRetry?(event: ProviderEvent, fault: string): void;
  /**
   * Receives a fault of the store. The event stays in memory and may be sent again after a restart.
   */
  onError?(error: unknown): void;
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
  const paymentsInProgress = new Set<string>();
  const attemptsInProgress = new Set<Promise<void>>();
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
        startDueAttempts();
      },
      Math.min(waitMs, longestTimerMs),
    );
    timers.set(eventId, timer);
  }

  function startDueAttempts(): void {
    if (!isRunning) return;
    for (const eventId of ready) {
      if (attemptsInProgress.size >= concurrency) return;
      const one = waiting.get(eventId);
      if (one === undefined) ready.delete(eventId);
      else if (!paymentsInProgress.has(one.eventsUrl)) startAttempt(one);
    }
  }

  function startAttempt(waitingEvent: WaitingEvent): void {
    ready.delete(waitingEvent.event.eventId);
    paymentsInProgress.add(waitingEvent.eventsUrl);
    const work = attempt(waitingEvent)
      .catch((error: unknown) => options.onError?.(error))
      .finally(() => {
        attemptsInProgress.delete(work);
        paymentsInProgress.delete(waitingEvent.eventsUrl);
        startDueAttempts();
      });
    attemptsInProgress.add(work);
  }

  /** A custom client may throw; the event is then sent again. */
  async function sendOnce({ eventsUrl, event }: WaitingEvent): Promise<SendResult> {
    try {
      return await client.send(eventsUrl, event);
    } catch (error) {
      return { outcome: 'Unsent', fault: error instanceof Error ? error.message : 'failed' };
    }
  }

  async function attempt(waitingEvent: WaitingEvent): Promise<void> {
    const result = await sendOnce(waitingEvent);
    if (result.outcome !== 'Unsent') return finish(waitingEvent, result);
    const attempts = waitingEvent.attempts + 1;
    const retryDelay = delaysMs[Math.min(attempts, delaysMs.length) - 1] ?? minuteMs;
    const dueAt = clock.now() + Math.max(retryDelay, result.retryAfterMs ?? 0);
    if (dueAt > waitingEvent.firstAt + giveUpAfterMs) {
      return finish(waitingEvent, { outcome: 'GivenUp', fault: result.fault });
    }
    options.onRetry?.(waitingEvent.event, result.fault);
    const next = { ...waitingEvent, attempts, dueAt };
    waiting.set(waitingEvent.event.eventId, next);
    if (isRunning) schedule(next);
    await store.save(next);
  }

  async function finish({ event }: WaitingEvent, end: EventDeliveryOutcome): Promise<void> {
    waiting.delete(event.eventId);
    options.onFinished?.(event, end);
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
      startDueAttempts();
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
      startDueAttempts();
    },
    async stop() {
      isRunning = false;
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      ready.clear();
      await Promise.all(attemptsInProgress);
    },
  };
}
