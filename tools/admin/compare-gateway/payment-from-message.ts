// Derives the payment of a recorded request, in the form in which the payments module gives it to the link.
import { defined, type EntryMode } from '@switchyard/contract';
import { EmvError, parseChipOutcome } from '@switchyard/emv';
import type { Message } from '@switchyard/iso8583';
import { alphaOf } from '@switchyard/money';
import {
  type AcquirerPin,
  type AcquirerReference,
  type AcquirerRequest,
  type AcquirerRequestKind,
  type AcquirerReversalReason,
  readSubelement,
} from '../../../packages/server/src/acquiring/index.ts';
import { isoTime } from '../../../packages/server/src/platform/index.ts';
import type { ProductionMessages } from './production-messages.ts';
import type { OriginalNumbers, RecordedSale, RecordedSales } from './recorded-sales.ts';

/** A request, or why the platform would send none, or why the trace does not show its payment. */
export type DerivedPayment =
  | {
      readonly result: 'Payment';
      readonly request: AcquirerRequest;
      readonly institutionId: string;
    }
  | { readonly result: 'NotSent' | 'NotCompared'; readonly reason: string };

const notSent = (reason: string) => ({ result: 'NotSent', reason }) as const;
const notCompared = (reason: string) => ({ result: 'NotCompared', reason }) as const;

type Fields = Message['fields'];

/** Transaction types: the first two digits of DE3. */
const transactionTypes = { cashback: '09', refund: '20', reversal: '02' } as const;
/** Goods, cash, goods with cashback. */
const saleTypes: readonly string[] = ['00', '01', transactionTypes.cashback];
const moreCapturesCondition = '06';

/** The kind of a request by its message class, in which the last digit is that of a repetition; undefined for others. */
function kindOf({ mti, fields }: Message): AcquirerRequestKind | undefined {
  const { 3: code = '', 39: response, 90: original } = fields;
  const messageClass = mti.slice(0, 3);
  if (messageClass === '040' || messageClass === '042') return 'Reversal';
  if (messageClass !== '010' && messageClass !== '020' && messageClass !== '022') return undefined;
  if (code.startsWith(transactionTypes.refund)) return 'Refund';
  if (code.startsWith(transactionTypes.reversal)) return 'Reversal';
  if (messageClass === '022')
    return response !== undefined && original === undefined ? 'OfflineSale' : 'Capture';
  return messageClass === '010' ? 'Authorization' : 'Sale';
}

export const isFirstMessage = (kind: AcquirerRequestKind): boolean =>
  kind === 'Sale' || kind === 'Authorization' || kind === 'OfflineSale';

const mtiByKind: Readonly<Record<AcquirerRequestKind, string>> = {
  Authorization: '0100',
  Sale: '0200',
  OfflineSale: '0220',
  Capture: '0220',
  Refund: '0200',
  Reversal: '0420',
};

/** Track 2: the number, the separator, and the expiry date. */
const trackPattern = /^(\d{12,19})[=D](\d{4})/;

function readCard(
  { 2: number, 14: expiry, 35: track2 = '' }: Fields,
  sale: RecordedSale | undefined,
): AcquirerRequest['card'] | undefined {
  const [, trackNumber, trackExpiry] = trackPattern.exec(track2) ?? [];
  const stored = sale?.card;
  const pan = number ?? trackNumber ?? stored?.pan;
  if (pan === undefined) return undefined;
  return { pan, expiry: expiry ?? trackExpiry ?? stored?.expiry ?? unknownExpiry };
}

// In place of values that the platform has and that the recorded message lacks. They are never printed.
const unknownExpiry = '0000';
const unknownMcc = '0000';
const unknownRrn = '0'.repeat(12);
const unknownInstitution = '0';

/** The canonical fields of a message that the platform fills in with its own values if the gateway omits them. */
export const ownFields: readonly number[] = [7, 12, 13, 14, 18, 32, 37];

/** Amount types of DE54, each in a part of 20 characters. */
const amountPartPattern = /\d{2}(40|44)\d{3}[CD](\d{12})/g;

function readAmounts({ 3: code = '', 54: parts = '' }: Fields): AcquirerRequest['amounts'] {
  const amounts: { tip?: number; cashback?: number } = code.startsWith(transactionTypes.cashback)
    ? { cashback: 0 }
    : {};
  for (const [, type, amount] of parts.matchAll(amountPartPattern))
    amounts[type === '40' ? 'cashback' : 'tip'] = Number(amount);
  return Object.keys(amounts).length === 0 ? undefined : amounts;
}

/** The format and the key index are in DE53. */
function readPin({ 52: block, 53: control = '' }: Fields): AcquirerPin | undefined {
  if (block === undefined) return undefined;
  const format = Number(control[1] ?? 0);
  const keyIndex = control.slice(2, 4) || '00';
  return { block, keyIndex, format: format === 3 || format === 4 ? format : 0 };
}

const addressPattern = /^(.{9})(.+)$/;

function readAddress(de48: string): AcquirerRequest['addressCheck'] {
  const [, postalCode = '', houseNumber = ''] =
    addressPattern.exec(readSubelement(de48, '82') ?? '') ?? [];
  return houseNumber === '' ? undefined : { postalCode: postalCode.trimEnd(), houseNumber };
}

/** The tags that the platform sends of the same chip data. */
function readChipData(de55: string | undefined): string | undefined {
  if (de55 === undefined) return undefined;
  try {
    return parseChipOutcome(de55).forDe55;
  } catch (error) {
    // Data that is not BER-TLV is compared as it is.
    if (error instanceof EmvError) return de55;
    throw error;
  }
}

/** The data that only the first message of a payment has. */
function readCardData(fields: Fields, kind: AcquirerRequestKind): Partial<AcquirerRequest> {
  const { 23: panSequence, 35: track2, 48: de48 = '', 55: de55 } = fields;
  const chip = { panSequence, chipData: readChipData(de55) };
  if (kind === 'OfflineSale') return defined(chip);
  if (kind !== 'Sale' && kind !== 'Authorization') return {};
  const sensitive = defined({
    track2,
    securityCode: readSubelement(de48, '92'),
    pin: readPin(fields),
  });
  return defined({
    ...chip,
    sensitive: Object.keys(sensitive).length === 0 ? undefined : sensitive,
    addressCheck: readAddress(de48),
  });
}

function readReference(
  kind: AcquirerRequestKind,
  fields: Fields,
  atMs: number | undefined,
): AcquirerReference {
  const utc = isoTime(atMs ?? 0)
    .slice(5, 19)
    .replace(/\D/g, '');
  const { 7: transmittedAt = utc, 11: stan = '', 12: localTime = utc.slice(4) } = fields;
  const { 13: localDate = utc.slice(0, 4), 37: rrn = unknownRrn, 41: terminalId = '' } = fields;
  return { mti: mtiByKind[kind], terminalId, stan, rrn, transmittedAt, localTime, localDate };
}

/** DE90: message type, trace number, and time of the original. */
const originalPattern = /^(\d{4})(\d{6})(\d{4})(\d{6})/;

type OriginalData = OriginalNumbers & { readonly reference?: AcquirerReference };

/** The numbers of the original: of DE90, of other fields as the table says, or the numbers of the message itself. */
function readOriginal({ fields, original = {} }: Message): OriginalData {
  const { 11: ownStan, 37: ownRrn, 41: ownTerminal = '', 90: originalData = '' } = fields;
  const [, mti, stan, localDate = '', localTime = ''] = originalPattern.exec(originalData) ?? [];
  const {
    terminal: terminalId = ownTerminal,
    rrn = ownRrn,
    approval: authorizationCode,
  } = original;
  if (mti === undefined || stan === undefined) {
    const { stan: originalStan = ownStan, date, time } = original;
    const sentAt = date === undefined || time === undefined ? undefined : date + time;
    return { terminalId, rrn, stan: originalStan, sentAt, authorizationCode };
  }
  const sentAt = localDate + localTime;
  const times = { transmittedAt: sentAt, localDate, localTime };
  const reference = { mti, stan, terminalId, rrn: rrn ?? unknownRrn, ...times };
  return { terminalId, stan, sentAt, reference };
}

const reversalReasons: readonly AcquirerReversalReason[] = [
  'CustomerCancel',
  'Timeout',
  'InvalidResponse',
  'ChipDeclined',
  'CardRemoved',
  'Suspect',
];
const entryModes: readonly EntryMode[] = [
  'Keyed',
  'ContactChip',
  'ContactlessChip',
  'MagStripe',
  'ContactlessMagStripe',
  'FallbackMagStripe',
];

/** A payment with arbitrary values, to see which value of a field the platform sends for a fact. */
const samplePayment: AcquirerRequest = {
  kind: 'Reversal',
  repeat: false,
  organizationId: '',
  transactionId: '',
  linkId: '',
  reference: readReference('Reversal', {}, undefined),
  merchantNumber: '',
  mcc: unknownMcc,
  amount: 0,
  currency: 'EUR',
  entryMode: 'Keyed',
  card: { pan: '', expiry: unknownExpiry },
};

/** The first digits of an entry mode say how the card was read. The host can have other values in the rest. */
const entryModeDigits = 2;

/** Finds the fact, such as an entry mode, for which the platform sends the recorded value of a field. */
function createFactFinder({ build }: Pick<ProductionMessages, 'build'>) {
  const readValue = (field: number, facts: Partial<AcquirerRequest>) =>
    build({ ...samplePayment, ...facts }, unknownInstitution).fields[field] ?? '';
  const reasons = new Map(
    reversalReasons.map((reversalReason) => [readValue(25, { reversalReason }), reversalReason]),
  );
  const modes = new Map(entryModes.map((entryMode) => [readValue(22, { entryMode }), entryMode]));
  const modeStarts = new Map(
    [...modes].map(([value, mode]) => [value.slice(0, entryModeDigits), mode]),
  );
  const remoteOrder = {
    entryMode: readValue(22, { isRemoteOrder: true }),
    condition: readValue(25, { kind: 'Sale', isRemoteOrder: true }),
  };

  return {
    reasonOf: ({ 25: code = '' }: Fields) => reasons.get(code),
    isRemoteOrder: ({ 22: mode, 25: condition }: Fields) =>
      mode === remoteOrder.entryMode || condition === remoteOrder.condition,
    entryModeOf({ 22: mode = '', 35: track2, 55: de55 }: Fields): EntryMode {
      const exact = modes.get(mode) ?? modeStarts.get(mode.slice(0, entryModeDigits));
      if (exact !== undefined) return exact;
      if (de55 !== undefined) return 'ContactChip';
      return track2 === undefined ? 'Keyed' : 'MagStripe';
    },
  };
}

const requiredFields = [
  [4, 'the amount'],
  [11, 'the trace number'],
  [41, 'the terminal'],
  [42, 'the merchant'],
] as const;

export function createPaymentDeriver(production: ProductionMessages, sales: RecordedSales) {
  const facts = createFactFinder(production);

  function readFollowUp(
    kind: AcquirerRequestKind,
    { fields, operation }: Message,
    { original, sale }: { original: AcquirerReference; sale: RecordedSale | undefined },
  ): Partial<AcquirerRequest> {
    const { 38: code = '', 55: de55 } = fields;
    const authorizationCode = sale?.authorizationCode ?? (code.trim() || undefined);
    const common = {
      original: { ...original, ...defined({ amount: sale?.amount }) },
      ...defined({ authorizationCode }),
    };
    if (kind === 'Capture')
      return fields[25] === moreCapturesCondition ? common : { ...common, final: true };
    if (kind === 'Refund') return common;
    const remaining = Number(fields[95]?.slice(0, 12) ?? 0);
    // The table can have a message of its own for the cancel of a customer.
    const isTimeout = sale?.hasResponse === false || operation?.name === 'reversal';
    const assumedReason = isTimeout ? 'Timeout' : 'CustomerCancel';
    const reversalReason = facts.reasonOf(fields) ?? assumedReason;
    // Only a chip that declined after the approval has data in a reversal.
    const chipData = reversalReason === 'ChipDeclined' ? readChipData(de55) : undefined;
    return {
      ...common,
      reversalReason,
      ...defined({ chipData, remainingAmount: remaining > 0 ? remaining : undefined }),
    };
  }

  /** The facts that all messages of a payment have: of the sale if the trace has it, otherwise of this message. */
  function readPaymentFacts(fields: Fields, sale: RecordedSale | undefined) {
    const { 49: numericCurrency } = fields;
    const { mcc, entryMode, amounts, isRemoteOrder } = sale ?? {
      mcc: fields[18] ?? unknownMcc,
      entryMode: facts.entryModeOf(fields),
      isRemoteOrder: facts.isRemoteOrder(fields),
      amounts: readAmounts(fields),
    };
    return {
      mcc,
      entryMode,
      card: readCard(fields, sale),
      currency: numericCurrency === undefined ? sale?.currency : alphaOf(numericCurrency),
      ...defined({ amounts, isRemoteOrder: isRemoteOrder === true ? true : undefined }),
    };
  }

  /** The original of a capture, refund or reversal: of the trace, or as DE90 names it. */
  function findOriginal(
    kind: AcquirerRequestKind,
    message: Message,
  ): { sale?: RecordedSale | undefined; original?: AcquirerReference | undefined } {
    if (isFirstMessage(kind)) return {};
    const { reference, ...numbers } = readOriginal(message);
    const sale = sales.find(numbers);
    return { sale, original: sale?.reference ?? reference };
  }

  /** @param message a canonical request */
  return function derivePayment(message: Message, atMs: number | undefined): DerivedPayment {
    const { mti, fields, data = {} } = message;
    const kind = kindOf(message);
    if (kind === undefined) return notSent(`the platform sends no message of the type ${mti}`);
    const transactionType = (fields[3] ?? '').slice(0, 2);
    if (isFirstMessage(kind) && !saleTypes.includes(transactionType))
      return notSent(`the platform sends no transaction type ${transactionType} (3)`);
    const repeat = Number(mti[3]) % 2 === 1;
    if (repeat && (kind === 'Sale' || kind === 'Authorization'))
      return notSent('the platform repeats no sale and no authorisation: it reverses them');
    for (const [field, meaning] of requiredFields)
      if (fields[field] === undefined)
        return notCompared(`the message has no ${meaning} (${field})`);
    const { sale, original } = findOriginal(kind, message);
    if (original === undefined && !isFirstMessage(kind))
      return notCompared('the sale is not in the trace, and the message has no original data (90)');
    const { card, currency, ...payment } = readPaymentFacts(fields, sale);
    if (card === undefined) return notCompared('the trace does not show the card number');
    if (currency === undefined) return notCompared('the currency (49) is missing or unknown');
    const { merchantName, merchantAddress, orderId } = data;
    const {
      4: amount,
      32: institutionId = unknownInstitution,
      38: code,
      42: merchant = '',
    } = fields;
    const request: AcquirerRequest = {
      ...samplePayment,
      ...payment,
      kind,
      repeat,
      reference: readReference(kind, fields, atMs),
      merchantNumber: merchant.trimEnd(),
      amount: Number(amount),
      currency,
      card,
      ...defined({ merchantName, merchantAddress, orderId }),
      ...readCardData(fields, kind),
      ...(kind === 'OfflineSale' ? defined({ authorizationCode: code?.trim() }) : undefined),
      ...(original && readFollowUp(kind, message, { original, sale })),
    };
    return { result: 'Payment', request, institutionId };
  };
}
