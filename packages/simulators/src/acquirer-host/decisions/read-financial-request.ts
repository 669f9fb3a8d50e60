// Reads a financial request from the fields of a message. Of the card data it keeps the masked number only.
import { defined } from '@switchyard/contract';
import { type Message, maskPan, type OriginalMessage } from '@switchyard/iso8583';
import type { LedgerEntryKind } from '../ledger/ledger-entries.ts';

export type FinancialRequest = {
  kind: LedgerEntryKind;
  /**
   * Message class, merchant, terminal, trace number and transmission time: the same for a repeat.
   * Two merchants may have a terminal of the same name.
   */
  key: string;
  /** Sent again (the message type ends in an odd digit). */
  repeat: boolean;
  terminal: string;
  merchant: string;
  currency: string;
  amount: number;
  rrn: string;
  /** Masked. */
  pan: string;
  /** The approval code (DE38) that chip or terminal gave for a sale made offline. */
  approvedOffline?: string;
  /** Possible ledger keys of the original; empty without DE90. */
  originalKeys: string[];
  /** The parts of the original that a message without DE90 has. */
  original?: OriginalMessage;
  /** Local date and time (DE13, DE12). */
  localTime?: string;
  /** The last capture (DE25 00; 06 announces further captures): the host releases the rest of the hold. */
  final: boolean;
  /** The reason of a reversal (DE25, four digits). */
  reason?: string;
  /** The amount of the original that remains (DE95); undefined for a full reversal. */
  remaining: number | undefined;
};

export type RequestFault = { fault: '12' | '30' };

const FORMAT_ERROR: RequestFault = { fault: '30' };
const INVALID_TRANSACTION: RequestFault = { fault: '12' };

const REQUIRED = [4, 11, 41, 42, 49] as const;
/** The fields of the time that identifies a message. */
const TIME_FIELDS = { Transmission: [7], Local: [12, 13] } as const;
/** Goods, cash, goods with cashback. */
const DEBITS = new Set(['00', '01', '09']);
const REFUND = '20';
const AMOUNT_DIGITS = 12;
const NOTHING_MORE_TO_COME = '00';
const ORIGINAL_CLASSES = ['010', '020', '022'] as const;

/** `040` and `042` both are reversals, of one class: a request may be repeated as an advice. */
const classes: Readonly<Record<string, string>> = {
  '010': '010',
  '020': '020',
  '022': '022',
  '040': '042',
  '042': '042',
};

/** The advice of a sale that the terminal approved offline has DE39; a capture has no response code. */
function isOfflineSale(messageClass: string, { fields }: Message): boolean {
  return messageClass === '022' && fields[39] !== undefined && fields[90] === undefined;
}

function kindOf(messageClass: string, message: Message): LedgerEntryKind | undefined {
  const kind = (message.fields[3] ?? '').slice(0, 2);
  switch (messageClass) {
    case '010':
      return DEBITS.has(kind) ? 'hold' : undefined;
    case '020':
      if (kind === REFUND) return 'refund';
      return DEBITS.has(kind) ? 'sale' : undefined;
    case '022':
      if (isOfflineSale(messageClass, message)) return DEBITS.has(kind) ? 'sale' : undefined;
      return 'capture';
    default:
      return 'reversal';
  }
}

/** DE90 has six digits of a trace number of any length. */
const TRACE_DIGITS = 6;

function keyOf(
  messageClass: string,
  merchantAndTerminal: string,
  trace: string,
  sent: string,
): string {
  const digits = trace.padStart(TRACE_DIGITS, '0').slice(-TRACE_DIGITS);
  return `${messageClass}.${merchantAndTerminal}.${digits}.${sent}`;
}

/** Which time of a message identifies it in later messages. */
export type OriginalTime = 'Transmission' | 'Local';

function sentAt(fields: Message['fields'], time: OriginalTime): string {
  return time === 'Local' ? (fields[13] ?? '') + (fields[12] ?? '') : (fields[7] ?? '');
}

/** DE90: message type 4, trace number 6, transmission time 10, two institutions of 11. */
function originalKeysOf(merchantAndTerminal: string, original: string | undefined): string[] {
  if (original === undefined) return [];
  const namedClass = classes[original.slice(0, 3)] ?? '';
  const trace = original.slice(4, 10);
  const sent = original.slice(10, 20);
  // Hosts find an original by its numbers; the message type in DE90 may differ.
  const ordered = [namedClass, ...ORIGINAL_CLASSES.filter((each) => each !== namedClass)];
  return ordered.map((each) => keyOf(each, merchantAndTerminal, trace, sent));
}

function panOf({ fields }: Message): string {
  return maskPan(fields[2] ?? fields[35]?.split('=')[0] ?? '');
}

/** Reads a request, or returns the response code (DE39) for a malformed request. */
export function parseFinancialRequest(
  message: Message,
  originalBy: OriginalTime = 'Transmission',
): FinancialRequest | RequestFault {
  const { mti, fields } = message;
  const messageClass = classes[mti.slice(0, 3)];
  if (messageClass === undefined) return INVALID_TRANSACTION;
  const required = [...REQUIRED, ...TIME_FIELDS[originalBy]];
  if (required.some((field) => fields[field] === undefined)) return FORMAT_ERROR;
  const kind = kindOf(messageClass, message);
  if (kind === undefined) return fields[3] === undefined ? FORMAT_ERROR : INVALID_TRANSACTION;
  const pan = panOf(message);
  if ((kind === 'hold' || kind === 'sale') && pan === '') return FORMAT_ERROR;
  const replacement = fields[95]?.slice(0, AMOUNT_DIGITS);
  if (replacement !== undefined && !/^[0-9]+$/.test(replacement)) return FORMAT_ERROR;
  const terminal = (fields[41] ?? '').trimEnd();
  const merchant = (fields[42] ?? '').trimEnd();
  const merchantAndTerminal = `${merchant}.${terminal}`;
  return {
    kind,
    key: keyOf(messageClass, merchantAndTerminal, fields[11] ?? '', sentAt(fields, originalBy)),
    repeat: Number(mti.slice(3)) % 2 === 1,
    terminal,
    merchant,
    currency: fields[49] ?? '',
    amount: Number(fields[4]),
    rrn: fields[37] ?? '',
    pan,
    originalKeys: originalKeysOf(merchantAndTerminal, fields[90]),
    localTime: (fields[13] ?? '') + (fields[12] ?? ''),
    ...defined({ original: message.original }),
    final: kind === 'capture' && fields[25] === NOTHING_MORE_TO_COME,
    remaining: replacement === undefined ? undefined : Number(replacement),
    ...(kind === 'reversal' && fields[25]?.length === 4 ? { reason: fields[25] } : {}),
    ...(isOfflineSale(messageClass, message) ? { approvedOffline: fields[38] ?? '' } : {}),
  };
}
