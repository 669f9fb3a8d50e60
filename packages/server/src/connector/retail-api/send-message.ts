// Sends a message to a terminal, and stores it before the request and after the answer.
import {
  type ErrorCode,
  ProblemError,
  type RetailAccepted,
  throwProblem,
} from '@switchyard/contract';
import { errorConditions, type Reading } from '@switchyard/nexo';
import { type Caller, clientKeyOf } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { Terminal } from '../../provisioning/index.ts';
import type { AssignedTerminal } from '../devices/connector-devices.ts';
import type { Asking } from '../pos/claim-requests.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from '../runtime/concurrency-limit.ts';
import type { Kept, MessageStore, Outcome } from './message-store.ts';
import { type Asked, readAsked } from './read-request.ts';
import { type RetailDeps, usualTimes } from './retail-dependencies.ts';
import { refusalOfEnd, refuseReused } from './retail-problems.ts';
import { sightOf, type Terminals } from './retail-terminals.ts';
import type { Answer } from './terminal-session.ts';
import type { Lease, Lines } from './terminal-session-pool.ts';

export type Call = {
  readonly asking: Asking;
  readonly tsn: string;
  readonly posId?: string | undefined;
  readonly waitSeconds?: number | undefined;
  readonly body: Buffer;
  /** Aborted when the client disconnects; the server then sends nothing more. */
  readonly signal: AbortSignal;
};

/** The limits of one process; each message holds a connection or a timer. */
const limits = { perKey: 1000, total: 10_000 };
const settleTries = 5;
const settlePauseMs = 1000;

type Begun = {
  readonly asked: Asked;
  readonly terminal: AssignedTerminal;
  readonly kept: Kept | undefined;
  readonly dueAt: number;
  /** The same deadline on the clock for due times. */
  readonly until: number;
  readonly lease: Lease;
};

/**
 * Returns the parts of an answer that may be stored in clear: codes of the standard, no terminal
 * text.
 */
function wordsOf(reading: Reading): { result?: string; errorCondition?: string } {
  const found =
    reading.kind === 'Message'
      ? reading.message.body['Response']
      : reading.kind === 'Faulty'
        ? reading.response
        : undefined;
  if (typeof found !== 'object' || found === null) return {};
  const { Result, ErrorCondition } = found as Readonly<Record<string, unknown>>;
  const isResult = ['Success', 'Partial', 'Failure'].includes(String(Result));
  const isCondition =
    typeof ErrorCondition === 'string' && Object.hasOwn(errorConditions, ErrorCondition);
  return {
    ...(isResult ? { result: String(Result) } : {}),
    ...(isCondition ? { errorCondition: ErrorCondition } : {}),
  };
}

/** @throws rate_limited overloaded */
function placeFor(places: ConcurrencyLimit, caller: Caller): () => void {
  const taken = places.acquire(clientKeyOf(caller));
  if (typeof taken === 'function') return taken;
  return throwProblem(
    taken === 'OwnFull' ? 'rate_limited' : 'overloaded',
    'Too many messages wait for their answers.',
    { retryAfterMs: 1000 },
  );
}

type Deps = Pick<RetailDeps, 'clock' | 'dueClock' | 'log' | 'times'> & {
  readonly lines: Lines;
  readonly store: MessageStore;
  readonly terminals: Terminals;
  /** Called when a message has reached its final state. */
  readonly told: (kept: Kept) => void;
};

export type Exchange = ReturnType<typeof createExchange>;

/** @example const text = await exchange.sync(call); */
export function createExchange(deps: Deps) {
  const { lines, store, terminals, clock, dueClock, log, told } = deps;
  const { answerMs } = { ...usualTimes, ...deps.times };
  const places = createConcurrencyLimit(limits);
  const running = new Set<Promise<unknown>>();

  /** Retries after a database fault; the client gets the terminal's answer without this delay. */
  async function settle(kept: Kept, outcome: Outcome): Promise<void> {
    for (let left = settleTries; ; left -= 1) {
      try {
        await store.settle(kept, outcome);
        told(kept);
        return;
      } catch (error) {
        log.error({ err: error }, 'the answer of a terminal could not be kept');
        if (left <= 1) return;
        await new Promise((resolve) => setTimeout(resolve, settlePauseMs));
      }
    }
  }

  async function note(
    asked: Asked,
    terminal: AssignedTerminal,
    { caller, dueAt, isPublished }: { caller: Caller; dueAt: number; isPublished: boolean },
  ): Promise<Kept | undefined> {
    const { service, isAnswered, header } = asked;
    if (service === undefined) return undefined;
    const category = header.MessageCategory;
    const kept = await store.begin({
      terminal,
      ...service,
      category,
      isPublished,
      isAnswered,
      dueAt,
    });
    return kept ?? refuseReused(await firstOf(caller, terminal, asked));
  }

  /** Finds an earlier message with the same ServiceID. */
  async function firstOf(caller: Caller, terminal: Terminal, { service }: Asked) {
    return service === undefined ? undefined : store.find(terminal, service, sightOf(caller));
  }

  async function begin(call: Call, asked: Asked, isPublished: boolean): Promise<Begun> {
    const { asking, tsn, posId, waitSeconds, signal } = call;
    const dueAt = clock.now() + answerMs;
    const until = dueClock.now() + answerMs;
    const terminal = await terminals.find(asking.caller, tsn);
    // This check comes first: a terminal that is offline now may have processed the earlier
    // message.
    const first = await firstOf(asking.caller, terminal, asked);
    if (first !== undefined) refuseReused(first);
    const lease = await lines.take(asking, terminal, { tsn, posId, waitSeconds }, signal);
    try {
      if (signal.aborted) throwProblem('device_offline', 'Whoever asked has gone.');
      const placed = terminals.placed(terminal);
      const kept = await note(asked, placed, { caller: asking.caller, dueAt, isPublished });
      return { asked, terminal: placed, kept, dueAt, until, lease };
    } catch (error) {
      lease.free();
      throw error;
    }
  }

  async function hear({ asked, kept, until, lease }: Begun): Promise<Answer> {
    try {
      const left = Math.max(1, until - dueClock.now());
      const answer = await lease.line.ask(asked.key, asked.text, left);
      if (kept !== undefined)
        void track(settle(kept, { text: answer.text, ...wordsOf(answer.reading) }));
      return answer;
    } catch (error) {
      const fault: ErrorCode = error instanceof ProblemError ? error.code : 'internal_error';
      if (kept !== undefined) void track(settle(kept, { fault }));
      throw error;
    } finally {
      lease.free();
    }
  }

  function track<Result>(work: Promise<Result>): Promise<Result> {
    running.add(work);
    const over = () => running.delete(work);
    work.then(over, over);
    return work;
  }

  /** Sends a message that has no answer, in the active session on any node or in a new session. */
  async function sendAlone(call: Call, asked: Asked): Promise<void> {
    const { asking, tsn, posId } = call;
    const terminal = await terminals.find(asking.caller, tsn);
    const isSent = await lines.sendElsewhere(asking, terminal, { tsn, posId }, asked.text);
    if (isSent) return;
    const { lease, kept } = await begin(call, asked, false);
    try {
      if (lease.line.send(asked.text)) return;
      if (kept !== undefined) await settle(kept, { fault: 'device_disconnected' });
      throw refusalOfEnd('device_disconnected');
    } finally {
      lease.free();
    }
  }

  async function answerOf(call: Call, asked: Asked): Promise<string | undefined> {
    const leave = placeFor(places, call.asking.caller);
    try {
      if (!asked.isAnswered) {
        await sendAlone(call, asked);
        return undefined;
      }
      const { text } = await hear(await begin(call, asked, false));
      return text;
    } finally {
      leave();
    }
  }

  async function acceptanceOf(
    call: Call,
    asked: Asked,
    service: NonNullable<Asked['service']>,
  ): Promise<RetailAccepted> {
    const leave = placeFor(places, call.asking.caller);
    try {
      const begun = await begin(call, asked, true);
      // The server stores the final state and publishes it as an event.
      void track(hear(begun).then(leave, leave));
      const { terminal, kept, dueAt } = begun;
      const category = asked.header.MessageCategory;
      const named = { messageId: kept?.messageId ?? '', tsn: terminal.tsn, ...service, category };
      return { ...named, dueAt: isoTime(dueAt) };
    } catch (error) {
      leave();
      throw error;
    }
  }

  return {
    /** Finds messages of the last 48 hours. */
    find: store.find,

    /** Returns the answer unchanged; undefined for a message that has no answer. */
    async sync(call: Call): Promise<string | undefined> {
      const asked = readAsked(call.body);
      lines.demandGoing();
      return track(answerOf(call, asked));
    },

    /** Returns after the server has sent the message. */
    async async(call: Call): Promise<RetailAccepted> {
      const asked = readAsked(call.body);
      const { service } = asked;
      if (service === undefined || !asked.isAnswered) {
        return throwProblem('nexo_invalid', 'Requests of services alone are answered later.');
      }
      lines.demandGoing();
      return track(acceptanceOf(call, asked, service));
    },

    /** Resolves when all clients have an answer and the server has stored all results. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.allSettled([...running]);
    },
  };
}
