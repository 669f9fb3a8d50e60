// The simulated terminal: a machine over the dialogue, whose services pay at the platform.
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  answerHeader,
  createPoiDialogue,
  eventOf,
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
import { createTill, type Doing } from './connections/till-requests.ts';
import { pause } from './context/pause.ts';
import {
  type Inside,
  type Moment,
  PowerFault,
  ServiceFault,
  type TerminalChannel,
  type TerminalScreen,
  type TerminalTimes,
  type Work,
} from './context/service-context.ts';
import { faultOf, happeningOf } from './context/terminal-events.ts';
import type { Terminal, TerminalOptions } from './context/terminal-interface.ts';
import { reprinted } from './payments/reprint-receipts.ts';
import { workOff } from './payments/reversal-and-upload-queue.ts';
import {
  abandoned,
  answerAfterRestart,
  untilFoundOut,
} from './recovery/finish-interrupted-service.ts';
import { isBegun, isFinished, writtenDown } from './recovery/save-dialogue.ts';
import { serviceOf } from './services/service-table.ts';
import { begunIn, type Keeper, nothingBegun, openMemory } from './storage/terminal-store.ts';
import { controlsOf } from './terminal-controls.ts';

const standardTimes: TerminalTimes = {
  step: 400,
  card: 60_000,
  late: 10_000,
  reboot: 2_000,
  enquiry: 1_000,
  valid: 15_000,
};
const workOffEveryMs = 5_000;

type Task = {
  readonly controller: AbortController;
  readonly channel: TerminalChannel;
  isCommitted: boolean;
};

const taskKey = ({ SaleID, ServiceID, DeviceID, MessageClass }: Header): string =>
  [SaleID, ServiceID, MessageClass === 'Device' ? DeviceID : ''].join('\n');

function serialOf(tsn: string): string {
  return tsn.slice(tsn.lastIndexOf('-') + 1);
}

function startMoment(): Moment {
  return {
    hasPaper: true,
    isInMaintenance: false,
    isBusy: false,
    isRecovering: true,
    isReachable: true,
    fault: undefined,
    cardName: 'mastercard',
    held: undefined,
    capabilities: new Map(),
    lastReceipt: [],
    typed: new Map(),
  };
}

/** What is inside of a protected message; the protected message itself where it does not open. */
function opened(reading: Reading, channel: TerminalChannel, tell: Inside['tell']): Reading {
  if (reading.kind !== 'Protected') return reading;
  const inner = channel.protection?.open(reading);
  if (inner !== undefined && inner.kind !== 'Refused') return inner;
  tell({ type: 'Ignored', reason: inner?.refusal ?? 'protected, and there is no key' });
  return reading;
}

function demandReady(
  { isBusy, isRecovering, isInMaintenance }: Moment,
  { MessageClass, MessageCategory }: Header,
): void {
  const isAlways = ['Login', 'Logout', 'Diagnosis'].includes(MessageCategory);
  if (MessageClass !== 'Service' || isAlways) return;
  if (!(isBusy || isRecovering || isInMaintenance)) return;
  throw new ServiceFault('Busy', isInMaintenance ? 'maintenance' : 'busy');
}

/**
 * Makes a simulated terminal; one of each directory. It takes up what an earlier one has left open.
 *
 * @example
 * const terminal = createTerminal({ tsn, dataDir, platform, keys, now: Date.now, random: randomBytes });
 */
export function createTerminal(options: TerminalOptions): Terminal {
  const { tsn: poiId, now, platform, tell = () => undefined } = options;
  const keeper: Keeper = openMemory(options.dataDir);
  const moment = startMoment();
  const channels = new Set<TerminalChannel>();
  const saleIds = new Map<TerminalChannel, string>();
  let tasks = new Map<string, Task>();
  let generation = 0;
  let isOff = false;
  let power = new AbortController();
  let doing: Doing | undefined;
  let screen: TerminalScreen = { state: 'Idle', lines: ['Welcome'] };
  let poi = wake();

  const at = () => new Date(now()).toISOString();
  const till = createTill({
    poiId,
    now,
    moment,
    send,
    ask: (request) => poi.ask(request),
  });
  const inside: Inside = {
    poiId,
    serialNumber: serialOf(poiId),
    now,
    platform,
    keeper,
    moment,
    tell,
    show,
    askTill: till.askTill,
    sleep: pause,
    random: options.random,
    countryNumeric: options.countryNumeric ?? '250',
    power: () => power.signal,
    times: { ...standardTimes, ...options.times },
    pad: createPinPad(options.keys, keeper.read().keys),
  };

  function wake() {
    const { dialogue } = keeper.read();
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
      tell(faultOf(error));
      return;
    }
    tell(happeningOf('Sent', message));
    channel.send(text);
  }

  function show(state: TerminalScreen['state'], ...lines: string[]): void {
    const isNew = screen.state !== state;
    screen = { state, lines };
    tell({ type: 'Screen', screen });
    if (isNew && doing !== undefined) till.mirror(doing, lines);
  }

  /** In clear: the till may have no key that the terminal knows. The reason never says what did not fit. */
  function rejectClear(decision: PoiDecision, channel: TerminalChannel): void {
    if (decision.do === 'Notify') sendClear(decision.message, channel);
    if (decision.do === 'Ignore') tell({ type: 'Ignored', reason: decision.reason });
  }

  async function receive(text: string | Uint8Array, channel: TerminalChannel): Promise<boolean> {
    if (isOff) return false;
    const raw = readMessage(text);
    if (channel.protection !== undefined && raw.kind !== 'Protected') {
      rejectClear(poi.reject(raw, text, 'has to be protected'), channel);
      return true;
    }
    const reading = opened(raw, channel, tell);
    if (reading.kind === 'Protected') {
      rejectClear(poi.receive(reading, text), channel);
      return true;
    }
    if (reading.kind === 'Message') {
      saleIds.set(channel, reading.message.header.SaleID);
      tell(happeningOf('Received', reading.message));
    }
    const decision = writtenDown(inside, poi, poi.receive(reading, text));
    await act(reprinted(inside, reading, decision), channel);
    return true;
  }

  async function act(decision: PoiDecision, channel: TerminalChannel): Promise<void> {
    if (decision.do === 'Answer' || decision.do === 'Notify') send(decision.message, channel);
    if (decision.do === 'Ignore') tell({ type: 'Ignored', reason: decision.reason });
    if (decision.do === 'Take') till.take(decision.message);
    if (decision.do === 'Abort') {
      const task = tasks.get(taskKey(decision.running));
      if (task === undefined || task.isCommitted) {
        send(poi.cannotAbort(decision.message), channel);
      } else task.controller.abort(new ServiceFault('Aborted'));
    }
    if (decision.do === 'Run') await run(decision.message, channel);
  }

  /** The answer; undefined where the terminal has lost its power, or there is none to give. */
  async function answerOf(
    message: AnyMessage,
    work: Work,
  ): Promise<AnyMessage | 'PowerLost' | undefined> {
    const { header } = message;
    try {
      demandReady(moment, header);
      const reply = await serviceOf(header.MessageCategory)(work as Work<never>, inside);
      return header.MessageType === 'Notification'
        ? undefined
        : { header: answerHeader(header), body: reply };
    } catch (error) {
      if (error instanceof PowerFault) return 'PowerLost';
      if (!(error instanceof ServiceFault)) {
        tell(faultOf(error));
        if (isBegun(inside, poi, header)) return 'PowerLost';
      }
      const { condition, additional, transactionId } =
        error instanceof ServiceFault
          ? error
          : new ServiceFault('UnavailableService', 'terminal_fault');
      if (header.MessageClass === 'Service') show('Declined', additional ?? condition);
      return failureTo(message, condition, {
        at: at(),
        ...defined({ additional, transactionId }),
      });
    }
  }

  async function run(message: AnyMessage, channel: TerminalChannel): Promise<void> {
    const { header } = message;
    const mine = generation;
    const task: Task = { controller: new AbortController(), channel, isCommitted: false };
    let fault: TerminalFault | undefined;
    tasks.set(taskKey(header), task);
    const isMain = poi.running() === header;
    if (isMain) doing = { header, channel };
    const work: Work = {
      header,
      channel,
      signal: task.controller.signal,
      body: message.body as Work['body'],
      commit: () => {
        if (task.controller.signal.aborted) throw task.controller.signal.reason as Error;
        task.isCommitted = true;
      },
      spoil: (chosen) => {
        fault = chosen;
      },
    };
    const answer = await answerOf(message, work);
    if (mine !== generation) return;
    const isLost = answer === 'PowerLost';
    if (isLost || (answer !== undefined && !isFinished(inside, poi, { answer, isMain }))) {
      await reboot();
      return;
    }
    tasks.delete(taskKey(header));
    if (answer !== undefined) await deliver(answer, channel, fault);
    if (!isMain || mine !== generation) return;
    doing = undefined;
    void idleSoon(mine);
  }

  async function idleSoon(mine: number): Promise<void> {
    await inside.sleep(inside.times.step * 3);
    if (mine !== generation || poi.running() !== undefined) return;
    const isEnded = ['Approved', 'Declined', 'Asking', 'Pin', 'Card'].includes(screen.state);
    if (isEnded && moment.held === undefined) showIdle();
  }

  function showIdle(): void {
    if (moment.isInMaintenance) show('OutOfService', 'Maintenance');
    else show('Idle', 'Welcome');
  }

  async function deliver(
    answer: AnyMessage,
    channel: TerminalChannel,
    fault: TerminalFault | undefined,
  ): Promise<void> {
    if (fault !== undefined) tell({ type: 'Fault', fault });
    if (fault === 'DropAfter') {
      channel.drop();
      return;
    }
    if (fault === 'Delay') await inside.sleep(inside.times.late);
    if (fault === 'Garbage') {
      channel.send('{"SaleToPOIResponse":{"MessageHeader":{"MessageClass"');
      return;
    }
    send(answer, channel);
    if (fault === 'Duplicate') send(answer, channel);
  }

  const recover = (mine: number): Promise<void> => untilFoundOut(inside, () => recoverOnce(mine));

  async function recoverOnce(mine: number): Promise<void> {
    const memory = keeper.read();
    const begun = begunIn(memory);
    const left = abandoned(inside, memory.dialogue?.services ?? [], begun);
    for (const answer of left) poi.finish(answer);
    if (left.length > 0) keeper.keep({ dialogue: poi.memory() });
    if (begun !== undefined) {
      const answer = await answerAfterRestart(inside);
      if (mine !== generation) return;
      if (answer !== undefined) poi.finish(answer);
      keeper.keep({ dialogue: poi.memory(), ...nothingBegun });
    }
    moment.isRecovering = false;
  }

  async function reboot(): Promise<void> {
    generation += 1;
    const mine = generation;
    isOff = true;
    power.abort(new PowerFault('off'));
    power = new AbortController();
    doing = undefined;
    tell({ type: 'Fault', fault: 'Reboot' });
    // A till that waits for an answer sees at once that none will come, also where it is not attached.
    const broken = new Set(channels);
    for (const { controller, channel } of tasks.values()) {
      controller.abort(new PowerFault('off'));
      broken.add(channel);
    }
    tasks = new Map();
    till.forget();
    for (const channel of broken) channel.drop();
    channels.clear();
    moment.capabilities.clear();
    Object.assign(moment, { held: undefined, fault: undefined });
    show('OutOfService', 'Starting');
    await inside.sleep(inside.times.reboot);
    if (mine !== generation) return;
    poi = wake();
    moment.isRecovering = true;
    isOff = false;
    showIdle();
    notify('Initialised');
    await recover(mine);
  }

  function notify(event: Parameters<typeof eventOf>[0]): void {
    for (const channel of channels) {
      const saleId = saleIds.get(channel);
      if (channel.isTwoWay && saleId !== undefined) {
        send(eventOf(event, { saleId, poiId }, { at: at() }), channel);
      }
    }
  }

  const settle = () => workOff(inside);
  const timer = setInterval(settle, workOffEveryMs);
  timer.unref();
  const recovering = recover(generation).then(settle);

  return {
    tsn: poiId,
    receive,
    reboot,
    screen: () => screen,
    attach(channel) {
      channels.add(channel);
      return () => {
        channels.delete(channel);
        saleIds.delete(channel);
      };
    },
    ...controlsOf({ moment, keeper, notify, showIdle, settle }),
    async stop() {
      notify('Shutdown');
      clearInterval(timer);
      power.abort(new PowerFault('off'));
      await recovering;
      generation += 1;
      isOff = true;
      for (const { controller } of tasks.values()) controller.abort(new PowerFault('off'));
      platform.close();
    },
  };
}
