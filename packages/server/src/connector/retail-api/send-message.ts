// Sends a message to a terminal, and stores it before the request and after the answer.
import {
  type ErrorCode,
  ProblemError,
  type RetailAccepted,
  throwProblem,
} from '@switchyard/contract';
import { errorConditions, type Reading } from '@switchyard/nexo';
import { type Caller, clientKeyOf } from '../../http/index.ts';
import {
  type ConcurrencyCounter,
  createConcurrencyCounter,
  isoTime,
} from '../../platform/index.ts';
import type { Terminal } from '../../provisioning/index.ts';
import type { AssignedTerminal } from '../devices/check-device-access.ts';
import type { PosCaller } from '../pos/claim-requests.ts';
import type { MessageKey, MessageOutcome, MessageStore } from './message-store.ts';
import { readTerminalRequest, type TerminalRequest } from './read-request.ts';
import { defaultRetailTimes, type RetailApiDeps } from './retail-dependencies.ts';
import { sessionEndProblem, throwServiceIdReused } from './retail-problems.ts';
import { messageScopeOf, type RetailTerminals } from './retail-terminals.ts';
import type { TerminalAnswer } from './terminal-session.ts';
import type { SessionLease, TerminalSessionPool } from './terminal-session-pool.ts';

export type MessageCall = {
  readonly posCaller: PosCaller;
  readonly tsn: string;
  readonly posId?: string | undefined;
  readonly waitSeconds?: number | undefined;
  readonly body: Buffer;
  /** Aborted when the client disconnects; the server then sends nothing more. */
  readonly signal: AbortSignal;
};

/** The limits of one process; each message holds a connection or a timer. */
const messageLimits = { perKey: 1000, total: 10_000 };
const settleTries = 5;
const settlePauseMs = 1000;

type StartedMessage = {
  readonly request: TerminalRequest;
  readonly terminal: AssignedTerminal;
  readonly messageKey: MessageKey | undefined;
  readonly dueAt: number;
  /** The same deadline on the clock for due times. */
  readonly dueAtDueClock: number;
  readonly lease: SessionLease;
};

/**
 * Returns the parts of an answer that may be stored in clear: codes of the standard, no terminal
 * text.
 */
function resultCodesOf(reading: Reading): { result?: string; errorCondition?: string } {
  const response =
    reading.kind === 'Message'
      ? reading.message.body['Response']
      : reading.kind === 'Faulty'
        ? reading.response
        : undefined;
  if (typeof response !== 'object' || response === null) return {};
  const { Result, ErrorCondition } = response as Readonly<Record<string, unknown>>;
  const isResult = ['Success', 'Partial', 'Failure'].includes(String(Result));
  const isCondition =
    typeof ErrorCondition === 'string' && Object.hasOwn(errorConditions, ErrorCondition);
  return {
    ...(isResult ? { result: String(Result) } : {}),
    ...(isCondition ? { errorCondition: ErrorCondition } : {}),
  };
}

/** @throws rate_limited overloaded */
function acquireSlot(running: ConcurrencyCounter, caller: Caller): () => void {
  const slot = running.tryBegin(clientKeyOf(caller));
  if (typeof slot === 'function') return slot;
  return throwProblem(
    slot === 'KeyLimit' ? 'rate_limited' : 'overloaded',
    'Too many messages wait for a response.',
    { retryAfterMs: 1000 },
  );
}

type Deps = Pick<RetailApiDeps, 'clock' | 'dueClock' | 'log' | 'times'> & {
  readonly sessionPool: TerminalSessionPool;
  readonly store: MessageStore;
  readonly terminals: RetailTerminals;
  /** Called when a message has reached its final state. */
  readonly onCompleted: (messageKey: MessageKey) => void;
};

export type MessageSender = ReturnType<typeof createMessageSender>;

/** @example const text = await messageSender.sendAndWait(call); */
export function createMessageSender(deps: Deps) {
  const { sessionPool, store, terminals, clock, dueClock, log, onCompleted } = deps;
  const { answerMs } = { ...defaultRetailTimes, ...deps.times };
  const runningMessages = createConcurrencyCounter(messageLimits);
  const running = new Set<Promise<unknown>>();

  /** Retries after a database fault; the client gets the terminal's answer without this delay. */
  async function completeMessage(messageKey: MessageKey, outcome: MessageOutcome): Promise<void> {
    for (let remaining = settleTries; ; remaining -= 1) {
      try {
        await store.complete(messageKey, outcome);
        onCompleted(messageKey);
        return;
      } catch (error) {
        log.error({ err: error }, 'the server could not store the answer of a terminal');
        if (remaining <= 1) return;
        await new Promise((resolve) => setTimeout(resolve, settlePauseMs));
      }
    }
  }

  async function storeMessage(
    request: TerminalRequest,
    terminal: AssignedTerminal,
    { caller, dueAt, isPublished }: { caller: Caller; dueAt: number; isPublished: boolean },
  ): Promise<MessageKey | undefined> {
    const { service, hasResponse: isAnswered, header } = request;
    if (service === undefined) return undefined;
    const category = header.MessageCategory;
    const messageKey = await store.create({
      terminal,
      ...service,
      category,
      isPublished,
      hasResponse: isAnswered,
      dueAt,
    });
    return messageKey ?? throwServiceIdReused(await findEarlierMessage(caller, terminal, request));
  }

  /** Finds an earlier message with the same ServiceID. */
  async function findEarlierMessage(
    caller: Caller,
    terminal: Terminal,
    { service }: TerminalRequest,
  ) {
    return service === undefined
      ? undefined
      : store.find(terminal, service, messageScopeOf(caller));
  }

  async function startMessage(
    call: MessageCall,
    request: TerminalRequest,
    isPublished: boolean,
  ): Promise<StartedMessage> {
    const { posCaller, tsn, posId, waitSeconds, signal } = call;
    const dueAt = clock.now() + answerMs;
    const dueAtDueClock = dueClock.now() + answerMs;
    const terminal = await terminals.find(posCaller.caller, tsn);
    // This check comes first: a terminal that is offline now may have processed the earlier
    // message.
    const earlierMessage = await findEarlierMessage(posCaller.caller, terminal, request);
    if (earlierMessage !== undefined) throwServiceIdReused(earlierMessage);
    const lease = await sessionPool.acquire(
      posCaller,
      terminal,
      { tsn, posId, waitSeconds },
      signal,
    );
    try {
      if (signal.aborted) throwProblem('device_offline', 'The client has disconnected.');
      const assigned = terminals.asAssigned(terminal);
      const messageKey = await storeMessage(request, assigned, {
        caller: posCaller.caller,
        dueAt,
        isPublished,
      });
      return { request, terminal: assigned, messageKey, dueAt, dueAtDueClock, lease };
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  async function waitForAnswer({
    request,
    messageKey,
    dueAtDueClock,
    lease,
  }: StartedMessage): Promise<TerminalAnswer> {
    try {
      const remaining = Math.max(1, dueAtDueClock - dueClock.now());
      const answer = await lease.session.request(request.responseKey, request.text, remaining);
      if (messageKey !== undefined)
        void trackWork(
          completeMessage(messageKey, { text: answer.text, ...resultCodesOf(answer.reading) }),
        );
      return answer;
    } catch (error) {
      const fault: ErrorCode = error instanceof ProblemError ? error.code : 'internal_error';
      if (messageKey !== undefined) void trackWork(completeMessage(messageKey, { fault }));
      throw error;
    } finally {
      lease.release();
    }
  }

  function trackWork<Result>(work: Promise<Result>): Promise<Result> {
    running.add(work);
    const removeWork = () => running.delete(work);
    work.then(removeWork, removeWork);
    return work;
  }

  /** Sends a message that has no answer, in the active session on any node or in a new session. */
  async function sendWithoutResponse(call: MessageCall, request: TerminalRequest): Promise<void> {
    const { posCaller, tsn, posId } = call;
    const terminal = await terminals.find(posCaller.caller, tsn);
    const isSent = await sessionPool.sendToOtherNode(
      posCaller,
      terminal,
      { tsn, posId },
      request.text,
    );
    if (isSent) return;
    const { lease, messageKey } = await startMessage(call, request, false);
    try {
      if (lease.session.send(request.text)) return;
      if (messageKey !== undefined)
        await completeMessage(messageKey, { fault: 'device_disconnected' });
      throw sessionEndProblem('device_disconnected');
    } finally {
      lease.release();
    }
  }

  async function sendAndWaitForAnswer(
    call: MessageCall,
    request: TerminalRequest,
  ): Promise<string | undefined> {
    const releaseSlot = acquireSlot(runningMessages, call.posCaller.caller);
    try {
      if (!request.hasResponse) {
        await sendWithoutResponse(call, request);
        return undefined;
      }
      const { text } = await waitForAnswer(await startMessage(call, request, false));
      return text;
    } finally {
      releaseSlot();
    }
  }

  async function sendAndAccept(
    call: MessageCall,
    request: TerminalRequest,
    service: NonNullable<TerminalRequest['service']>,
  ): Promise<RetailAccepted> {
    const releaseSlot = acquireSlot(runningMessages, call.posCaller.caller);
    try {
      const started = await startMessage(call, request, true);
      // The server stores the final state and publishes it as an event.
      void trackWork(waitForAnswer(started).then(releaseSlot, releaseSlot));
      const { terminal, messageKey, dueAt } = started;
      const category = request.header.MessageCategory;
      const messageNames = {
        messageId: messageKey?.messageId ?? '',
        tsn: terminal.tsn,
        ...service,
        category,
      };
      return { ...messageNames, dueAt: isoTime(dueAt) };
    } catch (error) {
      releaseSlot();
      throw error;
    }
  }

  return {
    /** Finds messages of the last 48 hours. */
    find: store.find,

    /** Returns the answer unchanged; undefined for a message that has no answer. */
    async sendAndWait(call: MessageCall): Promise<string | undefined> {
      const request = readTerminalRequest(call.body);
      sessionPool.requireRunning();
      return trackWork(sendAndWaitForAnswer(call, request));
    },

    /** Returns after the server has sent the message. */
    async sendWithoutWaiting(call: MessageCall): Promise<RetailAccepted> {
      const request = readTerminalRequest(call.body);
      const { service } = request;
      if (service === undefined || !request.hasResponse) {
        return throwProblem(
          'nexo_invalid',
          'This operation returns before the terminal answers, so it accepts only service requests that have a response.',
        );
      }
      sessionPool.requireRunning();
      return trackWork(sendAndAccept(call, request, service));
    },

    /** Resolves when all clients have an answer and the server has stored all results. */
    async waitForIdle(): Promise<void> {
      while (running.size > 0) await Promise.allSettled([...running]);
    },
  };
}
