// The simulated terminal: receives messages, runs the services, sends the answers.
import { defined, parseTsn } from '@switchyard/contract';
import {
  type AnyMessage,
  answerHeader,
  buildEventNotification,
  createPoiDialogue,
  failureTo,
  type Header,
  NexoError,
  type PoiDecision,
  type Reading,
  readMessage,
  writeMessage,
} from '@switchyard/nexo';
import { createPinPad } from './cards/pin-pad.ts';
import type { TerminalFault } from './cards/test-amounts.ts';
import { type ActiveRequest, createTillRequests } from './connections/till-requests.ts';
import { pause } from './context/pause.ts';
import {
  PowerLostError,
  type RuntimeState,
  type ScreenContent,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  type TerminalChannel,
  type TerminalTimes,
} from './context/service-context.ts';
import { errorEvent, messageEvent } from './context/terminal-events.ts';
import type { Terminal, TerminalOptions } from './context/terminal-interface.ts';
import { createCardholder } from './payments/cardholder.ts';
import { addReprint } from './payments/reprint-receipts.ts';
import { processQueue } from './payments/reversal-and-upload-queue.ts';
import {
  abandonedAnswers,
  answerAfterRestart,
  retryUntilRecovered,
} from './recovery/finish-interrupted-service.ts';
import { finishService, mayHaveEffect, saveDialogue } from './recovery/save-dialogue.ts';
import { findService } from './services/service-table.ts';
import {
  findInterruptedService,
  nothingPending,
  openTerminalStore,
  type TerminalStore,
} from './storage/terminal-store.ts';
import { createControls } from './terminal-controls.ts';

const standardTimes: TerminalTimes = {
  stepMs: 400,
  cardWaitMs: 60_000,
  lateAnswerMs: 10_000,
  rebootMs: 2_000,
  enquiryMs: 1_000,
  saleValidMs: 15_000,
};
const queueIntervalMs = 5_000;

type Task = {
  readonly controller: AbortController;
  readonly channel: TerminalChannel;
  isCommitted: boolean;
};

const taskKey = ({ SaleID, ServiceID, DeviceID, MessageClass }: Header): string =>
  [SaleID, ServiceID, MessageClass === 'Device' ? DeviceID : ''].join('\n');

function initialRuntimeState(): RuntimeState {
  return {
    hasPaper: true,
    isInMaintenance: false,
    isBusy: false,
    isRecovering: true,
    isReachable: true,
    fault: undefined,
    cardName: 'mastercard',
    acquiredCard: undefined,
    capabilities: new Map(),
    lastReceipt: [],
    inputs: new Map(),
  };
}

/** Decrypts a protected message; returns it unchanged where that fails. */
function openProtected(
  reading: Reading,
  channel: TerminalChannel,
  emit: ServiceContext['emit'],
): Reading {
  if (reading.kind !== 'Protected') return reading;
  const inner = channel.protection?.open(reading);
  if (inner !== undefined && inner.kind !== 'Rejected') return inner;
  emit({
    type: 'Ignored',
    reason: inner?.error ?? 'the message is protected, and the terminal has no key',
  });
  return reading;
}

function requireReady(
  { isBusy, isRecovering, isInMaintenance }: RuntimeState,
  { MessageClass, MessageCategory }: Header,
): void {
  const isAlways = ['Login', 'Logout', 'Diagnosis'].includes(MessageCategory);
  if (MessageClass !== 'Service' || isAlways) return;
  if (!(isBusy || isRecovering || isInMaintenance)) return;
  throw new ServiceError('Busy', isInMaintenance ? 'maintenance' : 'busy');
}

/**
 * Creates a simulated terminal; one for each directory. It resolves the interrupted work of an earlier process.
 *
 * @example
 * const terminal = createTerminal({ tsn, dataDir, platform, keys, now: Date.now, random: randomBytes });
 */
export function createTerminal(options: TerminalOptions): Terminal {
  const { tsn: poiId, now, platform, onEvent: emit = () => undefined } = options;
  const store: TerminalStore = openTerminalStore(options.dataDir);
  const runtime = initialRuntimeState();
  const channels = new Set<TerminalChannel>();
  const saleIds = new Map<TerminalChannel, string>();
  let tasks = new Map<string, Task>();
  let generation = 0;
  let isOff = false;
  let power = new AbortController();
  let activeRequest: ActiveRequest | undefined;
  let screen: ScreenContent = { state: 'Idle', lines: ['Welcome'] };
  let poi = createDialogue();
  const times = { ...standardTimes, ...options.times };
  const cardholder =
    options.isManual === true ? createCardholder(display, times.cardWaitMs) : undefined;

  const at = () => new Date(now()).toISOString();
  const till = createTillRequests({
    poiId,
    now,
    runtime,
    send,
    trackRequest: (request) => poi.trackDeviceRequest(request),
  });
  const context: ServiceContext = {
    poiId,
    serialNumber: parseTsn(poiId).serialNumber,
    now,
    platform,
    store,
    runtime,
    emit,
    show,
    cardholder,
    askCashier: till.askCashier,
    sleep: pause,
    random: options.random,
    countryNumeric: options.countryNumeric ?? '250',
    power: () => power.signal,
    times,
    pad: createPinPad(options.keys, store.read().keys),
  };

  function createDialogue() {
    const { dialogue } = store.read();
    return createPoiDialogue({
      poiId,
      now,
      ...defined({ loginRequired: options.loginRequired, memory: dialogue }),
    });
  }

  function sendClear(message: AnyMessage, channel: TerminalChannel): void {
    send(message, { ...channel, protection: undefined });
  }

  function send(message: AnyMessage, channel: TerminalChannel): void {
    let text: string;
    try {
      text = channel.protection?.protect(message) ?? writeMessage(message);
    } catch (error) {
      if (!(error instanceof NexoError)) throw error;
      emit(errorEvent(error));
      return;
    }
    emit(messageEvent('Sent', message));
    channel.send(text);
  }

  function show(state: ScreenContent['state'], ...lines: string[]): void {
    display({ state, lines });
  }

  function display(next: ScreenContent): void {
    const isNew = screen.state !== next.state;
    screen = next;
    emit({ type: 'Screen', screen });
    if (isNew && activeRequest !== undefined) till.showCashierStatus(activeRequest, next.lines);
  }

  /** Sends the rejection unencrypted, because the till may not have the key. The reason has no cryptographic detail. */
  function sendClearRejection(decision: PoiDecision, channel: TerminalChannel): void {
    if (decision.do === 'Notify') sendClear(decision.message, channel);
    if (decision.do === 'Ignore') emit({ type: 'Ignored', reason: decision.reason });
  }

  async function receive(text: string | Uint8Array, channel: TerminalChannel): Promise<boolean> {
    if (isOff) return false;
    const raw = readMessage(text);
    if (channel.protection !== undefined && raw.kind !== 'Protected') {
      sendClearRejection(poi.reject(raw, text, 'message protection is required'), channel);
      return true;
    }
    const reading = openProtected(raw, channel, emit);
    if (reading.kind === 'Protected') {
      sendClearRejection(poi.receive(reading, text), channel);
      return true;
    }
    if (reading.kind === 'Message') {
      saleIds.set(channel, reading.message.header.SaleID);
      emit(messageEvent('Received', reading.message));
    }
    const decision = saveDialogue(context, poi, poi.receive(reading, text));
    await handleDecision(addReprint(context, reading, decision), channel);
    return true;
  }

  async function handleDecision(decision: PoiDecision, channel: TerminalChannel): Promise<void> {
    if (decision.do === 'Answer' || decision.do === 'Notify') send(decision.message, channel);
    if (decision.do === 'Ignore') emit({ type: 'Ignored', reason: decision.reason });
    if (decision.do === 'Take') till.receiveAnswer(decision.message);
    if (decision.do === 'Abort') {
      const task = tasks.get(taskKey(decision.running));
      if (task === undefined || task.isCommitted) {
        send(poi.cannotAbort(decision.message), channel);
      } else task.controller.abort(new ServiceError('Aborted'));
    }
    if (decision.do === 'Run') await run(decision.message, channel);
  }

  /** The answer; undefined for a notification, which has none. */
  async function answerOf(
    message: AnyMessage,
    call: ServiceCall,
  ): Promise<AnyMessage | 'PowerLost' | undefined> {
    const { header } = message;
    try {
      requireReady(runtime, header);
      const reply = await findService(header.MessageCategory)(call as ServiceCall<never>, context);
      return header.MessageType === 'Notification'
        ? undefined
        : { header: answerHeader(header), body: reply };
    } catch (error) {
      if (error instanceof PowerLostError) return 'PowerLost';
      if (!(error instanceof ServiceError)) {
        emit(errorEvent(error));
        if (mayHaveEffect(context, poi, header)) return 'PowerLost';
      }
      const { condition, additional, transactionId } =
        error instanceof ServiceError
          ? error
          : new ServiceError('UnavailableService', 'terminal_fault');
      if (header.MessageClass === 'Service') show('Declined', additional ?? condition);
      return failureTo(message, condition, {
        at: at(),
        ...defined({ additional, transactionId }),
      });
    }
  }

  async function run(message: AnyMessage, channel: TerminalChannel): Promise<void> {
    const { header } = message;
    const ownGeneration = generation;
    const task: Task = { controller: new AbortController(), channel, isCommitted: false };
    let fault: TerminalFault | undefined;
    tasks.set(taskKey(header), task);
    const isMain = poi.running() === header;
    if (isMain) activeRequest = { header, channel };
    const call: ServiceCall = {
      header,
      channel,
      signal: task.controller.signal,
      body: message.body as ServiceCall['body'],
      preventAbort: () => {
        if (task.controller.signal.aborted) throw task.controller.signal.reason as Error;
        task.isCommitted = true;
      },
      injectFault: (chosen) => {
        fault = chosen;
      },
    };
    const answer = await answerOf(message, call);
    if (ownGeneration !== generation) return;
    const isLost = answer === 'PowerLost';
    if (isLost || (answer !== undefined && !finishService(context, poi, { answer, isMain }))) {
      await reboot();
      return;
    }
    tasks.delete(taskKey(header));
    if (answer !== undefined) await deliver(answer, channel, fault);
    if (!isMain || ownGeneration !== generation) return;
    activeRequest = undefined;
    void showIdleLater(ownGeneration);
  }

  async function showIdleLater(ownGeneration: number): Promise<void> {
    await context.sleep(context.times.stepMs * 3);
    if (ownGeneration !== generation || poi.running() !== undefined) return;
    const isEnded = ['Approved', 'Declined', 'Asking', 'Pin', 'Card'].includes(screen.state);
    if (isEnded && runtime.acquiredCard === undefined) showIdle();
  }

  function showIdle(): void {
    if (runtime.isInMaintenance) show('OutOfService', 'Maintenance');
    else show('Idle', 'Welcome');
  }

  async function deliver(
    answer: AnyMessage,
    channel: TerminalChannel,
    fault: TerminalFault | undefined,
  ): Promise<void> {
    if (fault !== undefined) emit({ type: 'Fault', fault });
    if (fault === 'DropAfter') {
      channel.drop();
      return;
    }
    if (fault === 'Delay') await context.sleep(context.times.lateAnswerMs);
    if (fault === 'Garbage') {
      channel.send('{"SaleToPOIResponse":{"MessageHeader":{"MessageClass"');
      return;
    }
    send(answer, channel);
    if (fault === 'Duplicate') send(answer, channel);
  }

  const recover = (ownGeneration: number): Promise<void> =>
    retryUntilRecovered(context, () => recoverOnce(ownGeneration));

  async function recoverOnce(ownGeneration: number): Promise<void> {
    const memory = store.read();
    const begun = findInterruptedService(memory);
    const abandoned = abandonedAnswers(context, memory.dialogue?.services ?? [], begun);
    for (const answer of abandoned) poi.finish(answer);
    if (abandoned.length > 0) store.update({ dialogue: poi.memory() });
    if (begun !== undefined) {
      const answer = await answerAfterRestart(context);
      if (ownGeneration !== generation) return;
      if (answer !== undefined) poi.finish(answer);
      store.update({ dialogue: poi.memory(), ...nothingPending });
    }
    runtime.isRecovering = false;
  }

  async function reboot(): Promise<void> {
    generation += 1;
    const ownGeneration = generation;
    isOff = true;
    power.abort(new PowerLostError('off'));
    power = new AbortController();
    activeRequest = undefined;
    emit({ type: 'Fault', fault: 'Reboot' });
    // Close the connections of waiting tills, also of those that are not attached.
    const broken = new Set(channels);
    for (const { controller, channel } of tasks.values()) {
      controller.abort(new PowerLostError('off'));
      broken.add(channel);
    }
    tasks = new Map();
    till.cancelAll();
    for (const channel of broken) channel.drop();
    channels.clear();
    runtime.capabilities.clear();
    Object.assign(runtime, { held: undefined, fault: undefined });
    show('OutOfService', 'Starting');
    await context.sleep(context.times.rebootMs);
    if (ownGeneration !== generation) return;
    poi = createDialogue();
    runtime.isRecovering = true;
    isOff = false;
    showIdle();
    notify('Initialised');
    await recover(ownGeneration);
  }

  function notify(event: Parameters<typeof buildEventNotification>[0]): void {
    for (const channel of channels) {
      const saleId = saleIds.get(channel);
      if (channel.isTwoWay && saleId !== undefined) {
        send(buildEventNotification(event, { saleId, poiId }, { at: at() }), channel);
      }
    }
  }

  const processQueueNow = () => processQueue(context);
  const timer = setInterval(processQueueNow, queueIntervalMs);
  timer.unref();
  const recovering = recover(generation).then(processQueueNow);

  return {
    tsn: poiId,
    receive,
    reboot,
    screen: () => screen,
    input: (input) => cardholder?.input(input),
    attach(channel) {
      channels.add(channel);
      return () => {
        channels.delete(channel);
        saleIds.delete(channel);
      };
    },
    ...createControls({ runtime, store, notify, showIdle, settle: processQueueNow }),
    async stop() {
      notify('Shutdown');
      clearInterval(timer);
      power.abort(new PowerLostError('off'));
      await recovering;
      generation += 1;
      isOff = true;
      for (const { controller } of tasks.values()) controller.abort(new PowerLostError('off'));
      platform.close();
    },
  };
}
