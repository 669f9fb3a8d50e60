/** Explains the bytes of messages: each element with offset, field, name, value and meaning. */
import { defined } from '@switchyard/contract';
import {
  annotateMessage,
  compileHost,
  compileSubFields,
  createDeframer,
  createHostSamples,
  createOperationSamples,
  createPlatformSamples,
  encodeFrame,
  type FieldFormat,
  type HostTable,
  Iso8583Error,
  type Message,
  maskField,
  type SubFields,
  sampleTime,
} from '@switchyard/iso8583';
import { aesCmac, retailMac } from '@switchyard/pin';
import { describeFormat } from './describe-format.ts';
import { describeField, describeMessageType, describeSource } from './field-meaning.ts';

/** A part of the value of a field. */
export type ExplainedPart = { readonly id: string; readonly name: string; readonly value: string };

/** Consecutive bytes of a message. */
export type ExplainedElement = {
  /** From the first byte of the frame. */
  readonly offset: number;
  /** Hexadecimal; `**` for each byte that may be card data. */
  readonly bytes: string;
  /** `MTI`, `bitmap`, or the number of the field; undefined for the bytes around the message. */
  readonly field?: string;
  readonly name: string;
  readonly value: string;
  readonly format?: string;
  readonly meaning?: string;
  /** The payment data from which the table builds the field, or that it reads from a response. */
  readonly source?: string;
  readonly parts?: readonly ExplainedPart[];
};

export type ExplainedMessage = {
  /** The name of the sample, or the number of the recorded message. */
  readonly message: string;
  readonly elements: readonly ExplainedElement[];
};

const deps = { now: () => sampleTime };
const sampleMacKey = Buffer.alloc(16);
const macBytes = 8;
/** So high that a message that ends early is reported as truncated, and not as too large. */
const recordedBytesMax = 1 << 20;

/** The messages of the platform, with one of each operation. */
const requestSamples = ({ messages }: HostTable): Readonly<Record<string, Message>> => ({
  ...createPlatformSamples(messages),
  ...createOperationSamples(messages),
});

/** The names of all sample messages; a host without the field of new keys sends none. */
export function sampleNames(table: HostTable): readonly string[] {
  const { messages, keyChange } = table;
  const names = [
    ...Object.keys(requestSamples(table)),
    ...Object.keys(createHostSamples(messages)),
  ];
  return messages.fields[keyChange.field] === undefined
    ? names.filter((name) => name !== 'key')
    : names;
}

const sampleData = {
  merchantName: 'Corner Bakery',
  merchantAddress: '1 High Street, York',
  orderId: '4711',
} as const;

/** A sample of the platform with payment data, and with the numbers that the table takes from the original. */
function completeSample(table: HostTable, name: string, sample: Message): Message {
  const { retrievalReference } = table;
  const { 37: ownRrn, ...fields } = sample.fields;
  const isAssigned = retrievalReference.assignedBy === 'Host';
  const { rrn, ...numbers } = sample.original ?? {};
  // After a time-out the platform has no number of the host.
  const originalRrn = isAssigned && name === 'reversal' ? undefined : rrn;
  const requestRrn = retrievalReference.inRequests === 'IfAssigned' ? undefined : ownRrn;
  return compileHost(table, deps).takeOriginalNumbers({
    ...sample,
    ...defined({ original: sample.original && { ...numbers, ...defined({ rrn: originalRrn }) } }),
    data: sampleData,
    fields: { ...fields, ...defined({ 37: isAssigned ? (originalRrn ?? requestRrn) : ownRrn }) },
  });
}

/** Chip data has data objects also without a structure in the table. */
const structureOf = ({ content, subFields }: FieldFormat): FieldFormat['subFields'] =>
  subFields ?? (content === 'tlv' ? { type: 'BerTlv' } : undefined);

/** All parts of a value, and the parts inside them: `01`, `01/9F36`. */
function partsIn(structure: SubFields, value: string, prefix = ''): ExplainedPart[] {
  try {
    return Object.entries(structure.decode(value)).flatMap(([id, part]) => {
      const nested = structure.partsOf(id);
      return [
        { id: prefix + id, name: structure.nameOf(id) ?? '', value: part },
        ...(nested === undefined ? [] : partsIn(nested, part, `${prefix}${id}/`)),
      ];
    });
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    return [{ id: prefix, name: 'not in the structure of the table', value: error.message }];
  }
}

function partsOf(format: FieldFormat, field: number, value: string): ExplainedPart[] {
  const subFields = structureOf(format);
  if (subFields === undefined) return [];
  return partsIn(compileSubFields({ ...format, subFields }, field), value);
}

/** The message as the platform sees it; undefined if the table does not allow it. */
function canonicalMessage(table: HostTable, payload: Buffer): Message | undefined {
  try {
    const host = compileHost(table, deps);
    return host.decode(payload);
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    return undefined;
  }
}

type Masking = {
  /** Fields that are printed although they may contain card data. */
  readonly unmasked: ReadonlySet<number>;
};

function elementsOf(
  table: HostTable,
  payload: Buffer,
  offset: number,
  masking: Masking | undefined,
): ExplainedElement[] {
  const canonical = canonicalMessage(table, payload);
  return annotateMessage(table.messages, payload).map((part): ExplainedElement => {
    const { field, name, value } = part;
    const position = { offset: offset + part.offset, bytes: part.bytes, name, value };
    if (field === undefined) {
      if (name === 'Message type')
        return { ...position, field: 'MTI', meaning: describeMessageType(value, canonical) };
      if (name.startsWith('Bitmap')) return { ...position, field: 'bitmap' };
      const hidden = masking === undefined ? part.bytes : '*'.repeat(part.bytes.length);
      return { ...position, bytes: hidden };
    }
    const format = table.messages.fields[field];
    const maskedValue =
      masking === undefined || masking.unmasked.has(field) ? value : maskField(field, value);
    const isMasked = maskedValue !== value;
    const allParts = format === undefined ? [] : partsOf(format, field, value);
    const parts = allParts.map((each) =>
      isMasked ? { ...each, value: `<${each.value.length}>` } : each,
    );
    return {
      ...position,
      value: maskedValue,
      bytes: isMasked ? '*'.repeat(part.bytes.length) : part.bytes,
      field: String(field),
      ...defined({
        format: format && describeFormat(format, table.messages),
        meaning: isMasked ? undefined : describeField(field, value, canonical),
        source: describeSource(table, field, canonical),
        parts: parts.length === 0 ? undefined : parts,
      }),
    };
  });
}

/** The bytes in front of a message, or behind it. */
function surroundingElement(bytes: Buffer, offset: number, name: string): ExplainedElement[] {
  if (bytes.length === 0) return [];
  const hex = bytes.toString('hex').toUpperCase();
  return [{ offset, bytes: hex, name, value: hex }];
}

function encodeSample(table: HostTable, message: Message): Buffer {
  const host = compileHost(table, deps);
  if (table.mac === undefined || !host.requiresMac(message.mti)) return host.encode(message);
  const { over, seal } = host.encodeWithoutMac(message);
  const compute = table.mac.algorithm === 'AesCmac' ? aesCmac : retailMac;
  return seal(compute(sampleMacKey, over).subarray(0, macBytes));
}

/**
 * A sample message as the table writes it. Its authentication code has a key of sixteen zero bytes.
 *
 * @throws Iso8583Error for a sample that the table cannot write
 */
export function explainSample(table: HostTable, name: string): ExplainedMessage {
  const hostSamples: Readonly<Record<string, Message>> = createHostSamples(table.messages);
  const isOfHost = Object.hasOwn(hostSamples, name);
  const sample = isOfHost ? hostSamples[name] : requestSamples(table)[name];
  if (sample === undefined) throw new Iso8583Error('mti_invalid');
  const message = isOfHost ? sample : completeSample(table, name, sample);
  // Constants and omissions apply only to messages of the platform.
  const { constants: _constants, omit: _omit, ...tableOfHost } = table;
  const payload = encodeSample(isOfHost ? tableOfHost : table, message);
  const { framing, headers } = compileHost(table, deps);
  const request = headers.request(payload.length);
  const header = isOfHost ? headers.answer(payload.length, request) : request;
  const frame = encodeFrame(framing, payload, { header });
  const start = frame.indexOf(payload);
  const end = start + payload.length;
  return {
    message: name,
    elements: [
      ...surroundingElement(frame.subarray(0, start), 0, 'Length and header'),
      ...elementsOf(table, payload, start, undefined),
      ...surroundingElement(frame.subarray(end), end, 'Trailer'),
    ],
  };
}

/**
 * Recorded messages, with masked card data.
 *
 * @param isFramed the bytes begin with the length of the first message
 * @throws Iso8583Error for bytes that are not frames of the table
 */
export function explainRecorded(
  table: HostTable,
  bytes: Buffer,
  { isFramed, unmasked }: Masking & { readonly isFramed: boolean },
): ExplainedMessage[] {
  const masking = { unmasked };
  if (!isFramed) return [{ message: '1', elements: elementsOf(table, bytes, 0, masking) }];
  const { framing } = compileHost(table, deps);
  const deframer = createDeframer(framing, { maxBytes: recordedBytesMax });
  const frames = deframer.push(bytes);
  if (deframer.heldBytes() > 0)
    throw new Iso8583Error('message_truncated', undefined, bytes.length);
  let end = 0;
  return frames.map(({ payload, header }, index) => {
    const frameBytes = encodeFrame(framing, payload, { header }).length;
    const frame = bytes.subarray(end, end + frameBytes);
    const offset = end;
    end += frameBytes;
    // Whole frames are views of the bytes; an empty frame has no message.
    const start = payload.length === 0 ? frameBytes : payload.byteOffset - frame.byteOffset;
    const trailerAt = start + payload.length;
    return {
      message: String(index + 1),
      elements: [
        ...surroundingElement(frame.subarray(0, start), offset, 'Length and header'),
        ...(payload.length === 0 ? [] : elementsOf(table, payload, offset + start, masking)),
        ...surroundingElement(frame.subarray(trailerAt), offset + trailerAt, 'Trailer'),
      ],
    };
  });
}
