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
import { createAtMost } from '../limits/concurrency-limit.ts';
import { createPlaces, type PlaceLimits } from './connection-limits.ts';
import { eventStreamType, openingText } from './event-format.ts';
import {
  createOpenStream,
  defaultStreamTimes,
  type OpenStream,
  type ReadPage,
  type StreamPage,
  type StreamTimes,
} from './open-stream.ts';
import { takeLine } from './stream-connection.ts';
import { createTicks, type Due } from './stream-schedule.ts';

/** Of everybody who waits: what they read must leave the database to those who pay. */
const readsAtOnce = 16;
/** After a break; all of a stopped process come back within it, and not at once. */
const comeBackMs = 4000;
const retryAfterMs = 5000;

export type Waited = {
  /** What to wake for; its versions are the cursors of `read`. */
  readonly topic: Topic;
  /** The cursor of the client, as `cursorOf` reads it. */
  readonly after: number;
  /** Judges the client too where its rights may change: a Refusal ends the stream with its code. */
  readonly read: ReadPage;
};

export type Streams = {
  /**
   * Sends what `read` finds, then what follows, until the client leaves, the token ends, or nothing can
   * follow. What is refused before the first event is a problem like any other.
   *
   * @example return streams.send(request, reply, { topic, after: cursorOf(request, query.after), read });
   */
  send(request: FastifyRequest, reply: FastifyReply, waited: Waited): Promise<unknown>;
  /** The first page that holds something, or an empty one after the time. */
  poll(
    request: FastifyRequest,
    reply: FastifyReply,
    waited: Waited & { readonly waitSeconds: number },
  ): Promise<StreamPage>;
  /** Ends them all, for a stop: clients go to another process. */
  stop(): void;
};

export type StreamsDeps = {
  readonly live: Live;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks anew who it is and whether it may: the token may have been revoked since. */
  readonly authorize: (request: FastifyRequest) => () => Promise<Caller>;
  readonly metrics?: Metrics | undefined;
  readonly limits?: PlaceLimits | undefined;
  readonly times?: Partial<StreamTimes> | undefined;
};

export function createStreams(deps: StreamsDeps): Streams {
  const { live, clock, log, authorize } = deps;
  const times: StreamTimes = { ...defaultStreamTimes, ...deps.times };
  const places = createPlaces(deps.limits);
  const inTurn = createAtMost(readsAtOnce);
  const open = new Set<OpenStream>();
  const ticks = createTicks();
  const polls = new Set<() => void>();
  const measured = measurements(deps.metrics, { open: () => open.size, polls: () => polls.size });
  let isStopping = false;

  const nowMs = () => performance.now();
  const timer = setInterval(() => ticks.run(nowMs()), times.tickMs);
  timer.unref();

  /** @throws Refusal overloaded */
  function subscribe({ topic, after }: Waited, wake: (version: number) => void): Subscription {
    const subscription = live.subscribe(topic, after, wake);
    if (subscription !== undefined) return subscription;
    throw new Refusal('overloaded', 'No more clients can wait for events here.', { retryAfterMs });
  }

  function make(request: FastifyRequest, read: ReadPage): Made {
    const again = authorize(request);
    const leaves: (() => void)[] = [];
    let due: Due | undefined;
    const stream: OpenStream = createOpenStream({
      read: (after) => inTurn(() => read(after)),
      authorize: async () => (await again()).expiresAt,
      log,
      times,
      nowMs,
      wallMs: clock.now,
      due: {
        at(ms) {
          // One that is refused before it has begun is never looked after.
          due ??= ticks.add(() => stream.tick());
          due.at(ms);
        },
      },
      onEnd(reason) {
        due?.end();
        open.delete(stream);
        for (const leave of leaves) leave();
        measured.ended(reason);
      },
    });
    return { stream, onEnd: (leave) => leaves.push(leave) };
  }

  async function send(request: FastifyRequest, reply: FastifyReply, waited: Waited) {
    const caller = callerOf(request);
    const { stream, onEnd } = make(request, waited.read);
    const subscription = subscribe(waited, stream.wake);
    let first: StreamPage;
    try {
      first = await inTurn(() => waited.read(waited.after));
      const isOver = first.isLast === true && first.events.length === 0;
      if (isOver || request.method === 'HEAD') {
        subscription.end();
        if (!isOver) return reply.type(eventStreamType).send('');
        // Of all answers this one alone tells an EventSource not to come back.
        reply.code(204);
        return undefined;
      }
      if (isStopping) throw new Refusal('shutting_down', 'The process takes no new requests.');
      onEnd(places.take(caller, stream.end));
    } catch (error) {
      subscription.end();
      throw error;
    }
    request.isStreamed = true;
    reply.hijack();
    open.add(stream);
    const line = await takeLine(reply.raw, { ...headersOf(reply), ...streamHeaders });
    const opening = openingText(waited.after, jittered(comeBackMs));
    const { expiresAt } = caller;
    stream.begin({ line, opening, from: waited.after, first, subscription, expiresAt });
    return reply;
  }

  async function poll(
    request: FastifyRequest,
    reply: FastifyReply,
    waited: Waited & { readonly waitSeconds: number },
  ): Promise<StreamPage> {
    const untilMs = nowMs() + waited.waitSeconds * 1000;
    const bell = createBell();
    const subscription = subscribe(waited, bell.ring);
    const end = () => bell.end();
    reply.raw.once('close', end);
    polls.add(end);
    let leave: (() => void) | undefined;
    try {
      let after = waited.after;
      let page = await inTurn(() => waited.read(after));
      while (page.events.length === 0 && page.isLast !== true) {
        const restMs = untilMs - nowMs();
        leave ??= takeIfFree(callerOf(request), end);
        if (restMs <= 0 || leave === undefined || isStopping || bell.isOver()) break;
        // What was not wanted lies behind it now, and more may lie before it: nothing rings for that.
        if (page.next === after) {
          subscription.seen(after);
          await bell.rung(restMs);
        }
        after = page.next;
        const from = after;
        page = await inTurn(() => waited.read(from));
      }
      return page;
    } finally {
      reply.raw.off('close', end);
      polls.delete(end);
      subscription.end();
      leave?.();
    }
  }

  /** Whoever finds no place is told at once how things stand. */
  function takeIfFree(caller: Caller, end: () => void): (() => void) | undefined {
    try {
      return places.take(caller, end);
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

type Made = { readonly stream: OpenStream; onEnd(leave: () => void): void };

type Bell = {
  ring(): void;
  /** Rings for ever. */
  end(): void;
  isOver(): boolean;
  /** Until it has rung since the last time, or the time is over. */
  rung(limitMs: number): Promise<void>;
};

function createBell(): Bell {
  let isRung = false;
  let isOver = false;
  let heard: (() => void) | undefined;
  function ring(): void {
    isRung = true;
    heard?.();
  }
  return {
    ring,
    end() {
      isOver = true;
      ring();
    },
    isOver: () => isOver,
    async rung(limitMs) {
      if (!isRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limitMs);
          heard = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      heard = undefined;
      isRung = false;
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

function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('only a known caller may wait');
  return caller;
}

function measurements(
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
