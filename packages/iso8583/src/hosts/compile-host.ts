// Compiles a host table: encodes canonical messages to the bytes of the host, and decodes them.
import { compileDialect, type Dialect, type TextErrorPolicy } from '../compile-dialect.ts';
import { Iso8583Error } from '../errors.ts';
import type { FrameFormat } from '../frame.ts';
import type { Message } from '../message.ts';
import { createConverter, type Now } from './convert-message.ts';
import { type Correlation, compileCorrelation } from './correlation.ts';
import { compileHeaders, frameFormatOf, type HostHeaders } from './host-framing.ts';
import type { HostTable, MacSettings } from './host-table.ts';
import type { RequestLookup } from './operations.ts';
import { compileReferencePattern, type PatternValues } from './reference-numbers.ts';

/** A message that waits for its authentication code. */
export type MessageWithoutMac = {
  /** The bytes that the code covers. */
  over: Buffer;
  /** The message with the code, of which the first eight bytes count. */
  seal(code: Uint8Array): Buffer;
};

/** A received message and its authentication code. */
export type MessageWithMac = {
  /** In canonical form, without the code. */
  message: Message;
  /** The bytes that the code must cover. */
  over: Buffer;
  /** Undefined if the message has none. */
  code: Buffer | undefined;
};

/** A compiled host. It holds no state between calls. */
export type CompiledHost = {
  readonly table: HostTable;
  /** How frames are delimited, TPDU and header included. */
  readonly framing: FrameFormat;
  /** The bytes between frame and message. */
  readonly headers: HostHeaders;
  /** Assigns responses to requests, both in canonical form. */
  readonly correlation: Correlation;
  /** The retrieval reference number (DE37) of a message of the platform. */
  formatRetrievalReference(values: PatternValues): string;
  /** Whether a message of this type needs an authentication code. */
  requiresMac(mti: string): boolean;
  /** @throws Iso8583Error as `Dialect.encode` does */
  encode(message: Message): Buffer;
  /** Whether the platform can decide about a payment without this field of the host's message. */
  canIgnoreField(field: number): boolean;
  /**
   * With `operations` in the table, `findRequest` assigns a response to its operation, if the host has one message
   * type for several operations.
   *
   * @throws Iso8583Error as `Dialect.decode` does
   */
  decode(bytes: Buffer, textErrors?: TextErrorPolicy, findRequest?: RequestLookup): Message;
  /** The message with the numbers of its original, if the table requires this for its operation. */
  takeOriginalNumbers(message: Message): Message;
  /** @throws Iso8583Error as `encode`, and `table_invalid` for a host without authentication */
  encodeWithoutMac(message: Message): MessageWithoutMac;
  /** @throws Iso8583Error as `decode`, and `table_invalid` for a host without authentication */
  decodeWithMac(
    bytes: Buffer,
    textErrors?: TextErrorPolicy,
    findRequest?: RequestLookup,
  ): MessageWithMac;
};

const codeBytes = 8;
const noCode = '0'.repeat(codeBytes * 2);
const firstOfSecondBitmap = 65;
const primaryPlace = 64;
const secondaryPlace = 128;

function macField({ place }: MacSettings, { fields }: Message): 64 | 128 {
  if (place !== 'Last') return place;
  const later = Object.keys(fields).some(
    (key) => Number(key) >= firstOfSecondBitmap && fields[Number(key)] !== undefined,
  );
  return later ? secondaryPlace : primaryPlace;
}

function sealing(table: HostTable, mac: MacSettings, dialect: Dialect) {
  const widthOf = (field: 64 | 128): number => {
    const format = table.messages.fields[field];
    return (format?.encoding ?? table.messages.binaries) === 'raw' ? codeBytes : codeBytes * 2;
  };
  const covered = (bytes: Buffer, field: 64 | 128): Buffer =>
    mac.over === 'WholeMessage' ? bytes : bytes.subarray(0, bytes.length - widthOf(field));

  return {
    unsealed(message: Message): MessageWithoutMac {
      const fields = { ...message.fields };
      const macFieldNumber = macField(mac, message);
      fields[macFieldNumber] = noCode;
      const bytes = dialect.encode({ mti: message.mti, fields });
      return {
        over: covered(bytes, macFieldNumber),
        seal(code) {
          fields[macFieldNumber] = Buffer.from(code).toString('hex', 0, codeBytes).toUpperCase();
          return dialect.encode({ mti: message.mti, fields });
        },
      };
    },
    opened(bytes: Buffer, textErrors?: TextErrorPolicy): MessageWithMac {
      // A code over the whole message needs every field, because the message is encoded again.
      const isWhole = mac.over === 'WholeMessage';
      const message = dialect.decode(bytes, isWhole ? undefined : textErrors);
      const { fields } = message;
      const last = fields[secondaryPlace] === undefined ? primaryPlace : secondaryPlace;
      const place = mac.place === 'Last' ? last : mac.place;
      const { [place]: text } = fields;
      if (text === undefined) return { message, over: bytes, code: undefined };
      fields[place] = noCode;
      const over = isWhole ? dialect.encode(message) : covered(bytes, place);
      delete fields[place];
      return { message, over, code: Buffer.from(text, 'hex') };
    },
  };
}

const merchantField = 42;
const currencyField = 49;

function createIgnorableFieldCheck({ network, originalData, replacement }: HostTable) {
  // The fields up to 42 and these decide about a payment. Invalid text in another field must not turn an approval into
  // an unknown outcome.
  const decisionFields = [currencyField, network.field, originalData?.field, replacement.field];
  return (field: number): boolean => field > merchantField && !decisionFields.includes(field);
}

/**
 * Compiles the table of a host.
 *
 * @param table the host as data
 * @param deps `now` returns the time in milliseconds since 1970
 * @throws Iso8583Error `table_invalid` with the field whose line contradicts itself
 * @example
 * ```ts
 * const host = compileHost(builtInHosts['iso1993-ascii'], { now: Date.now });
 * const bytes = host.encode({ mti: '0800', fields: { 7: '0420090613', 11: '900001', 70: '001' } });
 * host.decode(bytes).fields[70]; // '001', and '801' in DE24 on the wire
 * ```
 */
export function compileHost(table: HostTable, deps: { now: Now }): CompiledHost {
  const dialect = compileDialect(table.messages);
  const converter = createConverter(table, deps.now);
  const { mac } = table;
  const seals = mac === undefined ? undefined : sealing(table, mac, dialect);
  const requireSeals = () => {
    if (seals === undefined) throw new Iso8583Error('table_invalid', primaryPlace);
    return seals;
  };
  return {
    table,
    framing: frameFormatOf(table.framing),
    headers: compileHeaders(table.framing),
    correlation: compileCorrelation(table.correlation),
    formatRetrievalReference: compileReferencePattern(table.retrievalReference.pattern),
    requiresMac: (mti) => mac !== undefined && (mac.messages === 'All' || mti[1] !== '8'),
    encode: (message) => dialect.encode(converter.toHost(message)),
    canIgnoreField: createIgnorableFieldCheck(table),
    decode: (bytes, textErrors, findRequest) =>
      converter.toCanonical(dialect.decode(bytes, textErrors), findRequest, textErrors),
    takeOriginalNumbers: converter.takeOriginalNumbers,
    encodeWithoutMac: (message) => requireSeals().unsealed(converter.toHost(message)),
    decodeWithMac(bytes, textErrors, findRequest) {
      const { message, ...rest } = requireSeals().opened(bytes, textErrors);
      return { message: converter.toCanonical(message, findRequest, textErrors), ...rest };
    },
  };
}
