// Requests of the terminal to a till: show the status to the cashier, and ask to check a signature.
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  type Header,
  isMessage,
  type PoiDialogue,
  requestOf,
} from '@switchyard/nexo';
import { pause } from '../context/pause.ts';
import type { RuntimeState, ServiceContext, TerminalChannel } from '../context/service-context.ts';

/** The till request in progress. */
export type ActiveRequest = { readonly header: Header; readonly channel: TerminalChannel };

type Deps = {
  readonly poiId: string;
  readonly now: () => number;
  readonly runtime: RuntimeState;
  readonly trackRequest: PoiDialogue['trackDeviceRequest'];
  readonly send: (message: AnyMessage, channel: TerminalChannel) => void;
};

export type TillRequests = {
  /** Shows the status on the cashier display, where the till supports it. */
  showCashierStatus(active: ActiveRequest, lines: readonly string[]): void;
  readonly askCashier: ServiceContext['askCashier'];
  /** Processes the answer to a question of the terminal. */
  receiveAnswer(answer: AnyMessage): void;
  /** Ends all pending questions without an answer. */
  cancelAll(): void;
};

const tillAnswersMs = 30_000;
const asksMax = 16;
const numbersMax = 10_000;

export function createTillRequests({
  poiId,
  now,
  runtime,
  trackRequest,
  send,
}: Deps): TillRequests {
  const pendingQuestions = new Map<string, (answer: AnyMessage | undefined) => void>();
  const hasCapability = ({ header, channel }: ActiveRequest, capability: string): boolean =>
    channel.isTwoWay && runtime.capabilities.get(header.SaleID)?.includes(capability) === true;

  function addressOf({ SaleID, ServiceID }: Header, deviceId?: string) {
    return {
      saleId: SaleID,
      poiId,
      ...defined({ serviceId: ServiceID, deviceId }),
    };
  }

  let devices = 0;
  function nextDeviceId(): string {
    devices += 1;
    return `T${now().toString(36).slice(-5)}${(devices % numbersMax).toString().padStart(4, '0')}`;
  }

  function showCashierStatus(active: ActiveRequest, lines: readonly string[]): void {
    if (!hasCapability(active, 'CashierStatus')) return;
    const request = requestOf('Display', addressOf(active.header, nextDeviceId()), {
      DisplayOutput: [
        {
          ResponseRequiredFlag: false,
          Device: 'CashierDisplay',
          InfoQualify: 'Status',
          OutputContent: {
            OutputFormat: 'Text',
            OutputText: lines.map((line) => ({ Text: line })),
          },
        },
      ],
    });
    trackRequest(request);
    send(request, active.channel);
  }

  async function askCashier(active: ActiveRequest, question: string): Promise<boolean | undefined> {
    if (!hasCapability(active, 'CashierInput') || pendingQuestions.size >= asksMax)
      return undefined;
    const deviceId = nextDeviceId();
    const inputPlace = { Device: 'CashierInput', InfoQualify: 'Input' } as const;
    const request = requestOf('Input', addressOf(active.header, deviceId), {
      DisplayOutput: {
        Device: 'CashierDisplay',
        InfoQualify: 'Display',
        OutputContent: { OutputFormat: 'Text', OutputText: [{ Text: question }] },
      },
      InputData: { ...inputPlace, InputCommand: 'GetConfirmation' },
    });
    const answerPromise = new Promise<AnyMessage | undefined>((resolve) =>
      pendingQuestions.set(deviceId, resolve),
    );
    trackRequest(request);
    send(request, active.channel);
    const timeout = new AbortController();
    const answer = await Promise.race([
      answerPromise,
      pause(tillAnswersMs, timeout.signal).catch(() => undefined),
    ]);
    timeout.abort();
    pendingQuestions.delete(deviceId);
    if (answer === undefined || !isMessage(answer, 'Input', 'Response')) return undefined;
    return answer.body.InputResult.Input?.ConfirmedFlag;
  }

  return {
    showCashierStatus,
    askCashier,
    receiveAnswer: (answer) => pendingQuestions.get(answer.header.DeviceID ?? '')?.(answer),
    cancelAll() {
      for (const answer of pendingQuestions.values()) answer(undefined);
      pendingQuestions.clear();
    },
  };
}
