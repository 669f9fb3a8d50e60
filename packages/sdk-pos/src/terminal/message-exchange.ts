/**
 * Runs the dialogue with a terminal: sends its messages, saves them, times them and reports
 * outcomes.
 */
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  answerTo,
  type Category,
  categoryRules,
  createSaleDialogue,
  failureTo,
  type Header,
  isMessage,
  NexoError,
  type Protection,
  type Reading,
  readMessage,
  requestOf,
  type SaleDeps,
  type SaleDialogue,
  type SaleOutcome,
  type SaleStep,
  writeMessage,
} from '@switchyard/nexo';
import { type Clock, within } from '../support/clock.ts';
import { aborted, closed, invalid, late, PosError, textOf } from '../support/pos-error.ts';
import type { KeptService } from './service-store.ts';
import type { Link, LinkEvents } from './terminal-links.ts';
import type { TerminalSettings } from './terminal-types.ts';
import { isNotFound, mayStillCome, type Sent } from './transaction-not-found.ts';

/** How a service ended; `fault` gives the reason if it was not processed. */
export type Ended = SaleOutcome & { readonly fault?: PosError };

type Lane = { readonly dialogue: SaleDialogue; wake: AbortController };
type Settle = { resolve(ended: Ended): void; reject(error: PosError): void };

export type ExchangeDeps = Pick<TerminalSettings, 'devices' | 'onEvent' | 'onLate' | 'onFault'> & {
  readonly dialogue: SaleDeps;
  readonly protection: Protection | undefined;
  readonly clock: Clock;
  readonly answerMs: number;
};

export type Exchange = ReturnType<typeof createExchange>;

export function createExchange(deps: ExchangeDeps, makeLink: (events: LinkEvents) => Link) {
  const { clock, protection } = deps;
  const { saleId, poiId, nextServiceId } = deps.dialogue;
  const waiting = new Map<string, Settle>();
  const devices = new Map<string, Settle>();
  const reasons = new Map<string, PosError>();
  const main: Lane = { dialogue: createSaleDialogue(deps.dialogue), wake: new AbortController() };
  let lanes: readonly Lane[] = [main];
  let isClosed = false;
  let sent: Sent | undefined;
  const link = makeLink({ message: hear, lost });

  const write = (message: AnyMessage) => protection?.protect(message) ?? writeMessage(message);
  const fault = (error: PosError) => deps.onFault?.(error);
  const ignored = (code: string, reason: string) =>
    fault(new PosError('Terminal', `a message was ignored: ${reason}`, { code }));

  /** Schedules the next `tick` and cancels the previous one. */
  function arm(lane: Lane): void {
    lane.wake.abort();
    lane.wake = new AbortController();
    const due = lane.dialogue.due();
    if (due === undefined || isClosed || !lanes.includes(lane)) return;
    const { signal } = lane.wake;
    void clock.wait(Math.max(0, due - clock.now()), signal).then(() => {
      if (!signal.aborted) perform(lane, lane.dialogue.tick());
    });
  }

  function perform(lane: Lane, step: SaleStep): void {
    if (step.do === 'Send') void transmit(lane, step.message);
    else if (step.do === 'Finish') finish(step.request, step);
    else if (step.do === 'Serve') void serve(step.message);
    else if (step.do === 'Late') deps.onLate?.(step.message);
    else if (step.do === 'Event' && isMessage(step.message, 'Event', 'Notification')) {
      deps.onEvent?.(step.message);
    }
    arm(lane);
  }

  function finish({ ServiceID = '' }: Header, ended: SaleOutcome): void {
    const reason = reasons.get(ServiceID);
    reasons.delete(ServiceID);
    waiting.get(ServiceID)?.resolve(reason === undefined ? ended : { ...ended, fault: reason });
    waiting.delete(ServiceID);
  }

  async function transmit(lane: Lane, message: AnyMessage): Promise<void> {
    const { ServiceID: serviceId = '' } = message.header;
    const isRunning = () => lane.dialogue.journal()?.header.ServiceID === serviceId;
    const isService = isRunning();
    try {
      await link.open();
      // The service ended in the meantime and its outcome was reported. It must not be sent now.
      if (isService && !isRunning()) return;
      if (isService) sent = { serviceId, way: link.way?.() };
      await deliver(message);
    } catch (error) {
      notDelivered(lane, message.header, asPosError(error));
    }
  }

  /** @throws PosError, also if the terminal received the message but will not answer its request */
  async function deliver(message: AnyMessage): Promise<void> {
    const { MessageCategory, MessageType } = message.header;
    const delivery = await link.send(write(message));
    const isAnswered = categoryRules(MessageCategory).bodies.Response !== undefined;
    if (delivery === 'Sent' || MessageType !== 'Request' || !isAnswered) return;
    throw new PosError('Transport', 'the terminal took it and answered nothing', {
      code: 'answer_empty',
      outcome: 'Unknown',
      retryable: true,
    });
  }

  function notDelivered(lane: Lane, header: Header, error: PosError): void {
    const { ServiceID = '' } = header;
    const isOwn = lane.dialogue.journal()?.header.ServiceID === ServiceID;
    if (isOwn && error.outcome === 'NotProcessed') {
      reasons.set(ServiceID, error);
      perform(lane, lane.dialogue.notSent());
    } else if (isOwn) {
      perform(lane, lane.dialogue.lost());
    } else if (waiting.has(ServiceID)) {
      lane.dialogue.drop(header);
      waiting.get(ServiceID)?.reject(error);
      waiting.delete(ServiceID);
    } else {
      // The dialogue repeats a status request at its next due time.
      fault(error);
    }
  }

  function lost(error: PosError): void {
    fault(error);
    for (const lane of lanes) perform(lane, lane.dialogue.lost());
    for (const one of devices.values()) one.reject(unknownOf(error));
    devices.clear();
  }

  function read(text: string): Reading | undefined {
    const reading = readMessage(text);
    if (protection === undefined) return reading;
    if (reading.kind !== 'Protected') {
      ignored('unprotected', 'it is not protected');
      return undefined;
    }
    const opened = protection.open(reading);
    if (opened.kind !== 'Refused') return opened;
    ignored('not_authentic', opened.refusal);
    return undefined;
  }

  function hear(text: string): void {
    const reading = read(text);
    if (reading === undefined) return;
    if (reading.kind === 'Protected') {
      ignored('protected', 'there is no key for it');
      return;
    }
    if (reading.kind === 'Message' && answersDevice(reading.message)) return;
    let reason = '';
    if (reading.kind === 'Message' && isNotFound(reading.message)) {
      const isAskedBesides = waiting.has(reading.message.header.ServiceID ?? '');
      const way = link.way?.();
      const isTooEarly = ({ dialogue }: Lane) =>
        mayStillCome(dialogue.journal(), { sent, way, now: clock.now() });
      if (!isAskedBesides && lanes.some(isTooEarly)) return;
    }
    for (const lane of lanes) {
      const step = lane.dialogue.receive(reading);
      if (step.do !== 'Ignore') {
        perform(lane, step);
        return;
      }
      reason = step.reason;
    }
    ignored('ignored', reason);
  }

  function answersDevice(message: AnyMessage): boolean {
    const { MessageClass, MessageType, DeviceID = '' } = message.header;
    const one = devices.get(DeviceID);
    if (MessageClass !== 'Device' || MessageType !== 'Response' || one === undefined) return false;
    devices.delete(DeviceID);
    one.resolve({ outcome: 'Answered', message });
    return true;
  }

  async function serve(request: AnyMessage): Promise<void> {
    const category = request.header.MessageCategory as keyof NonNullable<typeof deps.devices>;
    const device = deps.devices?.[category] as ((body: unknown) => unknown) | undefined;
    try {
      const body = await device?.(request.body);
      if (request.header.MessageType !== 'Request') return;
      await answer(request, body);
    } catch (error) {
      fault(new PosError('Invalid', `${category}: ${textOf(error)}`, { code: 'device_failed' }));
      if (request.header.MessageType === 'Request') await answerOut(request);
    }
  }

  async function answer(request: AnyMessage, body: unknown): Promise<void> {
    const told =
      body === undefined
        ? failureTo(request, 'UnavailableDevice', { at: timeOf(clock) })
        : answerTo(request as never, body as never);
    if (told !== undefined) await link.send(write(told as AnyMessage));
  }

  async function answerOut(request: AnyMessage): Promise<void> {
    try {
      const told = failureTo(request, 'DeviceOut', { at: timeOf(clock) });
      if (told !== undefined) await link.send(write(told));
    } catch (error) {
      fault(asPosError(error));
    }
  }

  function ending(map: Map<string, Settle>, id: string): Promise<Ended> {
    if (isClosed) throw closed();
    const ended = new Promise<Ended>((resolve, reject) => {
      map.set(id, { resolve, reject });
    });
    // `close` can reject before a caller waits. This handler prevents an unhandled rejection.
    ended.catch(() => isClosed);
    return ended;
  }

  /** Begins a service in the dialogue without sending it. */
  async function begin(category: Category, body: object, signal: AbortSignal | undefined) {
    demandSound(deps.dialogue, category, body);
    await link.open(signal);
    if (signal?.aborted === true) throw aborted();
    const step = main.dialogue.begin(category, body as never, 'Held');
    if (step.do !== 'Send') throw invalid('refused', 'reason' in step ? step.reason : step.do);
    const { header } = step.message;
    const { ServiceID: serviceId = '' } = header;
    return { step, header, serviceId, ended: ending(waiting, serviceId) };
  }

  /** Sends the message and waits for the end; an abort calls `stop`. */
  async function sentAndEnded(
    { step, serviceId, ended }: Awaited<ReturnType<typeof begin>>,
    { stop, signal }: { stop(): void; signal: AbortSignal | undefined },
  ): Promise<{ ended: Ended; serviceId: string }> {
    perform(main, step);
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
    try {
      return { ended: await ended, serviceId };
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  return {
    /** Begins and runs one service. It awaits `keep` before it sends anything. */
    async run(
      category: Category,
      body: object,
      { keep, signal }: { keep(header: Header): Promise<void>; signal?: AbortSignal | undefined },
    ): Promise<{ ended: Ended; serviceId: string }> {
      const begun = await begin(category, body, signal);
      const { header, serviceId, ended } = begun;
      const unsent = await keep(header).then(
        // An abort request could overtake its service, so neither is sent.
        () => (signal?.aborted === true ? aborted() : undefined),
        (error: unknown) => invalid('store_failed', textOf(error), error),
      );
      if (unsent !== undefined) {
        reasons.set(serviceId, unsent);
        perform(main, main.dialogue.notSent());
        return { ended: await ended, serviceId };
      }
      main.dialogue.sending();
      const stop = () => perform(main, main.dialogue.abort('the till does not want it any more'));
      return sentAndEnded(begun, { stop, signal });
    },

    /**
     * Sends a request in parallel with a service. Nothing is saved, and an abort stops nothing at
     * the terminal.
     */
    async ask(category: Category, body: object, signal?: AbortSignal) {
      const begun = await begin(category, body, signal);
      const { header, serviceId } = begun;
      const stop = () => {
        main.dialogue.drop(header);
        waiting.get(serviceId)?.reject(aborted());
        waiting.delete(serviceId);
      };
      return sentAndEnded(begun, { stop, signal });
    },

    /** Sends a device message to the terminal's display, keys, printer or card reader. */
    async device(category: Category, body: object, signal?: AbortSignal) {
      demandSound(deps.dialogue, category, body);
      await link.open(signal);
      const deviceId = nextServiceId();
      const running = main.dialogue.journal()?.header.ServiceID;
      const service = defined({ serviceId: running });
      const address = { saleId, poiId, deviceId, ...service };
      const message = requestOf(category, address, body as never) as AnyMessage;
      const ended = ending(devices, deviceId);
      try {
        return await within(
          deps.answerMs,
          { clock, signal },
          async () => {
            await deliver(message);
            return { ended: await ended, serviceId: deviceId };
          },
          () => unknownOf(late('the answer of the terminal')),
        );
      } finally {
        devices.delete(deviceId);
      }
    },

    notify(category: 'InputUpdate', body: object, signal?: AbortSignal): Promise<void> {
      const address = { saleId, poiId, deviceId: nextServiceId() };
      const message = requestOf(category, address, body as never) as AnyMessage;
      return link.open(signal).then(() => deliver(message));
    },

    /** Requests the outcome of an earlier service, until the caller aborts. */
    async recover(
      { header, at: begunAt, serviceId }: KeptService,
      signal?: AbortSignal,
    ): Promise<Ended> {
      if (signal?.aborted === true) throw aborted();
      const journal = { header, at: begunAt };
      const dialogue = createSaleDialogue({ ...deps.dialogue, journal });
      const lane: Lane = { dialogue, wake: new AbortController() };
      lanes = [lane, main];
      const ended = ending(waiting, serviceId);
      const stop = () => {
        waiting.get(serviceId)?.reject(aborted());
        waiting.delete(serviceId);
      };
      signal?.addEventListener('abort', stop);
      let outcome: Ended['outcome'] = 'Unknown';
      try {
        perform(lane, dialogue.tick());
        const told = await ended;
        ({ outcome } = told);
        return told;
      } finally {
        signal?.removeEventListener('abort', stop);
        lanes = [main];
        lane.wake.abort();
        // Later answers reach the main dialogue, which does not know this service.
        main.dialogue.over(header, outcome);
      }
    },

    async close(): Promise<void> {
      isClosed = true;
      for (const lane of lanes) lane.wake.abort();
      for (const one of [...waiting.values(), ...devices.values()]) one.reject(unknownOf(closed()));
      waiting.clear();
      devices.clear();
      await link.close();
    },
  };
}

/** Rejects a body that cannot be written, before a service begins. */
function demandSound({ saleId, poiId }: SaleDeps, category: Category, body: object): void {
  const probe = { saleId, poiId, serviceId: '0', deviceId: '0' };
  try {
    writeMessage(requestOf(category, probe, body as never) as AnyMessage);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw invalid(error.code, error.message, error);
  }
}

const timeOf = (clock: Clock): string => new Date(clock.now()).toISOString();

/**
 * Returns the same fault with the outcome `Unknown`, because the request may have been processed.
 */
function unknownOf({ kind, message, code, status, retryable }: PosError): PosError {
  return new PosError(kind, message, { code, status, retryable, outcome: 'Unknown' });
}

function asPosError(error: unknown): PosError {
  return error instanceof PosError ? error : invalid('not_sent', textOf(error), error);
}
