// Message types and processing codes of a host for each operation of the platform.
import type { Fields, Message, MessageOperation } from '../message.ts';
import { type OperationName, operationNames } from '../operation-names.ts';
import type { HostTable } from './host-table.ts';
import type { Operations } from './operation-settings.ts';

/** Operations with the same effect at the host: they can share a message. */
type OperationGroup = 'authorization' | 'sale' | 'offlineSale' | 'capture' | 'refund' | 'reversal';

type CanonicalOperation = {
  readonly group: OperationGroup;
  readonly type: string;
  readonly processingCode: string;
  /** A missing member has the value of this operation. */
  readonly fallback?: OperationName;
};

const goods = '000000';
const goodsWithCashback = '090000';
const returns = '200000';

export const canonicalOperations: { readonly [name in OperationName]: CanonicalOperation } = {
  authorization: { group: 'authorization', type: '0100', processingCode: goods },
  accountVerification: {
    group: 'authorization',
    type: '0100',
    processingCode: goods,
    fallback: 'authorization',
  },
  motoAuthorization: {
    group: 'authorization',
    type: '0100',
    processingCode: goods,
    fallback: 'authorization',
  },
  sale: { group: 'sale', type: '0200', processingCode: goods },
  cashback: { group: 'sale', type: '0200', processingCode: goodsWithCashback, fallback: 'sale' },
  motoSale: { group: 'sale', type: '0200', processingCode: goods, fallback: 'sale' },
  offlineSale: { group: 'offlineSale', type: '0220', processingCode: goods },
  capture: { group: 'capture', type: '0220', processingCode: goods },
  refund: { group: 'refund', type: '0200', processingCode: returns },
  void: { group: 'reversal', type: '0420', processingCode: goods, fallback: 'reversal' },
  reversal: { group: 'reversal', type: '0420', processingCode: goods },
};

const originalField = 90;
const customerCancel = '4000';
const remoteOrderMode = '012';
const verification = '51';
const debits = ['00', '01', '09'];

const isAnswer = (mti: string) => Number(mti[2]) % 2 === 1;
const isRepeat = (mti: string) => Number(mti[3]) % 2 === 1;
const toAnswerType = (type: string) => `${type.slice(0, 2)}${Number(type[2]) + 1}${type[3]}`;
const toRepeatType = (type: string) => `${type.slice(0, 3)}${Number(type[3]) + 1}`;

export const hasOriginal = (name: OperationName): boolean =>
  ['capture', 'refund', 'reversal'].includes(canonicalOperations[name].group);

/** The operation of a canonical message, before the table applies. */
function selectOperation({ mti, fields }: Message): OperationName | undefined {
  const { 3: code = '', 22: mode, 25: condition, 39: response } = fields;
  const answers = isAnswer(mti);
  switch (mti[1] + String(Number(mti[2]) - Number(answers))) {
    case '10':
      if (condition === verification) return 'accountVerification';
      return mode === remoteOrderMode ? 'motoAuthorization' : 'authorization';
    case '20':
      if (code.startsWith('20')) return 'refund';
      if (code.startsWith('09')) return 'cashback';
      return mode === remoteOrderMode ? 'motoSale' : 'sale';
    case '22':
      return answers || response === undefined ? 'capture' : 'offlineSale';
    case '42':
      return condition === customerCancel ? 'void' : 'reversal';
    default:
      return undefined;
  }
}

const withCode = (fields: Fields, code: string | undefined): Fields =>
  code === undefined ? { ...fields } : { ...fields, 3: code };

function resolveSettings(operations: Operations, name: OperationName) {
  const { group, fallback, type } = canonicalOperations[name];
  // A `void` in the table takes no member from `reversal`.
  const isSeparate = group === 'reversal' && operations[name] !== undefined;
  const inheritedFrom = isSeparate ? undefined : fallback;
  const { processingCode, ...inherited } = (inheritedFrom && operations[inheritedFrom]) ?? {};
  // Only a sale with cashback keeps its own code beside another code of the sale.
  const code = name === 'cashback' ? undefined : processingCode;
  return { type, processingCode: code, ...inherited, ...operations[name] };
}

/** Finds the request of a response, both in canonical form. */
export type RequestLookup = (response: Message) => Message | undefined;

export function compileOperations(table: HostTable) {
  const { operations = {}, repeatIndicator, originalData, functionCodes } = table;
  const settings = Object.fromEntries(
    operationNames.map((name) => [name, resolveSettings(operations, name)]),
  ) as { [name in OperationName]: ReturnType<typeof resolveSettings> };
  // A message with more constants is more specific.
  const byPrecedence = operationNames.toSorted((a, b) => precedence(b) - precedence(a));

  function precedence(name: OperationName): number {
    const { constants = {}, processingCode } = settings[name];
    return Object.keys(constants).length * 2 + (processingCode === undefined ? 0 : 1);
  }

  const codeOfSale = (canonicalCode: string, originalType = ''): string => {
    if (canonicalCode === goodsWithCashback)
      return settings.cashback.processingCode ?? canonicalCode;
    const original = originalType.startsWith('01') ? settings.authorization : settings.sale;
    return original.processingCode ?? canonicalCode;
  };

  const codesOfSales = [
    codeOfSale(goods),
    codeOfSale(goods, canonicalOperations.authorization.type),
    codeOfSale(goodsWithCashback),
  ];

  function hostCode(name: OperationName, { fields }: Message): string | undefined {
    const { 3: code } = fields;
    if (code === undefined) return undefined;
    const { processingCode } = settings[name];
    if (processingCode !== undefined) return processingCode;
    const hasCodeOfSale = hasOriginal(name) && name !== 'refund';
    return hasCodeOfSale ? codeOfSale(code, fields[originalField]) : code;
  }

  function hostType(name: OperationName, mti: string): string {
    const { type } = settings[name];
    if (isAnswer(mti)) return toAnswerType(type);
    return isRepeat(mti) && repeatIndicator === undefined ? toRepeatType(type) : type;
  }

  function accepts(name: OperationName, fields: Fields): boolean {
    const { processingCode } = settings[name];
    const { 3: code } = fields;
    if (code === undefined || processingCode !== undefined) return code === processingCode;
    if (name === 'refund') return code.startsWith('20');
    if (name === 'cashback') return code.startsWith('09');
    if (debits.includes(code.slice(0, 2))) return true;
    return hasOriginal(name) && codesOfSales.includes(code);
  }

  /** Function codes distinguish the messages of 1993. */
  function hasFunctionCode(name: OperationName, { 24: code }: Fields): boolean {
    if (functionCodes === undefined || settings[name].constants?.[24] !== undefined) return true;
    const { type } = canonicalOperations[name];
    const offline = name === 'offlineSale' ? functionCodes[`${type} offline`] : undefined;
    const ownCodes = [offline ?? functionCodes[type], functionCodes[`${type} partial`]];
    const codes = ownCodes.filter((each) => each !== undefined);
    return codes.length === 0 || (code !== undefined && codes.includes(code));
  }

  function isRequestOf(name: OperationName, { mti, fields }: Message): boolean {
    const { type, constants = {}, omit = [] } = settings[name];
    if (mti.slice(0, 3) !== type.slice(0, 3) || !accepts(name, fields)) return false;
    if (!hasFunctionCode(name, fields)) return false;
    if (Object.entries(constants).some(([field, value]) => fields[Number(field)] !== value))
      return false;
    // The reason of a reversal can be in field 39.
    const hasResponseCode = fields[39] !== undefined && constants[39] === undefined;
    const isReversal = canonicalOperations[name].group === 'reversal';
    if (!isReversal && hasResponseCode !== (name === 'offlineSale')) return false;
    if (originalData === undefined) return true;
    const isOriginalSent = hasOriginal(name) && !omit.includes(originalData.field);
    return isOriginalSent === (fields[originalData.field] !== undefined);
  }

  function isAnswerTo(name: OperationName, { mti, fields }: Message): boolean {
    if (mti.slice(0, 3) !== toAnswerType(settings[name].type).slice(0, 3)) return false;
    const { 3: code } = fields;
    if (code === undefined || accepts(name, fields)) return true;
    // A host can fill in the account type, which follows the transaction type.
    return code.slice(0, 2) === settings[name].processingCode?.slice(0, 2);
  }

  const canonicalCode = (name: OperationName, code: string | undefined): string | undefined => {
    if (code === undefined) return undefined;
    const { processingCode } = canonicalOperations[name];
    if (settings[name].processingCode !== undefined || !hasOriginal(name) || name === 'refund')
      return code.startsWith('09') ? goodsWithCashback : processingCode;
    const isCashback = code === codeOfSale(goodsWithCashback);
    return isCashback ? goodsWithCashback : goods;
  };

  /** The parts of the original that the message repeats in its own fields. */
  function originalOf(name: OperationName, fields: Fields) {
    const { fromOriginal = [] } = settings[name];
    const value = (field: number) => (fromOriginal.includes(field) ? fields[field] : undefined);
    const parts = {
      stan: value(11),
      time: value(12),
      date: value(13),
      rrn: value(37),
      approval: fields[38]?.trim(),
    };
    return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined));
  }

  function readRequest(name: OperationName, { mti, fields }: Message): Message {
    const { constants = {} } = settings[name];
    const { 3: code } = fields;
    const repeats =
      repeatIndicator === undefined
        ? isRepeat(mti)
        : fields[repeatIndicator.field] === repeatIndicator.repeat;
    const canonical = withCode(fields, canonicalCode(name, code));
    for (const field of Object.keys(constants)) delete canonical[Number(field)];
    if (repeatIndicator !== undefined) delete canonical[repeatIndicator.field];
    const { type } = canonicalOperations[name];
    return {
      mti: repeats ? toRepeatType(type) : type,
      fields: canonical,
      operation: { name, processingCode: code },
      ...(hasOriginal(name) ? { original: originalOf(name, fields) } : {}),
    };
  }

  function readAnswer(name: OperationName, { mti, fields }: Message): Message {
    const type = toAnswerType(canonicalOperations[name].type).slice(0, 3) + mti[3];
    return { mti: type, fields: withCode(fields, canonicalCode(name, fields[3])) };
  }

  /** The ways to read a message of the host, the most specific first. */
  function read(message: Message): Message[] {
    if (!isAnswer(message.mti)) {
      const requests = byPrecedence.filter((name) => isRequestOf(name, message));
      return requests.map((name) => readRequest(name, message));
    }
    const { fields } = message;
    const answers = byPrecedence.filter((name) => isAnswerTo(name, message));
    const exact = (name: OperationName) => Number(accepts(name, fields));
    return answers.toSorted((a, b) => exact(b) - exact(a)).map((name) => readAnswer(name, message));
  }

  /** Gives an answer the type of its request, and its processing code, which the host repeats in its own form. */
  function matchAnswer(answer: Message, request: Message, code: string | undefined): Message {
    const name = selectOperation(request);
    const { 3: canonical } = request.fields;
    if (name === undefined) return answer;
    const mti = toAnswerType(canonicalOperations[name].type).slice(0, 3) + answer.mti[3];
    const sent = hostCode(name, request);
    if (code === undefined || canonical === undefined || sent === undefined)
      return { ...answer, mti };
    const hasSameKind = code.slice(0, 2) === sent.slice(0, 2);
    const repeated = hasSameKind ? canonical.slice(0, 2) + code.slice(2) : code;
    const fields = { ...answer.fields, 3: code === sent ? canonical : repeated };
    return { ...answer, mti, fields };
  }

  /** The host repeats its code, and can fill in the account type of the canonical code. */
  const answerCode = (name: OperationName, sent: string, code: string): string =>
    code === canonicalCode(name, sent) ? sent : sent.slice(0, 2) + code.slice(2);

  return {
    /** Selects the operation, before other members of the table change the fields. */
    select(message: Message): MessageOperation | undefined {
      const name = selectOperation(message);
      if (message.operation !== undefined || name === undefined) return message.operation;
      return { name, processingCode: hostCode(name, message) };
    },
    /** Type, processing code, constants and omitted fields of the operation. */
    write(
      message: Message,
      canonicalType: string,
      { name, processingCode }: MessageOperation,
    ): void {
      const { fields } = message;
      message.mti = table.version + hostType(name, canonicalType).slice(1);
      const { 3: code } = fields;
      if (code !== undefined && processingCode !== undefined)
        fields[3] = isAnswer(canonicalType)
          ? answerCode(name, processingCode, code)
          : processingCode;
      if (isAnswer(canonicalType)) return;
      const { constants = {}, omit = [] } = settings[name];
      for (const field of omit) delete fields[field];
      for (const [field, value] of Object.entries(constants)) fields[Number(field)] = value;
      if (repeatIndicator === undefined) return;
      const { field, first, repeat } = repeatIndicator;
      fields[field] = isRepeat(canonicalType) ? repeat : first;
    },
    read,
    matchAnswer,
    /** The type of an original in the host's messages. */
    hostTypeOfOriginal(type: string): string {
      if (type.startsWith('010')) return settings.authorization.type;
      return (type.startsWith('022') ? settings.offlineSale : settings.sale).type;
    },
    /** Replaces numbers of the message by those of its original. */
    takeOriginalNumbers(message: Message): Message {
      const name = selectOperation(message);
      const { original } = message;
      if (name === undefined || original === undefined) return message;
      const values: Fields = {
        11: original.stan,
        12: original.time,
        13: original.date,
        37: original.rrn,
      };
      const fields = { ...message.fields };
      for (const field of settings[name].fromOriginal ?? [])
        fields[field] = values[field] ?? fields[field];
      return { ...message, fields };
    },
    settings,
  };
}
