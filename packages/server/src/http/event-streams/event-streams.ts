// Lets clients wait for what happens: streams of Server-Sent Events and long polls, with limits for both.
import { Refusal } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type Clock,
  jittered,
  type Live,
  type Log,
  type Metrics,
  type Subscription,
  type Topic,
} from '../../platform/index.ts';
import type { Caller } from '../authentication/caller.ts';
import { createConcurrencyLimit } from '../limits/concurrency-limit.ts';
import { type ConnectionLimits, createConnectionSlots } from './connection-limits.ts';
import { eventStreamType, formatStreamStart } from './event-format.ts';
import {
  createOpenStream,
  defaultStreamTimings,
  type OpenStream,
  type ReadPage,
  type StreamPage,
  type StreamTimings,
} from './open-stream.ts';
import { takeOverConnection } from './stream-connection.ts';
import { createStreamSchedule, type ScheduledTick } from './stream-schedule.ts';

/** Of everybody who waits: what they read must leave the database to those who pay. */
const maxConcurrentReads = 16;
/** After a break; all of a stopped process come back within it, and not at once. */
const reconnectMs = 4000;
const retryAfterMs = 5000;

export type StreamSource = {
  /** What to wake for; its versions are the cursors of `read`. */
  readonly topic: Topic;
  /** The cursor of the client, as `cursorOf` reads it. */
  readonly after: number;
  /** Judges the client too where its rights may change: a Refusal ends the stream with its code. */
  readonly read: ReadPage;
};

export type EventStreams = {
  /**
   * Sends what `read` finds, then what follows, until the client leaves, the token ends, or nothing can
   * follow. What is refused before the first event is a problem like any other.
   *
   * @example return streams.send(request, reply, { topic, after: cursorOf(request, query.after), read });
   */
  send(request: FastifyRequest, reply: FastifyReply, source: StreamSource): Promise<unknown>;
  /** The first page that holds something, or an empty one after the time. */
  poll(
    request: FastifyRequest,
    reply: FastifyReply,
    source: StreamSource & { readonly waitSeconds: number },
  ): Promise<StreamPage>;
  /** Ends them all, for a stop: clients go to another process. */
  stop(): void;
};

export type EventStreamsDeps = {
  readonly live: Live;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks anew who it is and whether it may: the token may have been revoked since. */
  readonly authorize: (request: FastifyRequest) => () => Promise<Caller>;
  readonly metrics?: Metrics | undefined;
  readonly limits?: ConnectionLimits | undefined;
  readonly timings?: Partial<StreamTimings> | undefined;
};

export function createEventStreams(deps: EventStreamsDeps): EventStreams {
  const { live, clock, log, authorize } = deps;
  const timings: StreamTimings = { ...defaultStreamTimings, ...deps.timings };
  const slots = createConnectionSlots(deps.limits);
  const runLimited = createConcurrencyLimit(maxConcurrentReads);
  const open = new Set<OpenStream>();
  const schedule = createStreamSchedule();
  const polls = new Set<() => void>();
  const streamMetrics = registerMetrics(deps.metrics, {
    open: () => open.size,
    polls: () => polls.size,
  });
  let isStopping = false;

  const nowMs = () => performance.now();
  const timer = setInterval(() => schedule.run(nowMs()), timings.tickMs);
  timer.unref();

  /** @throws Refusal overloaded */
  function subscribe(
    { topic, after }: StreamSource,
    onChange: (version: number) => void,
  ): Subscription {
    const subscription = live.subscribe(topic, after, onChange);
    if (subscription !== undefined) return subscription;
    throw new Refusal('overloaded', 'No more clients can wait for events here.', { retryAfterMs });
  }

  function createStream(request: FastifyRequest, read: ReadPage): CreatedStream {
    const reauthorize = authorize(request);
    const releases: (() => void)[] = [];
    let scheduled: ScheduledTick | undefined;
    const stream: OpenStream = createOpenStream({
      read: (after) => runLimited(() => read(after)),
      authorize: async () => (await reauthorize()).expiresAt,
      log,
      timings,
      nowMs,
      wallMs: clock.now,
      schedule: {
        setNext(ms) {
          // One that is refused before it has begun is never looked after.
          scheduled ??= schedule.add(() => stream.tick());
          scheduled.setNext(ms);
        },
      },
      onEnd(reason) {
        scheduled?.end();
        open.delete(stream);
        for (const leave of releases) leave();
        streamMetrics.ended(reason);
      },
    });
    return { stream, onEnd: (release) => releases.push(release) };
  }

  async function send(request: FastifyRequest, reply: FastifyReply, source: StreamSource) {
    const caller = knownCaller(request);
    const { stream, onEnd } = createStream(request, source.read);
    const subscription = subscribe(source, stream.wake);
    let first: StreamPage;
    try {
      first = await runLimited(() => source.read(source.after));
      const isFinished = first.isLast === true && first.events.length === 0;
      if (isFinished || request.method === 'HEAD') {
        subscription.end();
        if (!isFinished) return reply.type(eventStreamType).send('');
        // Of all answers this one alone tells an EventSource not to come back.
        reply.code(204);
        return undefined;
      }
      if (isStopping) throw new Refusal('shutting_down', 'The process takes no new requests.');
      onEnd(slots.acquire(caller, stream.end));
    } catch (error) {
      subscription.end();
      throw error;
    }
    request.isStreamed = true;
    reply.hijack();
    open.add(stream);
    const connection = await takeOverConnection(reply.raw, {
      ...headersOf(reply),
      ...streamHeaders,
    });
    const opening = formatStreamStart(source.after, jittered(reconnectMs));
    const { expiresAt } = caller;
    stream.begin({ connection, opening, from: source.after, first, subscription, expiresAt });
    return reply;
  }

  async function poll(
    request: FastifyRequest,
    reply: FastifyReply,
    source: StreamSource & { readonly waitSeconds: number },
  ): Promise<StreamPage> {
    const untilMs = nowMs() + source.waitSeconds * 1000;
    const signal = createWakeSignal();
    const subscription = subscribe(source, signal.wake);
    const end = () => signal.end();
    reply.raw.once('close', end);
    polls.add(end);
    let release: (() => void) | undefined;
    try {
      let after = source.after;
      let page = await runLimited(() => source.read(after));
      while (page.events.length === 0 && page.isLast !== true) {
        const remainingMs = untilMs - nowMs();
        release ??= acquireIfFree(knownCaller(request), end);
        if (remainingMs <= 0 || release === undefined || isStopping || signal.isEnded()) break;
        // What was not wanted lies behind it now, and more may lie before it: nothing rings for that.
        if (page.next === after) {
          subscription.seen(after);
          await signal.wait(remainingMs);
        }
        after = page.next;
        const from = after;
        page = await runLimited(() => source.read(from));
      }
      return page;
    } finally {
      reply.raw.off('close', end);
      polls.delete(end);
      subscription.end();
      release?.();
    }
  }

  /** Whoever finds no place is told at once how things stand. */
  function acquireIfFree(caller: Caller, end: () => void): (() => void) | undefined {
    try {
      return slots.acquire(caller, end);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  return {
    send,
    poll,
    stop() {
      isStopping = true;
      clearInterval(timer);
      for (const stream of [...open]) stream.end('shutting_down');
      for (const end of polls) end();
    },
  };
}

type CreatedStream = { readonly stream: OpenStream; onEnd(leave: () => void): void };

type WakeSignal = {
  wake(): void;
  /** Rings for ever. */
  end(): void;
  isEnded(): boolean;
  /** Until it has rung since the last time, or the time is over. */
  wait(limitMs: number): Promise<void>;
};

function createWakeSignal(): WakeSignal {
  let isWoken = false;
  let isEnded = false;
  let onWake: (() => void) | undefined;
  function wake(): void {
    isWoken = true;
    onWake?.();
  }
  return {
    wake,
    end() {
      isEnded = true;
      wake();
    },
    isEnded: () => isEnded,
    async wait(limitMs) {
      if (!isWoken) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limitMs);
          onWake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      onWake = undefined;
      isWoken = false;
    },
  };
}

const streamHeaders = {
  'content-type': eventStreamType,
  'cache-control': 'no-store',
  // Proxies of this kind would keep the events until they have a block of them.
  'x-accel-buffering': 'no',
} as const;

function headersOf(reply: FastifyReply): Record<string, string> {
  const known = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

function knownCaller({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('only a known caller may wait');
  return caller;
}

function registerMetrics(
  metrics: Metrics | undefined,
  count: { open: () => number; polls: () => number },
): { ended(reason: string): void } {
  metrics?.gauge({
    name: 'switchyard_streams_open',
    help: 'Streams of events that clients hold open',
    collect() {
      this.set(count.open());
    },
  });
  metrics?.gauge({
    name: 'switchyard_streams_polls',
    help: 'Long polls under way',
    collect() {
      this.set(count.polls());
    },
  });
  const ended = metrics?.counter({
    name: 'switchyard_streams_ended_total',
    help: 'Streams of events that ended, by the reason that was given',
    labelNames: ['reason'],
  });
  return { ended: (reason) => ended?.inc({ reason }) };
}
