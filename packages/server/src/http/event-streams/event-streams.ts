// Server-Sent Events and long polls, with limits for both.
import { ProblemError } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type ChangeNotifier,
  type Clock,
  createConcurrencyLimit,
  type Log,
  type Metrics,
  type Subscription,
  type Topic,
  withJitter,
} from '../../platform/index.ts';
import type { Caller } from '../authentication/caller.ts';
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

/** Reads of all waiting clients, so that payments keep enough database connections. */
const maxConcurrentReads = 16;
/** Clients of a stopped process reconnect within this time, spread at random. */
const reconnectMs = 4000;
const retryAfterMs = 5000;

export type StreamSource = {
  /** The topic whose changes wake the client; its versions are the cursors of `read`. */
  readonly topic: Topic;
  /** The cursor of the client (`readStreamCursor`). */
  readonly after: number;
  /** May check permissions that change: a ProblemError ends the stream with its code. */
  readonly read: ReadPage;
};

export type EventStreams = {
  /**
   * Sends the events of `read` and all later ones until the client disconnects, the token expires or the
   * list ends. An error before the first event is a problem response.
   *
   * @example return streams.send(request, reply, { topic, after: readStreamCursor(request, query.after), read });
   */
  send(request: FastifyRequest, reply: FastifyReply, source: StreamSource): Promise<unknown>;
  /** The first page with events, or an empty page after `waitSeconds`. */
  poll(
    request: FastifyRequest,
    reply: FastifyReply,
    source: StreamSource & { readonly waitSeconds: number },
  ): Promise<StreamPage>;
  /** Ends all streams and polls, so that clients reconnect to another process. */
  stop(): void;
};

export type EventStreamsDeps = {
  readonly live: ChangeNotifier;
  readonly clock: Clock;
  readonly log: Log;
  /** Repeats authentication and authorization, since the token may have been revoked. */
  readonly authorize: (request: FastifyRequest) => () => Promise<Caller>;
  readonly metrics?: Metrics | undefined;
  readonly limits?: ConnectionLimits | undefined;
  readonly timings?: Partial<StreamTimings> | undefined;
};

export function createEventStreams(deps: EventStreamsDeps): EventStreams {
  const { live, clock, log, authorize } = deps;
  const timings: StreamTimings = { ...defaultStreamTimings, ...deps.timings };
  const slots = createConnectionSlots(deps.limits);
  const readLimit = createConcurrencyLimit({ maxConcurrent: maxConcurrentReads });
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

  /** @throws ProblemError overloaded */
  function subscribe(
    { topic, after }: StreamSource,
    onChange: (version: number) => void,
  ): Subscription {
    const subscription = live.subscribe(topic, after, onChange);
    if (subscription !== undefined) return subscription;
    throw new ProblemError(
      'overloaded',
      'The process has reached its limit of waiting clients; retry later.',
      { retryAfterMs },
    );
  }

  function createStream(request: FastifyRequest, read: ReadPage): CreatedStream {
    const reauthorize = authorize(request);
    const releases: (() => void)[] = [];
    let scheduled: ScheduledTick | undefined;
    const stream: OpenStream = createOpenStream({
      read: (after) => readLimit.run(() => read(after)),
      authorize: async () => (await reauthorize()).expiresAt,
      log,
      timings,
      nowMs,
      wallMs: clock.now,
      schedule: {
        setNext(ms) {
          // A stream that is rejected before it begins is never scheduled.
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
      first = await readLimit.run(() => source.read(source.after));
      const isFinished = first.isLast === true && first.events.length === 0;
      if (isFinished || request.method === 'HEAD') {
        subscription.end();
        if (!isFinished) return reply.type(eventStreamType).send('');
        // Only 204 stops the reconnects of an EventSource.
        reply.code(204);
        return undefined;
      }
      if (isStopping)
        throw new ProblemError('shutting_down', 'The process is shutting down; retry the request.');
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
    const opening = formatStreamStart(source.after, withJitter(reconnectMs));
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
      let page = await readLimit.run(() => source.read(after));
      while (page.events.length === 0 && page.isLast !== true) {
        const remainingMs = untilMs - nowMs();
        release ??= acquireIfFree(knownCaller(request), end);
        if (remainingMs <= 0 || release === undefined || isStopping || signal.isEnded()) break;
        // When filtered events moved the cursor, read again at once: no wake-up follows for the rest.
        if (page.next === after) {
          subscription.acknowledge(after);
          await signal.wait(remainingMs);
        }
        after = page.next;
        const from = after;
        page = await readLimit.run(() => source.read(from));
      }
      return page;
    } finally {
      reply.raw.off('close', end);
      polls.delete(end);
      subscription.end();
      release?.();
    }
  }

  /** Without a free slot, the poll returns at once. */
  function acquireIfFree(caller: Caller, end: () => void): (() => void) | undefined {
    try {
      return slots.acquire(caller, end);
    } catch (error) {
      if (error instanceof ProblemError) return undefined;
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
  /** Every later wait returns at once. */
  end(): void;
  isEnded(): boolean;
  /** Resolves after a wake-up since the last wait, or after the limit. */
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
  // nginx would buffer the events.
  'x-accel-buffering': 'no',
} as const;

function headersOf(reply: FastifyReply): Record<string, string> {
  const definedHeaders = Object.entries(reply.getHeaders()).filter(
    ([, value]) => value !== undefined,
  );
  return Object.fromEntries(definedHeaders.map(([name, value]) => [name, String(value)]));
}

function knownCaller({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('an event stream needs an authenticated caller');
  return caller;
}

function registerMetrics(
  metrics: Metrics | undefined,
  count: { open: () => number; polls: () => number },
): { ended(reason: string): void } {
  metrics?.gauge({
    name: 'switchyard_streams_open',
    help: 'Open event streams',
    collect() {
      this.set(count.open());
    },
  });
  metrics?.gauge({
    name: 'switchyard_streams_long_polls_open',
    help: 'Long polls that wait for events',
    collect() {
      this.set(count.polls());
    },
  });
  const ended = metrics?.counter({
    name: 'switchyard_streams_ended_total',
    help: 'Closed event streams, by reason',
    labelNames: ['reason'],
  });
  return { ended: (reason) => ended?.inc({ reason }) };
}
