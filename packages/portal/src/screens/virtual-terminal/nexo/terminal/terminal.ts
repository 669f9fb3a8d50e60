/** The simulated terminal of the page: a machine over the dialogue, whose services pay at the platform. */
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  answerHeader,
  createPoiDialogue,
  failureTo,
  type Header,
  type PoiDecision,
  readMessage,
  writeMessage,
} from '@switchyard/nexo';
import type { TerminalPlatform } from './payment-api.ts';
import { abandoned, answerAfterRestart } from './restart-recovery.ts';
import { settleOwed } from './sale-outcome.ts';
import { type Inside, type TerminalTimes, usualTimes, type Work } from './service-context.ts';
import { ServiceFault } from './service-error.ts';
import { serviceOf } from './services.ts';
import { createPanel, type Panel } from './terminal-panel.ts';
import { openMemory, type Shelf } from './terminal-storage.ts';

export type TerminalDeps = {
  readonly tsn: string;
  readonly platform: TerminalPlatform;
  readonly shelf: Shelf;
  readonly now: () => number;
  readonly randomHex: (bytes: number) => string;
  readonly pause: (ms: number) => Promise<void>;
  /** To the till; what cannot be sent is asked for by it. */
  readonly send: (text: string) => void;
  /** What nobody expected: for people to see. */
  readonly onFault: (fault: unknown) => void;
  readonly times?: Partial<TerminalTimes>;
};

export type Terminal = {
  readonly panel: Panel;
  /** What came from the till. */
  receive(text: string): void;
  /** Once what an earlier page has left open has its answer. */
  readonly ready: Promise<void>;
  /**
   * Switches it off: what is not at the platform yet is not paid here; resolves once the rest has its end.
   * `Replaced`: another terminal has its name, and what is approved now is taken back, since nobody could
   * ask here for it.
   */
  switchOff(why: 'Left' | 'Replaced'): Promise<void>;
  /** Tries again to take back what is owed. */
  settle(): Promise<void>;
};

type Task = { readonly controller: AbortController; isCommitted: boolean };

const taskKey = ({ SaleID, ServiceID }: Header): string => `${SaleID}\n${ServiceID}`;
/** Those that go while the terminal finds out what an earlier page has left. */
const always: readonly string[] = ['Login', 'Logout', 'Diagnosis'];

/** @example const terminal = createTerminal(deps); socket.onmessage = ({ data }) => terminal.receive(data); */
export function createTerminal(deps: TerminalDeps): Terminal {
  const { tsn, now, send, onFault } = deps;
  const times = { ...usualTimes, ...deps.times };
  const keeper = openMemory(deps.shelf, tsn);
  const panel = createPanel(times);
  const poi = createPoiDialogue({ poiId: tsn, now, memory: keeper.read().dialogue });
  const tasks = new Map<string, Task>();
  const running = new Set<Promise<void>>();
  let isOff = false;
  let isReplaced = false;
  let isReady = false;
  let displayCount = 0;
  const inside: Inside = {
    tsn,
    now,
    keeper,
    panel,
    times,
    platform: deps.platform,
    randomHex: deps.randomHex,
    pause: deps.pause,
    isReplaced: () => isReplaced,
  };
  const at = () => new Date(now()).toISOString();
  const sendMessage = (message: AnyMessage): void => send(writeMessage(message));

  /** The end of a service stands on the screen for a while. */
  async function idleSoon(): Promise<void> {
    displayCount += 1;
    const ownCount = displayCount;
    await deps.pause(times.endMs);
    if (ownCount === displayCount && poi.running() === undefined && !isOff) panel.show({ state: 'Idle' });
  }

  function failureOf(message: AnyMessage, error: unknown): AnyMessage | undefined {
    if (!(error instanceof ServiceFault)) onFault(error);
    const fault =
      error instanceof ServiceFault
        ? error
        : new ServiceFault('UnavailableService', 'terminal_fault');
    const { condition, additional, transactionId } = fault;
    const isOnScreen = ['Payment', 'Reversal'].includes(message.header.MessageCategory);
    if (isOnScreen) panel.show({ state: 'Declined', condition, text: additional });
    return failureTo(message, condition, {
      at: at(),
      ...defined({ additional, transactionId }),
    });
  }

  async function answerOf(message: AnyMessage, work: Work): Promise<AnyMessage | undefined> {
    const { header } = message;
    try {
      if (!isReady && !always.includes(header.MessageCategory)) {
        throw new ServiceFault('Busy', 'terminal_starting');
      }
      const service = serviceOf(header.MessageCategory);
      return { header: answerHeader(header), body: await service(work as Work<never>, inside) };
    } catch (error) {
      return failureOf(message, error);
    }
  }

  function workOf({ header, body }: AnyMessage, task: Task): Work {
    const { signal } = task.controller;
    return {
      header,
      signal,
      body: body as Work['body'],
      commit() {
        signal.throwIfAborted();
        task.isCommitted = true;
      },
      release() {
        task.isCommitted = false;
      },
    };
  }

  async function run(message: AnyMessage): Promise<void> {
    const { header } = message;
    const isMain = poi.running() === header;
    const task: Task = { controller: new AbortController(), isCommitted: false };
    tasks.set(taskKey(header), task);
    const answer = await answerOf(message, workOf(message, task));
    tasks.delete(taskKey(header));
    if (answer !== undefined) {
      poi.finish(answer);
      keeper.save({ dialogue: poi.memory(), ...(isMain && isReady ? { pending: undefined } : {}) });
      sendMessage(answer);
    }
    if (isMain) idleSoon().catch(onFault);
  }

  function begin(message: AnyMessage): void {
    const work = run(message).catch(onFault);
    running.add(work);
    void work.then(() => running.delete(work));
  }

  function abort(running: Header, message: AnyMessage): void {
    const task = tasks.get(taskKey(running));
    if (task === undefined || task.isCommitted) sendMessage(poi.cannotAbort(message));
    else task.controller.abort(new ServiceFault('Aborted', 'aborted'));
  }

  function act(decision: PoiDecision): void {
    if (decision.do === 'Answer' || decision.do === 'Notify') sendMessage(decision.message);
    if (decision.do === 'Abort') abort(decision.running, decision.message);
    if (decision.do === 'Run') begin(decision.message);
  }

  async function recover(): Promise<void> {
    for (const answer of abandoned(inside)) poi.finish(answer);
    const { pending } = keeper.read();
    if (pending !== undefined) {
      const answer = await answerAfterRestart(inside, pending);
      if (answer !== undefined) poi.finish(answer);
    }
    keeper.save({ dialogue: poi.memory(), pending: undefined });
    isReady = true;
    if (!isOff) panel.show({ state: 'Idle' });
    await settleOwed(inside);
  }

  return {
    panel,
    ready: recover(),
    settle: () => settleOwed(inside),
    receive(text) {
      if (isOff) return;
      const reading = readMessage(text);
      // A page has no key: the dialogue rejects a protected message.
      const decision = poi.receive(reading, text);
      keeper.save({ dialogue: poi.memory() });
      act(decision);
    },
    async switchOff(why) {
      isOff = true;
      isReplaced ||= why === 'Replaced';
      for (const { controller, isCommitted } of tasks.values()) {
        if (!isCommitted) controller.abort(new ServiceFault('Aborted', 'terminal_closed'));
      }
      panel.leave();
      await Promise.all(running);
      panel.show({ state: 'Off' });
    },
  };
}
