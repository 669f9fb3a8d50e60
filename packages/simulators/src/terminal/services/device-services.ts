// The parts of the terminal that a till can use by itself: screen, keys, printer, reader, PIN pad.
import { defined } from '@switchyard/contract';
import type { Structure } from '@switchyard/nexo';
import {
  type Inside,
  type Reply,
  ServiceFault,
  succeeded,
  type Work,
} from '../context/service-context.ts';
import { readCard } from '../payments/read-card.ts';

type Content = Structure<'OutputContent'>;

const linesMax = 40;
const ours: readonly string[] = ['CustomerDisplay', 'CustomerInput'];
const bytesOf = (hex: string) => Buffer.from(hex, 'hex').toString('base64');
const hexOf = (base64: string) => Buffer.from(base64, 'base64').toString('hex').toUpperCase();

function linesOf({
  OutputFormat,
  OutputText,
  OutputXHTML,
  OutputBarcode,
  PredefinedContent,
}: Content) {
  if (OutputFormat === 'Text') return (OutputText ?? []).map(({ Text = '' }) => Text);
  if (OutputFormat === 'XHTML') {
    return [
      Buffer.from(OutputXHTML ?? '', 'base64')
        .toString()
        .replace(/<[^>]*>/g, ' '),
    ];
  }
  if (OutputFormat === 'BarCode') return [`[${OutputBarcode?.BarcodeValue ?? ''}]`];
  return [PredefinedContent?.ReferenceID ?? ''];
}

function shown({ show }: Inside, { OutputContent, MenuEntry = [] }: Structure<'DisplayOutput'>) {
  const menu = MenuEntry.flatMap(({ OutputText }, at) => [
    `${at + 1} ${(OutputText ?? []).map(({ Text = '' }) => Text).join(' ')}`,
  ]);
  show('Message', ...[...linesOf(OutputContent), ...menu].slice(0, linesMax));
}

export function display({ body }: Work<'DisplayRequest'>, inside: Inside): Reply {
  const results = body.DisplayOutput.map((output) => {
    const { Device, InfoQualify } = output;
    const isOurs = ours.includes(Device);
    if (isOurs) shown(inside, output);
    const Response: Structure<'Response'> = isOurs
      ? succeeded
      : { Result: 'Failure', ErrorCondition: 'UnavailableDevice' };
    return { Device, InfoQualify, Response };
  });
  const answer: Structure<'DisplayResponse'> = { OutputResult: results };
  return answer;
}

/** What was set to be typed, or what somebody would who wants to go on. */
function typedFor(
  { moment }: Inside,
  { InputCommand: command, DefaultInputString: usual, MinLength = 1 }: Structure<'InputData'>,
): Structure<'Input'> {
  const typed = moment.typed.get(command);
  const digits = '1234567890'.repeat(Math.ceil(MinLength / 10)).slice(0, Math.max(MinLength, 1));
  switch (command) {
    case 'GetConfirmation':
    case 'SiteManager':
      return { InputCommand: command, ConfirmedFlag: typed !== 'no' };
    case 'GetFunctionKey':
      return { InputCommand: command, FunctionKey: typed ?? '1' };
    case 'GetMenuEntry':
      return { InputCommand: command, MenuEntryNumber: [Number(typed ?? 1)] };
    case 'DigitString':
      return { InputCommand: command, DigitInput: typed ?? usual ?? digits };
    case 'DecimalString':
    case 'TextString':
      return { InputCommand: command, TextInput: typed ?? usual ?? digits };
    case 'Password':
      return { InputCommand: command, Password: typed ?? digits };
    case 'GetAnyKey':
      return { InputCommand: command };
  }
}

export async function input(work: Work<'InputRequest'>, inside: Inside): Promise<Reply> {
  const { DisplayOutput: output, InputData: data } = work.body;
  const { Device, InfoQualify } = data;
  if (!ours.includes(Device)) throw new ServiceFault('UnavailableDevice');
  if (output !== undefined) shown(inside, output);
  await inside.sleep(inside.times.step, work.signal);
  const answer: Structure<'InputResponse'> = {
    ...defined({
      OutputResult:
        output === undefined
          ? undefined
          : {
              Device: output.Device,
              InfoQualify: output.InfoQualify,
              Response: succeeded,
            },
    }),
    InputResult: { Device, InfoQualify, Response: succeeded, Input: typedFor(inside, data) },
  };
  return answer;
}

/** What is asked for is shown anew while somebody types; there is no answer. */
export function inputUpdate({ body }: Work<'InputUpdate'>, { show }: Inside): Reply {
  show('Message', ...linesOf(body.OutputContent).slice(0, linesMax));
  return {};
}

export async function print(work: Work<'PrintRequest'>, inside: Inside): Promise<Reply> {
  const { moment, tell, sleep, times } = inside;
  const { DocumentQualifier, ResponseMode, OutputContent } = work.body.PrintOutput;
  if (!moment.hasPaper) throw new ServiceFault('DeviceOut', 'no_paper');
  tell({ type: 'Printed', lines: linesOf(OutputContent) });
  if (ResponseMode === 'PrintEnd') await sleep(times.step, work.signal);
  const answer: Structure<'PrintResponse'> = { DocumentQualifier, Response: succeeded };
  return answer;
}

export function sound({ body }: Work<'SoundRequest'>, { tell }: Inside): Reply {
  if (body.SoundAction === 'StartSound') tell({ type: 'Sound' });
  return { Response: succeeded };
}

/** A simulator calls nobody; `echo` answers what it was sent. */
export function transmit({ body }: Work<'TransmitRequest'>): Reply {
  if (body.DestinationAddress !== 'echo') {
    throw new ServiceFault('UnreachableHost', 'transmit_not_supported');
  }
  const answer: Structure<'TransmitResponse'> = {
    Response: succeeded,
    ...(body.WaitResponseFlag === true ? { Message: body.Message } : {}),
  };
  return answer;
}

/** A PIN under the next key of the pad, for whoever holds the base key. */
export async function pin(work: Work<'PINRequest'>, inside: Inside): Promise<Reply> {
  const { pad, keeper, sleep, times, show } = inside;
  const { PINRequestType: type, PINFormat: format = 'ISO0' } = work.body;
  if (format !== 'ISO0') throw new ServiceFault('UnavailableService', 'pin_format_not_supported');
  const card = await readCard(work, inside, { amount: 0, text: 'PIN' });
  show('Pin', 'PIN', '****');
  await sleep(times.step, work.signal);
  const digits = card.pins[0] ?? '';
  const isRight = digits === '1234';
  if (type !== 'PINEnter' && !isRight) throw new ServiceFault('WrongPIN');
  if (type === 'PINVerifyOnly') return { Response: succeeded };
  const transaction = pad.next();
  keeper.keep({ keys: pad.counter() });
  const { pinblock, ksn } = transaction.pin(digits, card);
  const answer: Structure<'PINResponse'> = {
    Response: succeeded,
    CardholderPIN: {
      EncrPINBlock: { ContentType: 'id-envelopedData', KeySerialNumber: ksn, PINBlock: pinblock },
      PINFormat: format,
    },
  };
  return answer;
}

const answerToReset = '3B6800000073C84012009000';

export async function cardReaderInit(
  work: Work<'CardReaderInitRequest'>,
  inside: Inside,
): Promise<Reply> {
  const { DisplayOutput: output } = work.body;
  if (output !== undefined) shown(inside, output);
  inside.moment.held = undefined;
  const card = await readCard(work, inside, { amount: 0, text: 'Welcome' });
  // It stays in the reader until the till is done with it.
  const until = Number.POSITIVE_INFINITY;
  inside.moment.held = { card, reference: '', saleId: work.header.SaleID, until };
  const answer: Structure<'CardReaderInitResponse'> = {
    Response: succeeded,
    EntryMode: [{ Chip: 'ICC', Tap: 'Contactless', Stripe: 'MagStripe' }[card.entry]],
    ...(card.entry === 'Stripe'
      ? {}
      : { ICCResetData: { ATRValue: bytesOf(answerToReset), CardStatusWords: bytesOf('9000') } }),
  };
  return answer;
}

const challengeBytes = 8;
const words = { done: '9000', notFound: '6A82', unknown: '6D00' } as const;

/** SELECT by the name of an application, and GET CHALLENGE; a card that says more would say its number. */
export function cardReaderApdu(
  { header, body }: Work<'CardReaderAPDURequest'>,
  { moment, random }: Inside,
): Reply {
  const { held } = moment;
  if (held?.saleId !== header.SaleID || held.card.entry === 'Stripe') {
    throw new ServiceFault('NotAllowed', 'no_chip_in_reader');
  }
  const instruction = hexOf(body.APDUInstruction);
  const answered = (status: string, data = ''): Reply => ({
    Response: succeeded,
    ...(data === '' ? {} : { APDUData: bytesOf(data) }),
    CardStatusWords: bytesOf(status),
  });
  if (instruction === '84') {
    return answered(words.done, Buffer.from(random(challengeBytes)).toString('hex'));
  }
  if (instruction !== 'A4') return answered(words.unknown);
  const { applicationId } = held.card;
  const name = hexOf(body.APDUData ?? '');
  if (name === '' || !applicationId.startsWith(name)) return answered(words.notFound);
  const length = (applicationId.length / 2).toString(16).padStart(2, '0');
  const inner = `84${length}${applicationId}`;
  return answered(words.done, `6F${(inner.length / 2).toString(16).padStart(2, '0')}${inner}`);
}

export function cardReaderPowerOff(
  { body }: Work<'CardReaderPowerOffRequest'>,
  inside: Inside,
): Reply {
  inside.moment.held = undefined;
  if (body.DisplayOutput !== undefined) shown(inside, body.DisplayOutput);
  else inside.show('Message', 'Take your card');
  return { Response: succeeded };
}
