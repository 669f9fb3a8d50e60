/** The simulated terminal of the page. It runs Nexo services and pays through the platform. */
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
import type { PaymentApi } from './payment-api.ts';
import { abandonedAnswers, answerAfterRestart } from './restart-recovery.ts';
import { sendUnsentReversals } from './sale-outcome.ts';
import {
  type ServiceContext,
  type ServiceRequest,
  type TerminalTimes,
  usualTimes,
} from './service-context.ts';
import { ServiceError } from './service-error.ts';
import { serviceForCategory } from './services.ts';
import { createTerminalPanel, type TerminalPanel } from './terminal-panel.ts';
import { type KeyValueStorage, openTerminalStorage } from './terminal-storage.ts';

export type TerminalOptions = {
  readonly tsn: string;
  readonly platform: PaymentApi;
  readonly storage: KeyValueStorage;
  readonly now: () => number;
  readonly randomHex: (bytes: number) => string;
  readonly pause: (ms: number) => Promise<void>;
  /**
   * Sends a message to the point of sale. If this fails, the point of sale queries the response.
   */
  readonly send: (text: string) => void;
  /** Called with unexpected errors. */
  readonly onFault: (fault: unknown) => void;
  readonly times?: Partial<TerminalTimes>;
};

export type Terminal = {
  readonly panel: TerminalPanel;
  /** Receives a message of the point of sale. */
  receive(text: string): void;
  /** Resolves when an interrupted service of an earlier page is completed. */
  readonly ready: Promise<void>;
  /**
   * Switches the terminal off. A payment that the platform has not received is not made; the
   * promise resolves when all others are completed. `Replaced`: another terminal uses this
   * identity, so a sale approved now is reversed, because the point of sale cannot query it here.
   */
  switchOff(why: 'Left' | 'Replaced'): Promise<void>;
  /** Sends waiting reversals again. */
  sendUnsentReversals(): Promise<void>;
};

type Task = { readonly controller: AbortController; isCommitted: boolean };

const taskKey = ({ SaleID, ServiceID }: Header): string => `${SaleID}\n${ServiceID}`;
/** Services that are available during the recovery. */
const always: readonly string[] = ['Login', 'Logout', 'Diagnosis'];

/**
 * @example const terminal = createTerminal(options); socket.onmessage = ({ data }) =>
 * terminal.receive(data);
 */
export function createTerminal(deps: TerminalOptions): Terminal {
  const { tsn, now, send, onFault } = deps;
  const times = { ...usualTimes, ...deps.times };
  const storage = openTerminalStorage(deps.storage, tsn);
  const panel = createTerminalPanel(times);
  const poi = createPoiDialogue({ poiId: tsn, now, memory: storage.read().dialogue });
  const tasks = new Map<string, Task>();
  const running = new Set<Promise<void>>();
  let isOff = false;
  let isReplaced = false;
  let isReady = false;
  let displayCount = 0;
  const inside: ServiceContext = {
    tsn,
    now,
    storage,
    panel,
    times,
    platform: deps.platform,
    randomHex: deps.randomHex,
    pause: deps.pause,
    isReplaced: () => isReplaced,
  };
  const at = () => new Date(now()).toISOString();
  const sendMessage = (message: AnyMessage): void => send(writeMessage(message));

  /** Shows the result for a while before the idle screen. */
  async function idleSoon(): Promise<void> {
    displayCount += 1;
    const ownCount = displayCount;
    await deps.pause(times.endMs);
    if (ownCount === displayCount && poi.running() === undefined && !isOff)
      panel.show({ state: 'Idle' });
  }

  function failureOf(message: AnyMessage, error: unknown): AnyMessage | undefined {
    if (!(error instanceof ServiceError)) onFault(error);
    const fault =
      error instanceof ServiceError
        ? error
        : new ServiceError('UnavailableService', 'terminal_fault');
    const { condition, additional, transactionId } = fault;
    const isOnScreen = ['Payment', 'Reversal'].includes(message.header.MessageCategory);
    if (isOnScreen) panel.show({ state: 'Declined', condition, text: additional });
    return failureTo(message, condition, {
      at: at(),
      ...defined({ additional, transactionId }),
    });
  }

  async function answerOf(
    message: AnyMessage,
    work: ServiceRequest,
  ): Promise<AnyMessage | undefined> {
    const { header } = message;
    try {
      if (!isReady && !always.includes(header.MessageCategory)) {
        throw new ServiceError('Busy', 'terminal_starting');
      }
      const service = serviceForCategory(header.MessageCategory);
      return {
        header: answerHeader(header),
        body: await service(work as ServiceRequest<never>, inside),
      };
    } catch (error) {
      return failureOf(message, error);
    }
  }

  function workOf({ header, body }: AnyMessage, task: Task): ServiceRequest {
    const { signal } = task.controller;
    return {
      header,
      signal,
      body: body as ServiceRequest['body'],
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
      storage.save({
        dialogue: poi.memory(),
        ...(isMain && isReady ? { pending: undefined } : {}),
      });
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
    else task.controller.abort(new ServiceError('Aborted', 'aborted'));
  }

  function act(decision: PoiDecision): void {
    if (decision.do === 'Answer' || decision.do === 'Notify') sendMessage(decision.message);
    if (decision.do === 'Abort') abort(decision.running, decision.message);
    if (decision.do === 'Run') begin(decision.message);
  }

  async function recover(): Promise<void> {
    for (const answer of abandonedAnswers(inside)) poi.finish(answer);
    const { pending } = storage.read();
    if (pending !== undefined) {
      const answer = await answerAfterRestart(inside, pending);
      if (answer !== undefined) poi.finish(answer);
    }
    storage.save({ dialogue: poi.memory(), pending: undefined });
    isReady = true;
    if (!isOff) panel.show({ state: 'Idle' });
    await sendUnsentReversals(inside);
  }

  return {
    panel,
    ready: recover(),
    sendUnsentReversals: () => sendUnsentReversals(inside),
    receive(text) {
      if (isOff) return;
      const reading = readMessage(text);
      // A page has no key: the dialogue rejects a protected message.
      const decision = poi.receive(reading, text);
      storage.save({ dialogue: poi.memory() });
      act(decision);
    },
    async switchOff(why) {
      isOff = true;
      isReplaced ||= why === 'Replaced';
      for (const { controller, isCommitted } of tasks.values()) {
        if (!isCommitted) controller.abort(new ServiceError('Aborted', 'terminal_closed'));
      }
      panel.leave();
      await Promise.all(running);
      panel.show({ state: 'Off' });
    },
  };
}
