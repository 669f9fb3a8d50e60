// Device services: display, input, printer, sound, card reader, PIN pad.
import { defined } from '@switchyard/contract';
import type { Structure } from '@switchyard/nexo';
import { nexoEntryModes } from '../cards/test-cards.ts';
import {
  type ReplyBody,
  type ServiceCall,
  type ServiceContext,
  ServiceError,
  successResponse,
} from '../context/service-context.ts';
import { readCard } from '../payments/read-card.ts';

type Content = Structure<'OutputContent'>;

const linesMax = 40;
const ownDevices: readonly string[] = ['CustomerDisplay', 'CustomerInput'];
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

function showOutput(
  { show }: ServiceContext,
  { OutputContent, MenuEntry = [] }: Structure<'DisplayOutput'>,
) {
  const menu = MenuEntry.flatMap(({ OutputText }, at) => [
    `${at + 1} ${(OutputText ?? []).map(({ Text = '' }) => Text).join(' ')}`,
  ]);
  show('Message', ...[...linesOf(OutputContent), ...menu].slice(0, linesMax));
}

export function display(
  { body }: ServiceCall<'DisplayRequest'>,
  context: ServiceContext,
): ReplyBody {
  const results = body.DisplayOutput.map((output) => {
    const { Device, InfoQualify } = output;
    const isOwnDevice = ownDevices.includes(Device);
    if (isOwnDevice) showOutput(context, output);
    const Response: Structure<'Response'> = isOwnDevice
      ? successResponse
      : { Result: 'Failure', ErrorCondition: 'UnavailableDevice' };
    return { Device, InfoQualify, Response };
  });
  const answer: Structure<'DisplayResponse'> = { OutputResult: results };
  return answer;
}

/** The configured input, or one that lets the transaction continue. */
function inputFor(
  { runtime }: ServiceContext,
  { InputCommand: command, DefaultInputString: usual, MinLength = 1 }: Structure<'InputData'>,
): Structure<'Input'> {
  const typed = runtime.inputs.get(command);
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

export async function input(
  call: ServiceCall<'InputRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { DisplayOutput: output, InputData: data } = call.body;
  const { Device, InfoQualify } = data;
  if (!ownDevices.includes(Device)) throw new ServiceError('UnavailableDevice');
  if (output !== undefined) showOutput(context, output);
  await context.sleep(context.times.stepMs, call.signal);
  const answer: Structure<'InputResponse'> = {
    ...defined({
      OutputResult:
        output === undefined
          ? undefined
          : {
              Device: output.Device,
              InfoQualify: output.InfoQualify,
              Response: successResponse,
            },
    }),
    InputResult: { Device, InfoQualify, Response: successResponse, Input: inputFor(context, data) },
  };
  return answer;
}

/** Updates the display during an input; the message has no answer. */
export function inputUpdate(
  { body }: ServiceCall<'InputUpdate'>,
  { show }: ServiceContext,
): ReplyBody {
  show('Message', ...linesOf(body.OutputContent).slice(0, linesMax));
  return {};
}

export async function print(
  call: ServiceCall<'PrintRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { runtime, emit, sleep, times } = context;
  const { DocumentQualifier, ResponseMode, OutputContent } = call.body.PrintOutput;
  if (!runtime.hasPaper) throw new ServiceError('DeviceOut', 'no_paper');
  emit({ type: 'Printed', lines: linesOf(OutputContent) });
  if (ResponseMode === 'PrintEnd') await sleep(times.stepMs, call.signal);
  const answer: Structure<'PrintResponse'> = { DocumentQualifier, Response: successResponse };
  return answer;
}

export function sound({ body }: ServiceCall<'SoundRequest'>, { emit }: ServiceContext): ReplyBody {
  if (body.SoundAction === 'StartSound') emit({ type: 'Sound' });
  return { Response: successResponse };
}

/** The simulator has no outgoing connections; the destination `echo` returns the message. */
export function transmit({ body }: ServiceCall<'TransmitRequest'>): ReplyBody {
  if (body.DestinationAddress !== 'echo') {
    throw new ServiceError('UnreachableHost', 'transmit_not_supported');
  }
  const answer: Structure<'TransmitResponse'> = {
    Response: successResponse,
    ...(body.WaitResponseFlag === true ? { Message: body.Message } : {}),
  };
  return answer;
}

/** A PIN block encrypted with the next key of the PIN pad. */
export async function pin(
  call: ServiceCall<'PINRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { pad, store, sleep, times, show } = context;
  const { PINRequestType: type, PINFormat: format = 'ISO0' } = call.body;
  if (format !== 'ISO0') throw new ServiceError('UnavailableService', 'pin_format_not_supported');
  const card = await readCard(call, context, { amount: 0, text: 'PIN' });
  show('Pin', 'PIN', '****');
  await sleep(times.stepMs, call.signal);
  const digits = card.pins[0] ?? '';
  const isRight = digits === '1234';
  if (type !== 'PINEnter' && !isRight) throw new ServiceError('WrongPIN');
  if (type === 'PINVerifyOnly') return { Response: successResponse };
  const transaction = pad.next();
  store.update({ keys: pad.counter() });
  const { pinblock, ksn } = transaction.pin(digits, card);
  const answer: Structure<'PINResponse'> = {
    Response: successResponse,
    CardholderPIN: {
      EncrPINBlock: { ContentType: 'id-envelopedData', KeySerialNumber: ksn, PINBlock: pinblock },
      PINFormat: format,
    },
  };
  return answer;
}

const answerToReset = '3B6800000073C84012009000';

export async function cardReaderInit(
  call: ServiceCall<'CardReaderInitRequest'>,
  context: ServiceContext,
): Promise<ReplyBody> {
  const { DisplayOutput: output } = call.body;
  if (output !== undefined) showOutput(context, output);
  context.runtime.acquiredCard = undefined;
  const card = await readCard(call, context, { amount: 0, text: 'Welcome' });
  // The card stays in the reader until the till powers the reader off.
  const until = Number.POSITIVE_INFINITY;
  context.runtime.acquiredCard = { card, reference: '', saleId: call.header.SaleID, until };
  const answer: Structure<'CardReaderInitResponse'> = {
    Response: successResponse,
    EntryMode: [nexoEntryModes[card.entry]],
    ...(card.entry === 'MagStripe'
      ? {}
      : { ICCResetData: { ATRValue: bytesOf(answerToReset), CardStatusWords: bytesOf('9000') } }),
  };
  return answer;
}

const challengeBytes = 8;
const statusWords = { done: '9000', notFound: '6A82', unknown: '6D00' } as const;

/** Supports SELECT by AID and GET CHALLENGE only; other commands could return the card number. */
export function cardReaderApdu(
  { header, body }: ServiceCall<'CardReaderAPDURequest'>,
  { runtime, random }: ServiceContext,
): ReplyBody {
  const { acquiredCard: held } = runtime;
  if (held?.saleId !== header.SaleID || held.card.entry === 'MagStripe') {
    throw new ServiceError('NotAllowed', 'no_chip_in_reader');
  }
  const instruction = hexOf(body.APDUInstruction);
  const answered = (status: string, data = ''): ReplyBody => ({
    Response: successResponse,
    ...(data === '' ? {} : { APDUData: bytesOf(data) }),
    CardStatusWords: bytesOf(status),
  });
  if (instruction === '84') {
    return answered(statusWords.done, Buffer.from(random(challengeBytes)).toString('hex'));
  }
  if (instruction !== 'A4') return answered(statusWords.unknown);
  const { applicationId } = held.card;
  const name = hexOf(body.APDUData ?? '');
  if (name === '' || !applicationId.startsWith(name)) return answered(statusWords.notFound);
  const length = (applicationId.length / 2).toString(16).padStart(2, '0');
  const inner = `84${length}${applicationId}`;
  return answered(
    statusWords.done,
    `6F${(inner.length / 2).toString(16).padStart(2, '0')}${inner}`,
  );
}

export function cardReaderPowerOff(
  { body }: ServiceCall<'CardReaderPowerOffRequest'>,
  context: ServiceContext,
): ReplyBody {
  context.runtime.acquiredCard = undefined;
  if (body.DisplayOutput !== undefined) showOutput(context, body.DisplayOutput);
  else context.show('Message', 'Take your card');
  return { Response: successResponse };
}
