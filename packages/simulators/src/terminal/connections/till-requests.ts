// What the terminal asks a till for by itself: to show what it does, and to look at a signature.
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  type Header,
  isMessage,
  type PoiDialogue,
  requestOf,
} from '@switchyard/nexo';
import { pause } from '../context/pause.ts';
import type { Inside, Moment, TerminalChannel } from '../context/service-context.ts';

/** A request of a till that is worked on. */
export type Doing = { readonly header: Header; readonly channel: TerminalChannel };

type Deps = {
  readonly poiId: string;
  readonly now: () => number;
  readonly moment: Moment;
  readonly ask: PoiDialogue['ask'];
  readonly send: (message: AnyMessage, channel: TerminalChannel) => void;
};

export type Till = {
  /** Cashiers see what the terminal is doing, where their till can show it. */
  mirror(of: Doing, lines: readonly string[]): void;
  readonly askTill: Inside['askTill'];
  /** An answer to a question of the terminal. */
  take(answer: AnyMessage): void;
  /** Nobody is waited for any more. */
  forget(): void;
};

const tillAnswersMs = 30_000;
const asksMax = 16;
const numbersMax = 10_000;

export function createTill({ poiId, now, moment, ask, send }: Deps): Till {
  const asked = new Map<string, (answer: AnyMessage | undefined) => void>();
  const can = ({ header, channel }: Doing, capability: string): boolean =>
    channel.isTwoWay && moment.capabilities.get(header.SaleID)?.includes(capability) === true;

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

  function mirror(of: Doing, lines: readonly string[]): void {
    if (!can(of, 'CashierStatus')) return;
    const request = requestOf('Display', addressOf(of.header, nextDeviceId()), {
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
    ask(request);
    send(request, of.channel);
  }

  async function askTill(of: Doing, question: string): Promise<boolean | undefined> {
    if (!can(of, 'CashierInput') || asked.size >= asksMax) return undefined;
    const deviceId = nextDeviceId();
    const place = { Device: 'CashierInput', InfoQualify: 'Input' } as const;
    const request = requestOf('Input', addressOf(of.header, deviceId), {
      DisplayOutput: {
        Device: 'CashierDisplay',
        InfoQualify: 'Display',
        OutputContent: { OutputFormat: 'Text', OutputText: [{ Text: question }] },
      },
      InputData: { ...place, InputCommand: 'GetConfirmation' },
    });
    const answered = new Promise<AnyMessage | undefined>((resolve) => asked.set(deviceId, resolve));
    ask(request);
    send(request, of.channel);
    const nobody = new AbortController();
    const answer = await Promise.race([
      answered,
      pause(tillAnswersMs, nobody.signal).catch(() => undefined),
    ]);
    nobody.abort();
    asked.delete(deviceId);
    if (answer === undefined || !isMessage(answer, 'Input', 'Response')) return undefined;
    return answer.body.InputResult.Input?.ConfirmedFlag;
  }

  return {
    mirror,
    askTill,
    take: (answer) => asked.get(answer.header.DeviceID ?? '')?.(answer),
    forget() {
      for (const answer of asked.values()) answer(undefined);
      asked.clear();
    },
  };
}
