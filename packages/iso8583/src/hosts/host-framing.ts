// The bytes around the messages of a host: the frame, and the header with its addresses.

import { fromLatin1 } from '../characters.ts';
import type { DialectTable, LengthEncoding } from '../dialect-table.ts';
import { Iso8583Error } from '../errors.ts';
import type { FrameFormat } from '../frame.ts';
import type { FramingSettings } from './host-settings.ts';
import type { HostTable } from './host-table.ts';
import { throwTableError } from './host-table-error.ts';

/** Writes the bytes between frame and message. */
export type HostHeaders = {
  /** @param tpdu instead of that of the table */
  request(messageBytes: number, tpdu?: Buffer): Buffer;
  /** @param received the header of the message that is answered */
  answer(messageBytes: number, received: Buffer): Buffer;
};

type Part =
  | { readonly kind: 'literal' | 'destination' | 'source'; readonly bytes: Buffer }
  | { readonly kind: 'length'; readonly size: number };

const partPattern = /\{(destination|source):([^{}]+)\}|\{length:([1-6])\}|([^{}]+)/y;
const tpduIdBytes = 1;
const noBytes = Buffer.alloc(0);

function encodeText(
  text: string,
  characters: FramingSettings['headerCharacters'],
): Buffer | undefined {
  if (characters === 'hex')
    return /^(?:[0-9A-Fa-f]{2})*$/.test(text) ? Buffer.from(text, 'hex') : undefined;
  const table = fromLatin1[characters ?? 'ascii'];
  return Buffer.from(Buffer.from(text, 'latin1').map((code) => table[code] ?? 0));
}

/** The parts of a header; undefined for an invalid text. */
function parseHeader(
  header: string,
  characters: FramingSettings['headerCharacters'],
): Part[] | undefined {
  const parts: Part[] = [];
  partPattern.lastIndex = 0;
  while (partPattern.lastIndex < header.length) {
    const [, address, value, size, literal] = partPattern.exec(header) ?? [];
    if (size !== undefined) parts.push({ kind: 'length', size: Number(size) });
    else {
      const bytes = encodeText(value ?? literal ?? '', characters);
      if (bytes === undefined || bytes.length === 0) return undefined;
      const kind = address === 'destination' || address === 'source' ? address : 'literal';
      parts.push({ kind, bytes });
    }
  }
  return parts;
}

const partSize = (part: Part): number => (part.kind === 'length' ? part.size : part.bytes.length);

const sizeOf = (parts: readonly Part[]): number =>
  parts.reduce((sum, part) => sum + partSize(part), 0);

/** The bytes of an address in a received header. */
function findAddress(
  parts: readonly Part[],
  kind: Part['kind'],
  header: Buffer,
): Buffer | undefined {
  let at = 0;
  for (const part of parts) {
    if (part.kind === kind) return header.subarray(at, at + partSize(part));
    at += partSize(part);
  }
  return undefined;
}

/** @param parts the header to write; `requestParts` are those of the message that it answers */
function createHeaderWriter(
  parts: readonly Part[],
  requestParts: readonly Part[],
  characters: FramingSettings['headerCharacters'],
) {
  const size = sizeOf(parts);

  function writeLength(length: number, places: number): Buffer {
    const text = length.toString(characters === 'hex' ? 16 : 10);
    const digits = characters === 'hex' ? 2 * places : places;
    if (text.length > digits) throw new Iso8583Error('frame_too_large');
    return encodeText(text.padStart(digits, '0'), characters) ?? noBytes;
  }

  /** An answer goes to the source of its request. */
  const addressOf = (kind: Part['kind'], request: Buffer | undefined): Buffer | undefined =>
    request && findAddress(requestParts, kind === 'source' ? 'destination' : 'source', request);

  return (messageBytes: number, request?: Buffer): Buffer => {
    const written = parts.map((part) => {
      if (part.kind === 'length') return writeLength(size + messageBytes, part.size);
      if (part.kind === 'literal') return part.bytes;
      return addressOf(part.kind, request) ?? part.bytes;
    });
    return Buffer.concat(written, size);
  };
}

/** Exchanges the two addresses after the first byte. */
function swapTpdu(tpdu: Buffer): Buffer {
  const middle = tpduIdBytes + (tpdu.length - tpduIdBytes) / 2;
  return Buffer.concat([
    tpdu.subarray(0, tpduIdBytes),
    tpdu.subarray(middle),
    tpdu.subarray(tpduIdBytes, middle),
  ]);
}

function partsOf(
  header: string | undefined,
  { headerCharacters }: FramingSettings,
): readonly Part[] {
  const parts = parseHeader(header ?? '', headerCharacters);
  if (parts === undefined) throw new Iso8583Error('table_invalid');
  return parts;
}

/** How frames of a host are delimited, its TPDU and header included. */
export function frameFormatOf(framing: FramingSettings): FrameFormat {
  const {
    tpduBytes = 0,
    tpdu: _tpdu,
    header,
    answerHeader: _answerHeader,
    headerCharacters: _headerCharacters,
    emptyFrames: _emptyFrames,
    ...format
  } = framing;
  const headerBytes = tpduBytes + sizeOf(partsOf(header, framing));
  return headerBytes === 0 ? format : { ...format, headerBytes };
}

/** @throws Iso8583Error `table_invalid` for an invalid header, or a TPDU of another length */
export function compileHeaders(framing: FramingSettings): HostHeaders {
  const { tpduBytes = 0, header, answerHeader, headerCharacters } = framing;
  const ownTpdu = Buffer.from(framing.tpdu ?? '', 'hex');
  if (ownTpdu.length !== tpduBytes) throw new Iso8583Error('table_invalid');
  const requestParts = partsOf(header, framing);
  const answerParts = answerHeader === undefined ? requestParts : partsOf(answerHeader, framing);
  const writeRequest = createHeaderWriter(requestParts, requestParts, headerCharacters);
  const writeAnswer = createHeaderWriter(answerParts, requestParts, headerCharacters);
  if (tpduBytes + requestParts.length === 0)
    return { request: () => noBytes, answer: () => noBytes };
  return {
    request: (messageBytes, tpdu = ownTpdu) => Buffer.concat([tpdu, writeRequest(messageBytes)]),
    answer(messageBytes, received) {
      const tpdu = received.length < tpduBytes ? ownTpdu : received.subarray(0, tpduBytes);
      const rest = received.subarray(tpduBytes);
      return Buffer.concat([
        tpdu.length === 0 ? tpdu : swapTpdu(tpdu),
        writeAnswer(messageBytes, rest.length === 0 ? undefined : rest),
      ]);
    },
  };
}

const isBinaryLength = (encoding: LengthEncoding | undefined): boolean =>
  encoding === 'bcd' || encoding === 'binary' || encoding === 'littleEndian';

/** The JSON pointer of the first encoding whose bytes can contain ETX; undefined without one. */
function findBinaryEncoding({ fields, ...messages }: DialectTable): string | undefined {
  const { mti, bitmap, numerics, lengths, binaries } = messages;
  if (mti === 'bcd') return '/messages/mti';
  if (bitmap === 'binary') return '/messages/bitmap';
  if (numerics === 'bcd') return '/messages/numerics';
  if (isBinaryLength(lengths)) return '/messages/lengths';
  if (binaries === 'raw') return '/messages/binaries';
  for (const [field, { encoding, lengthEncoding }] of Object.entries(fields)) {
    const at = `/messages/fields/${field}`;
    if (encoding === 'bcd' || encoding === 'raw') return `${at}/encoding`;
    if (isBinaryLength(lengthEncoding)) return `${at}/lengthEncoding`;
  }
  return undefined;
}

/** @throws HostTableError */
export function checkFraming({ framing, messages }: HostTable): void {
  const { header = '', answerHeader, headerCharacters, length, end, lrc, tpduBytes = 0 } = framing;
  if (tpduBytes % 2 === 0 && tpduBytes > 0)
    throwTableError(
      '/framing/tpduBytes',
      'must be odd: a TPDU is one byte, a destination, and a source of the same length',
    );
  if ((framing.tpdu?.length ?? 0) !== tpduBytes * 2)
    throwTableError(
      '/framing/tpdu',
      `must have ${tpduBytes * 2} hexadecimal digits, because tpduBytes is ${tpduBytes}`,
    );
  const headers = Object.entries({ header, answerHeader }).map(([name, text]) => {
    const parts = parseHeader(text ?? header, headerCharacters);
    if (parts === undefined)
      throwTableError(
        `/framing/${name}`,
        'must be a text with the parts {destination:…}, {source:…} and {length:N}' +
          (headerCharacters === 'hex' ? ', in hexadecimal digits' : ''),
      );
    return sizeOf(parts);
  });
  if (headers[0] !== headers[1])
    throwTableError('/framing/answerHeader', `must have ${headers[0]} bytes, as header`);
  if (lrc === true && end === undefined)
    throwTableError(
      '/framing/lrc',
      'must be false without end, because the check byte follows ETX',
    );
  if (length !== 'none') return;
  if (end === undefined)
    throwTableError('/framing/end', 'is missing: without a length the frame must end with "ETX"');
  const binary = findBinaryEncoding(messages);
  if (binary !== undefined)
    throwTableError(
      binary,
      'must be characters: without a length the frame ends at the byte 03, which this encoding can contain',
    );
}
