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
import { type Clock, errorText, withTimeLimit } from '@switchyard/sdk-core';
import {
  abortedError,
  closedError,
  createPosError,
  invalidError,
  PosError,
  timeoutError,
} from '../support/pos-error.ts';
import type { StoredService } from './service-store.ts';
import type { LinkHandlers, TerminalLink } from './terminal-links.ts';
import type { TerminalSettings } from './terminal-types.ts';
import {
  isTransactionNotFound,
  mayStillArrive,
  type SentService,
} from './transaction-not-found.ts';

/** How a service ended; `fault` gives the reason if it was not processed. */
export type EndedService = SaleOutcome & { readonly fault?: PosError };

type ActiveDialogue = { readonly dialogue: SaleDialogue; timer: AbortController };
type PendingResult = { resolve(ended: EndedService): void; reject(error: PosError): void };

export type MessageExchangeOptions = Pick<
  TerminalSettings,
  'devices' | 'onEvent' | 'onLateResponse' | 'onError'
> & {
  readonly dialogue: SaleDeps;
  readonly protection: Protection | undefined;
  readonly clock: Clock;
  readonly answerMs: number;
};

export type MessageExchange = ReturnType<typeof createMessageExchange>;

export function createMessageExchange(
  options: MessageExchangeOptions,
  makeLink: (events: LinkHandlers) => TerminalLink,
) {
  const { clock, protection } = options;
  const { saleId, poiId, nextServiceId } = options.dialogue;
  const pendingServices = new Map<string, PendingResult>();
  const pendingDeviceRequests = new Map<string, PendingResult>();
  const faultsByService = new Map<string, PosError>();
  const mainDialogue: ActiveDialogue = {
    dialogue: createSaleDialogue(options.dialogue),
    timer: new AbortController(),
  };
  let activeDialogues: readonly ActiveDialogue[] = [mainDialogue];
  let isClosed = false;
  let sent: SentService | undefined;
  const link = makeLink({ onMessage: handleMessage, onLost: handleLinkLost });

  const write = (message: AnyMessage) => protection?.protect(message) ?? writeMessage(message);
  const reportError = (error: PosError) => options.onError?.(error);
  const reportIgnored = (code: string, reason: string) =>
    reportError(new PosError('Terminal', `a message was ignored: ${reason}`, { code }));

  /** Schedules the next `tick` and cancels the previous one. */
  function scheduleTick(active: ActiveDialogue): void {
    active.timer.abort();
    active.timer = new AbortController();
    const due = active.dialogue.due();
    if (due === undefined || isClosed || !activeDialogues.includes(active)) return;
    const { signal } = active.timer;
    void clock.wait(Math.max(0, due - clock.now()), signal).then(() => {
      if (!signal.aborted) performStep(active, active.dialogue.tick());
    });
  }

  function performStep(active: ActiveDialogue, step: SaleStep): void {
    if (step.do === 'Send') void sendMessage(active, step.message);
    else if (step.do === 'Finish') finish(step.request, step);
    else if (step.do === 'Serve') void serveDeviceRequest(step.message);
    else if (step.do === 'Late') options.onLateResponse?.(step.message);
    else if (step.do === 'Event' && isMessage(step.message, 'Event', 'Notification')) {
      options.onEvent?.(step.message);
    }
    scheduleTick(active);
  }

  function finish({ ServiceID = '' }: Header, ended: SaleOutcome): void {
    const reason = faultsByService.get(ServiceID);
    faultsByService.delete(ServiceID);
    pendingServices
      .get(ServiceID)
      ?.resolve(reason === undefined ? ended : { ...ended, fault: reason });
    pendingServices.delete(ServiceID);
  }

  async function sendMessage(active: ActiveDialogue, message: AnyMessage): Promise<void> {
    const { ServiceID: serviceId = '' } = message.header;
    const isRunning = () => active.dialogue.journal()?.header.ServiceID === serviceId;
    const isService = isRunning();
    try {
      await link.open();
      // The service ended in the meantime and its outcome was reported. It must not be sent now.
      if (isService && !isRunning()) return;
      if (isService) sent = { serviceId, path: link.activePath?.() };
      await deliver(message);
    } catch (error) {
      handleSendFailure(active, message.header, toPosError(error));
    }
  }

  /** @throws PosError, also if the terminal received the message but will not answer its request */
  async function deliver(message: AnyMessage): Promise<void> {
    const { MessageCategory, MessageType } = message.header;
    const delivery = await link.send(write(message));
    const isAnswered = categoryRules(MessageCategory).bodies.Response !== undefined;
    if (delivery === 'Sent' || MessageType !== 'Request' || !isAnswered) return;
    throw new PosError('Transport', 'the terminal received the request and sent no response', {
      code: 'answer_empty',
      outcome: 'Unknown',
      retryable: true,
    });
  }

  function handleSendFailure(active: ActiveDialogue, header: Header, error: PosError): void {
    const { ServiceID = '' } = header;
    const isRunningService = active.dialogue.journal()?.header.ServiceID === ServiceID;
    if (isRunningService && error.outcome === 'NotProcessed') {
      faultsByService.set(ServiceID, error);
      performStep(active, active.dialogue.notSent());
    } else if (isRunningService) {
      performStep(active, active.dialogue.lost());
    } else if (pendingServices.has(ServiceID)) {
      active.dialogue.drop(header);
      pendingServices.get(ServiceID)?.reject(error);
      pendingServices.delete(ServiceID);
    } else {
      // The dialogue repeats a status request at its next due time.
      reportError(error);
    }
  }

  function handleLinkLost(error: PosError): void {
    reportError(error);
    for (const active of activeDialogues) performStep(active, active.dialogue.lost());
    for (const pending of pendingDeviceRequests.values()) pending.reject(withUnknownOutcome(error));
    pendingDeviceRequests.clear();
  }

  function decodeMessage(text: string): Reading | undefined {
    const reading = readMessage(text);
    if (protection === undefined) return reading;
    if (reading.kind !== 'Protected') {
      reportIgnored('unprotected', 'the message is not protected');
      return undefined;
    }
    const opened = protection.open(reading);
    if (opened.kind !== 'Rejected') return opened;
    reportIgnored('not_authentic', opened.error);
    return undefined;
  }

  function handleMessage(text: string): void {
    const reading = decodeMessage(text);
    if (reading === undefined) return;
    if (reading.kind === 'Protected') {
      reportIgnored('protected', 'no key is configured for a protected message');
      return;
    }
    if (reading.kind === 'Message' && resolveDeviceRequest(reading.message)) return;
    let reason = '';
    if (reading.kind === 'Message' && isTransactionNotFound(reading.message)) {
      const isPendingRequest = pendingServices.has(reading.message.header.ServiceID ?? '');
      const path = link.activePath?.();
      const mayBeTooEarly = ({ dialogue }: ActiveDialogue) =>
        mayStillArrive(dialogue.journal(), { sent, path, now: clock.now() });
      if (!isPendingRequest && activeDialogues.some(mayBeTooEarly)) return;
    }
    for (const active of activeDialogues) {
      const step = active.dialogue.receive(reading);
      if (step.do !== 'Ignore') {
        performStep(active, step);
        return;
      }
      reason = step.reason;
    }
    reportIgnored('ignored', reason);
  }

  function resolveDeviceRequest(message: AnyMessage): boolean {
    const { MessageClass, MessageType, DeviceID = '' } = message.header;
    const pending = pendingDeviceRequests.get(DeviceID);
    if (MessageClass !== 'Device' || MessageType !== 'Response' || pending === undefined)
      return false;
    pendingDeviceRequests.delete(DeviceID);
    pending.resolve({ outcome: 'Answered', message });
    return true;
  }

  async function serveDeviceRequest(request: AnyMessage): Promise<void> {
    const category = request.header.MessageCategory as keyof NonNullable<typeof options.devices>;
    const deviceFunction = options.devices?.[category] as ((body: unknown) => unknown) | undefined;
    try {
      const body = await deviceFunction?.(request.body);
      if (request.header.MessageType !== 'Request') return;
      await sendDeviceAnswer(request, body);
    } catch (error) {
      reportError(
        new PosError('Invalid', `${category}: ${errorText(error)}`, { code: 'device_failed' }),
      );
      if (request.header.MessageType === 'Request') await sendDeviceFailure(request);
    }
  }

  async function sendDeviceAnswer(request: AnyMessage, body: unknown): Promise<void> {
    const response =
      body === undefined
        ? failureTo(request, 'UnavailableDevice', { at: timestamp(clock) })
        : answerTo(request as never, body as never);
    if (response !== undefined) await link.send(write(response as AnyMessage));
  }

  async function sendDeviceFailure(request: AnyMessage): Promise<void> {
    try {
      const response = failureTo(request, 'DeviceOut', { at: timestamp(clock) });
      if (response !== undefined) await link.send(write(response));
    } catch (error) {
      reportError(toPosError(error));
    }
  }

  function waitForEnd(map: Map<string, PendingResult>, id: string): Promise<EndedService> {
    if (isClosed) throw closedError();
    const ended = new Promise<EndedService>((resolve, reject) => {
      map.set(id, { resolve, reject });
    });
    // `close` can reject before a caller waits. This handler prevents an unhandled rejection.
    ended.catch(() => isClosed);
    return ended;
  }

  /** Begins a service in the dialogue without sending it. */
  async function beginService(category: Category, body: object, signal: AbortSignal | undefined) {
    requireWritableBody(options.dialogue, category, body);
    await link.open(signal);
    if (signal?.aborted === true) throw abortedError();
    const step = mainDialogue.dialogue.begin(category, body as never, 'Held');
    if (step.do !== 'Send') throw invalidError('refused', 'reason' in step ? step.reason : step.do);
    const { header } = step.message;
    const { ServiceID: serviceId = '' } = header;
    return { step, header, serviceId, ended: waitForEnd(pendingServices, serviceId) };
  }

  /** Sends the message and waits for the end; an abort calls `stop`. */
  async function sendAndWait(
    { step, serviceId, ended }: Awaited<ReturnType<typeof beginService>>,
    { stop, signal }: { stop(): void; signal: AbortSignal | undefined },
  ): Promise<{ ended: EndedService; serviceId: string }> {
    performStep(mainDialogue, step);
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
    try {
      return { ended: await ended, serviceId };
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  return {
    /** Begins and runs one service. It awaits `save` before it sends anything. */
    async runService(
      category: Category,
      body: object,
      { save, signal }: { save(header: Header): Promise<void>; signal?: AbortSignal | undefined },
    ): Promise<{ ended: EndedService; serviceId: string }> {
      const service = await beginService(category, body, signal);
      const { header, serviceId, ended } = service;
      const sendError = await save(header).then(
        // An abort request could overtake its service, so neither is sent.
        () => (signal?.aborted === true ? abortedError() : undefined),
        (error: unknown) => invalidError('store_failed', errorText(error), error),
      );
      if (sendError !== undefined) {
        faultsByService.set(serviceId, sendError);
        performStep(mainDialogue, mainDialogue.dialogue.notSent());
        return { ended: await ended, serviceId };
      }
      mainDialogue.dialogue.sending();
      const requestAbort = () =>
        performStep(
          mainDialogue,
          mainDialogue.dialogue.abort('the point of sale cancelled the service'),
        );
      return sendAndWait(service, { stop: requestAbort, signal });
    },

    /**
     * Sends a request in parallel with a service. Nothing is saved, and an abort stops nothing at
     * the terminal.
     */
    async sendRequest(category: Category, body: object, signal?: AbortSignal) {
      const request = await beginService(category, body, signal);
      const { header, serviceId } = request;
      const dropRequest = () => {
        mainDialogue.dialogue.drop(header);
        pendingServices.get(serviceId)?.reject(abortedError());
        pendingServices.delete(serviceId);
      };
      return sendAndWait(request, { stop: dropRequest, signal });
    },

    /** Sends a device message to the terminal's display, keys, printer or card reader. */
    async sendDeviceRequest(category: Category, body: object, signal?: AbortSignal) {
      requireWritableBody(options.dialogue, category, body);
      await link.open(signal);
      const deviceId = nextServiceId();
      const running = mainDialogue.dialogue.journal()?.header.ServiceID;
      const service = defined({ serviceId: running });
      const address = { saleId, poiId, deviceId, ...service };
      const message = requestOf(category, address, body as never) as AnyMessage;
      const ended = waitForEnd(pendingDeviceRequests, deviceId);
      try {
        return await withTimeLimit(
          options.answerMs,
          { clock, signal, createError: createPosError },
          async () => {
            await deliver(message);
            return { ended: await ended, serviceId: deviceId };
          },
          () => withUnknownOutcome(timeoutError('the answer of the terminal')),
        );
      } finally {
        pendingDeviceRequests.delete(deviceId);
      }
    },

    notify(category: 'InputUpdate', body: object, signal?: AbortSignal): Promise<void> {
      const address = { saleId, poiId, deviceId: nextServiceId() };
      const message = requestOf(category, address, body as never) as AnyMessage;
      return link.open(signal).then(() => deliver(message));
    },

    /** Requests the outcome of an earlier service, until the caller aborts. */
    async recover(
      { header, at: begunAt, serviceId }: StoredService,
      {
        lastAnswered,
        signal,
      }: { lastAnswered: Header | undefined; signal: AbortSignal | undefined },
    ): Promise<EndedService> {
      if (signal?.aborted === true) throw abortedError();
      const journal = { header, at: begunAt };
      // The last answer of the main dialogue can be newer than this service, and proves nothing about it.
      const { lastAnswered: _, ...deps } = options.dialogue;
      const dialogue = createSaleDialogue({ ...deps, journal, ...defined({ lastAnswered }) });
      const active: ActiveDialogue = { dialogue, timer: new AbortController() };
      activeDialogues = [active, mainDialogue];
      const end = waitForEnd(pendingServices, serviceId);
      const stopWaiting = () => {
        pendingServices.get(serviceId)?.reject(abortedError());
        pendingServices.delete(serviceId);
      };
      signal?.addEventListener('abort', stopWaiting);
      let outcome: EndedService['outcome'] = 'Unknown';
      try {
        performStep(active, dialogue.tick());
        const ended = await end;
        ({ outcome } = ended);
        return ended;
      } finally {
        signal?.removeEventListener('abort', stopWaiting);
        activeDialogues = [mainDialogue];
        active.timer.abort();
        // Later answers reach the main dialogue, which does not know this service.
        mainDialogue.dialogue.markEnded(header, outcome);
      }
    },

    async close(): Promise<void> {
      isClosed = true;
      for (const active of activeDialogues) active.timer.abort();
      for (const pending of [...pendingServices.values(), ...pendingDeviceRequests.values()])
        pending.reject(withUnknownOutcome(closedError()));
      pendingServices.clear();
      pendingDeviceRequests.clear();
      await link.close();
    },
  };
}

/** Rejects a body that cannot be written, before a service begins. */
function requireWritableBody({ saleId, poiId }: SaleDeps, category: Category, body: object): void {
  const probe = { saleId, poiId, serviceId: '0', deviceId: '0' };
  try {
    writeMessage(requestOf(category, probe, body as never) as AnyMessage);
  } catch (error) {
    if (!(error instanceof NexoError)) throw error;
    throw invalidError(error.code, error.message, error);
  }
}

const timestamp = (clock: Clock): string => new Date(clock.now()).toISOString();

/**
 * Returns the same fault with the outcome `Unknown`, because the request may have been processed.
 */
function withUnknownOutcome({ kind, message, code, status, retryable }: PosError): PosError {
  return new PosError(kind, message, { code, status, retryable, outcome: 'Unknown' });
}

function toPosError(error: unknown): PosError {
  return error instanceof PosError ? error : invalidError('not_sent', errorText(error), error);
}
