// Converts canonical messages to those of a host and back, by the table of the host.
import type { TextErrorPolicy } from '../compile-dialect.ts';
import { Iso8583Error } from '../errors.ts';
import type { Fields, Message } from '../message.ts';
import { convertAmount, decimalsOf } from './amount-with-currency.ts';
import { compileContents } from './contents.ts';
import type { HostTable, NetworkFunction } from './host-table.ts';
import { compileOperations, type RequestLookup } from './operations.ts';
import { compileValueLayout, type Layout } from './value-layout.ts';

/** The time in milliseconds since 1970: DE12 of 1993 needs the year. */
export type Now = () => number;

export type Converter = {
  toHost(message: Message): Message;
  /** With its own operations a table assigns a response to its request, if both have a message type in common. */
  toCanonical(message: Message, findRequest?: RequestLookup, errors?: TextErrorPolicy): Message;
  /** The message with the numbers of its original, if its operation requires this. */
  takeOriginalNumbers(message: Message): Message;
};

type Codes = { readonly [code: string]: string };

const canonicalNetwork: { readonly [name in NetworkFunction]: string } = {
  signOn: '001',
  signOff: '002',
  echo: '301',
  keyChange: '101',
  keyRequest: '161',
};
const originalLayout = 'type:4 stan:6 sent:10 institution:11 zeros:11';
const keyLayout = 'usage:1 algorithm:1 index:2 check:6 wrapped:*';
const securityLayout = 'format:2 index:2 zeros:12';
const originalField = 90;
const replacementField = 95;
const networkField = 70;
const keyField = 48;
const securityField = 53;
const malfunction = '96';
const amountDigits = 12;
const msPerDay = 86_400_000;

const isReversal = (mti: string) => mti[1] === '4';
const isNetwork = (mti: string) => mti[1] === '8';
const isAnswer = (mti: string) => Number(mti[2]) % 2 === 1;
/** DE22 and DE25 of mail and telephone orders. */
const remoteOrderMode = '012';
const remoteOrderCondition = '08';
const normalCondition = '00';
/** The canonical DE25 of a reversal has four digits for a reason, and two for a condition. */
const isReason = (code: string | undefined) => code?.length === 4;

function inverse(codes: Codes | undefined): Codes {
  // If several host codes have one meaning, the lowest is sent. Object keys list 901 before 000.
  const entries = Object.entries(codes ?? {}).toSorted(([a], [b]) => (a < b ? 1 : -1));
  return Object.fromEntries(entries.map(([from, to]) => [to, from] as const));
}

function compileRequiredLayout(layout: string, field: number): Layout {
  const compiled = compileValueLayout(layout);
  if (compiled === undefined) throw new Iso8583Error('table_invalid', field);
  return compiled;
}

/** The year of a month and day (MMDD) in the past, or up to two days later in another time zone. */
function yearOf(monthDay: string, now: number): string {
  const limit = new Date(now + 2 * msPerDay);
  const year = limit.getUTCFullYear();
  const latest = limit.toISOString().slice(5, 10).replace('-', '');
  return String(monthDay > latest ? year - 1 : year);
}

type CodesFor = (mti: string) => Codes;

/** Codes of reversals and network messages come first: a code can have another meaning in sales. */
function responseMaps({
  responseCodes,
}: HostTable): { toHost: CodesFor; toCanonical: CodesFor } | undefined {
  if (responseCodes === undefined) return undefined;
  const { financial, reversal = {}, network = {} } = responseCodes;
  const mapsOf = (codes: (codes: Codes) => Codes): CodesFor => {
    const usual = codes(financial);
    const ofReversals = { ...usual, ...codes(reversal) };
    const ofNetwork = { ...usual, ...codes(network) };
    return (mti) => (isNetwork(mti) ? ofNetwork : isReversal(mti) ? ofReversals : usual);
  };
  return { toHost: mapsOf(inverse), toCanonical: mapsOf((codes) => codes) };
}

/** A code without a line stays as it is. The field refuses it later if it does not fit. */
const mapCode = (codes: Codes | undefined, code: string): string => codes?.[code] ?? code;

function moveField(fields: Fields, from: number, to: number, value: string): void {
  delete fields[from];
  fields[to] = value;
}

/** Changes the fields of a converted message. */
type FieldConversion = (fields: Fields, mti: string, message: Message) => void;

function localTime(
  { localTime: kind }: HostTable,
  now: Now,
): { toHost: FieldConversion; fromHost: FieldConversion } {
  if (kind === 'TimeAndDate') return { toHost() {}, fromHost() {} };
  return {
    toHost(fields) {
      const { 12: time, 13: date } = fields;
      delete fields[13];
      if (time !== undefined && date !== undefined) {
        const year = yearOf(date, now());
        fields[12] = (kind === 'DateTime' ? year.slice(-2) : year) + date + time;
      }
    },
    fromHost(fields) {
      const { 12: dateAndTime } = fields;
      if (dateAndTime === undefined) return;
      fields[12] = dateAndTime.slice(-6);
      fields[13] = dateAndTime.slice(-10, -6);
    },
  };
}

function reasons({ reversalReasons, conditions }: HostTable): {
  toHost: FieldConversion;
  fromHost: FieldConversion;
} {
  const conditionOf = inverse(conditions);
  const reasonOf = inverse(reversalReasons?.codes);
  return {
    toHost(fields, mti) {
      const { 25: code } = fields;
      if (code === undefined) return;
      const hasReason = isReversal(mti) && isReason(code);
      // The canonical DE25 has the reason in place of the condition, which follows from DE22.
      const condition = fields[22] === remoteOrderMode ? remoteOrderCondition : normalCondition;
      fields[25] = mapCode(conditions, hasReason ? condition : code);
      if (!hasReason || reversalReasons === undefined) return;
      fields[reversalReasons.field] = reversalReasons.codes[code] ?? reversalReasons.otherwise;
    },
    fromHost(fields, mti) {
      const { 25: code } = fields;
      const reasonField = reversalReasons?.field;
      const hostReason =
        reasonField === undefined || !isReversal(mti) ? undefined : fields[reasonField];
      const reason = hostReason === undefined ? undefined : reasonOf[hostReason];
      if (reason !== undefined && reasonField !== undefined && !isAnswer(mti)) {
        delete fields[reasonField];
        fields[25] = reason;
      } else if (code !== undefined) fields[25] = mapCode(conditionOf, code);
    },
  };
}

/** The parts of field 90 that identify a message at the platform. */
const partsOfField90 = ['type', 'stan', 'sent'] as const;

/** Whether the original of the host has the message type, trace number and time of field 90. */
export function identifiesOriginal({ originalData }: HostTable): boolean {
  const names = compileValueLayout(originalData?.layout ?? '')?.names ?? [];
  return partsOfField90.every((part) => names.includes(part));
}

const isZero = (part: string) => /^[0 ]*$/.test(part);

function original(
  table: HostTable,
  now: Now,
  hostTypeOf: (type: string) => string,
): { toHost: FieldConversion; fromHost: FieldConversion } {
  const { originalData } = table;
  if (originalData === undefined)
    return { toHost: (fields) => delete fields[originalField], fromHost() {} };
  const { field, layout } = originalData;
  const hostLayout = compileRequiredLayout(layout, field);
  const canonicalLayout = compileRequiredLayout(originalLayout, originalField);
  /** Digits of the year in front of the time of the original. */
  const yearDigits = { 'sent:12': 2, 'sent:14': 4 }[/\bsent:1[24]\b/.exec(layout)?.[0] ?? ''] ?? 0;
  const isComplete = identifiesOriginal(table);
  const hasCanonicalTypes = table.operations === undefined;
  if (hasCanonicalTypes && field === originalField && layout === originalLayout)
    return { toHost() {}, fromHost() {} };
  return {
    toHost(fields, _mti, message) {
      const parts = canonicalLayout.read(fields[originalField] ?? '');
      if (parts === undefined) return;
      const { type = '', sent = '', institution = '' } = parts;
      moveField(
        fields,
        originalField,
        field,
        hostLayout.write({
          ...message.original,
          ...parts,
          type: table.version + hostTypeOf(type).slice(1),
          sent: yearOf(sent.slice(0, 4), now()).slice(4 - yearDigits) + sent,
          institution: institution.replace(/^0+(?=.)/, ''),
        }),
      );
    },
    fromHost(fields, _mti, message) {
      const parts = hostLayout.read(fields[field] ?? '');
      if (parts === undefined) return;
      if (!isComplete) {
        delete fields[field];
        const present = Object.entries(parts).filter(([, part]) => !isZero(part));
        message.original = { ...message.original, ...Object.fromEntries(present) };
        return;
      }
      const { type = '', sent = '' } = parts;
      moveField(
        fields,
        field,
        originalField,
        canonicalLayout.write({
          ...parts,
          type: `0${type.slice(1)}`,
          sent: sent.slice(yearDigits),
        }),
      );
    },
  };
}

const padded = (amount: number) => String(amount).padStart(amountDigits, '0');

function replacement({ replacement: { field, layout, amountIs } }: HostTable) {
  const hostLayout = compileRequiredLayout(layout, field);
  const toHost: FieldConversion = (fields) => {
    const { 4: reversed, 49: currency = '', [replacementField]: all } = fields;
    if (all === undefined || reversed === undefined) return;
    const remaining = Number(all.slice(0, amountDigits));
    const before = padded(remaining + Number(reversed));
    moveField(
      fields,
      replacementField,
      field,
      hostLayout.write({
        remaining: padded(remaining),
        before,
        currency,
        decimals: decimalsOf(currency),
      }),
    );
    if (amountIs === 'Remaining') fields[4] = padded(remaining);
  };
  const fromHost: FieldConversion = (fields, mti) => {
    const parts = isReversal(mti) ? hostLayout.read(fields[field] ?? '') : undefined;
    const { 4: amount } = fields;
    if (parts === undefined || amount === undefined) return;
    const before = Number(parts['before'] ?? Number.NaN);
    const remaining = amountIs === 'Remaining' ? Number(amount) : Number(parts['remaining']);
    if (!Number.isSafeInteger(remaining)) return;
    if (amountIs === 'Remaining' && !Number.isSafeInteger(before)) {
      // The reversed amount is unknown: the answer is read as if it repeated DE4 only.
      if (isAnswer(mti)) delete fields[field];
      return;
    }
    if (amountIs === 'Remaining') fields[4] = padded(Math.max(0, before - remaining));
    moveField(fields, field, replacementField, padded(remaining).padEnd(42, '0'));
  };
  return { toHost, fromHost };
}

function network(table: HostTable): { toHost: FieldConversion; fromHost: FieldConversion } {
  const { field, codes } = table.network;
  const names = Object.keys(canonicalNetwork) as NetworkFunction[];
  const hostCodes = Object.fromEntries(names.map((name) => [canonicalNetwork[name], codes[name]]));
  const canonicalCodes = inverse(hostCodes);
  const key = compileRequiredLayout(table.keyChange.layout, table.keyChange.field);
  const canonicalLayout = compileRequiredLayout(keyLayout, keyField);
  const sameKey = table.keyChange.field === keyField && table.keyChange.layout === keyLayout;
  const keyStep = (fields: Fields, from: number, read: Layout, to: number, write: Layout) => {
    const parts = read.read(fields[from] ?? '');
    if (parts !== undefined) moveField(fields, from, to, write.write(parts));
  };
  return {
    toHost(fields, mti) {
      const { [networkField]: code } = fields;
      if (!isNetwork(mti) || code === undefined) return;
      moveField(fields, networkField, field, mapCode(hostCodes, code));
      if (!sameKey) keyStep(fields, keyField, canonicalLayout, table.keyChange.field, key);
    },
    fromHost(fields, mti) {
      const { [field]: code } = fields;
      if (!isNetwork(mti) || code === undefined) return;
      moveField(fields, field, networkField, mapCode(canonicalCodes, code));
      if (!sameKey) keyStep(fields, table.keyChange.field, key, keyField, canonicalLayout);
    },
  };
}

function security({ securityControl }: HostTable): {
  toHost: FieldConversion;
  fromHost: FieldConversion;
} {
  const canonicalLayout = compileRequiredLayout(securityLayout, securityField);
  const hostLayout =
    securityControl === undefined
      ? undefined
      : compileRequiredLayout(securityControl, securityField);
  return {
    toHost(fields) {
      const parts = canonicalLayout.read(fields[securityField] ?? '');
      if (parts === undefined) return;
      if (hostLayout === undefined) delete fields[securityField];
      else fields[securityField] = hostLayout.write(parts);
    },
    fromHost(fields) {
      const parts = hostLayout?.read(fields[securityField] ?? '');
      if (parts !== undefined) fields[securityField] = canonicalLayout.write(parts);
    },
  };
}

/** A reversal with DE95 is a partial one. An advice with DE39 is that of an offline sale. */
function variantOf(fields: Fields, mti: string): '' | ' partial' | ' offline' {
  if (fields[replacementField] !== undefined) return ' partial';
  return fields[39] !== undefined && !isAnswer(mti) ? ' offline' : '';
}

function codes(table: HostTable): { toHost: FieldConversion; fromHost: FieldConversion } {
  const { entryModes, functionCodes, constants = {}, omit = [], pan, keyChange } = table;
  const modeOf = inverse(entryModes);
  const responses = responseMaps(table);
  return {
    toHost(fields, mti) {
      const { 22: mode, 39: response } = fields;
      if (mode !== undefined) fields[22] = mapCode(entryModes, mode);
      // A request has field 39 for an offline sale, or for the reason of a reversal.
      const isResponseCode = isAnswer(mti) || !isReversal(mti);
      if (response !== undefined && isResponseCode && responses !== undefined) {
        const hostCodes = responses.toHost(mti);
        // A host has no code for a meaning that is not in its table: it answers a malfunction (96).
        fields[39] = hostCodes[response] ?? hostCodes[malfunction] ?? response;
      }
      const request = `${mti.slice(0, 2)}${Number(mti[2]) - (isAnswer(mti) ? 1 : 0)}0`;
      const code = functionCodes?.[request + variantOf(fields, mti)] ?? functionCodes?.[request];
      if (code !== undefined) fields[24] = code;
      if (pan === 'WithoutTrack2' && fields[35] !== undefined) delete fields[2];
      // The next step moves a new key from field 48.
      const hasKey = isNetwork(mti) && keyChange.field !== keyField;
      for (const field of omit) if (field !== keyField || !hasKey) delete fields[field];
      // A constant does not replace the reason of a reversal.
      const reasonField = isReversal(mti) ? table.reversalReasons?.field : undefined;
      for (const [key, value] of Object.entries(constants)) {
        const field = Number(key);
        if (field !== reasonField || fields[field] === undefined) fields[field] = value;
      }
    },
    fromHost(fields, mti) {
      const { 22: mode, 39: response } = fields;
      if (mode !== undefined) fields[22] = mapCode(modeOf, mode);
      if (response !== undefined) fields[39] = mapCode(responses?.toCanonical(mti), response);
      if (functionCodes !== undefined && !isNetwork(mti)) delete fields[24];
      for (const field of Object.keys(constants)) delete fields[Number(field)];
    },
  };
}

/** A table without a complete field 90 identifies originals by other numbers of its operations. */
export const hasOwnOperations = (table: HostTable): boolean =>
  table.operations !== undefined ||
  table.repeatIndicator !== undefined ||
  !identifiesOriginal(table);

/** Whether only reversals and network messages differ: then other messages need no copy. */
function isPlain(table: HostTable): boolean {
  const { version, localTime: time, pan, originalData, replacement: left, securityControl } = table;
  const { functionCodes, entryModes, conditions, responseCodes, constants, omit } = table;
  const { operations, repeatIndicator, contents, responseContents } = table;
  const tables = [functionCodes, entryModes, conditions, responseCodes, constants, omit];
  return (
    version === '0' &&
    time === 'TimeAndDate' &&
    table.amountFormat === undefined &&
    pan === 'Always' &&
    [...tables, operations, repeatIndicator, contents, responseContents].every(
      (each) => each === undefined,
    ) &&
    originalData?.field === originalField &&
    originalData.layout === originalLayout &&
    left.field === replacementField &&
    securityControl === securityLayout
  );
}

/** @throws Iso8583Error `table_invalid` for an invalid layout */
export function createConverter(table: HostTable, now: Now): Converter {
  const fieldCodes = codes(table);
  const time = localTime(table, now);
  const reason = reasons(table);
  const operations = hasOwnOperations(table) ? compileOperations(table) : undefined;
  const hostTypeOf = operations?.hostTypeOfOriginal ?? ((type: string) => type);
  const rest = [
    original(table, now, hostTypeOf),
    replacement(table),
    network(table),
    security(table),
    convertAmount(table),
  ];
  // To the host, reasons come first: they read canonical DE22, and DE25 before `omit` removes it.
  const outward = [reason, fieldCodes, time, ...rest].map(({ toHost }) => toHost);
  const inward = [fieldCodes, time, reason, ...rest].map(({ fromHost }) => fromHost).reverse();
  const hasContents =
    table.contents !== undefined ||
    table.responseContents !== undefined ||
    Object.values(table.operations ?? {}).some((each) => each.contents !== undefined);
  const contents = hasContents ? compileContents(table) : undefined;
  const { version } = table;
  const plain = isPlain(table);
  const isCanonical = (mti: string) => plain && !isReversal(mti) && !isNetwork(mti);

  function convertFields(message: Message, errors: TextErrorPolicy | undefined): Message {
    const { mti } = message;
    const addData = isNetwork(mti) ? undefined : contents?.take(message, isAnswer(mti), errors);
    for (const step of inward) step(message.fields, mti, message);
    addData?.(message);
    return message;
  }

  return {
    toHost(message) {
      const { mti, fields } = message;
      if (isCanonical(mti)) return message;
      const operation = isNetwork(mti) ? undefined : operations?.select(message);
      const hostMessage = { ...message, mti: version + mti.slice(1), fields: { ...fields } };
      for (const step of outward) step(hostMessage.fields, mti, hostMessage);
      if (operation !== undefined) operations?.write(hostMessage, mti, operation);
      if (!isNetwork(mti))
        Object.assign(
          hostMessage.fields,
          contents?.encode(message, isAnswer(mti), operation?.name),
        );
      return hostMessage;
    },
    toCanonical(message, findRequest, errors) {
      const { mti, fields } = message;
      if (isCanonical(mti)) return message;
      const received = { mti: `0${mti.slice(1)}`, fields };
      const readings = isNetwork(mti) ? undefined : operations?.read(received);
      for (const reading of readings ?? []) {
        const canonical = convertFields(reading, errors);
        if (!isAnswer(canonical.mti)) return canonical;
        const request = findRequest?.(canonical);
        if (operations !== undefined && request !== undefined)
          return operations.matchAnswer(canonical, request, fields[3]);
      }
      return readings?.[0] ?? convertFields(received, errors);
    },
    takeOriginalNumbers: operations?.takeOriginalNumbers ?? ((message) => message),
  };
}
