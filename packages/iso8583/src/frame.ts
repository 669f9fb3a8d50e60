// Frames: the bytes around a message on a stream.
import { Iso8583Error } from './errors.ts';

/** How a length is written, and how many bytes it has. */
type LengthCodec = {
  readonly bytes: number;
  readonly max: number;
  /** NaN for bytes that are no length. */
  read(bytes: Buffer, at: number): number;
  write(length: number, bytes: Buffer, at: number): void;
};

function digitsAs(digits: number, zero: number): LengthCodec {
  return {
    bytes: digits,
    max: 10 ** digits - 1,
    read(bytes, at) {
      let length = 0;
      for (let index = at; index < at + digits; index++) {
        const digit = (bytes[index] ?? 0) - zero;
        length = digit >= 0 && digit <= 9 ? length * 10 + digit : Number.NaN;
      }
      return length;
    },
    write(length, bytes, at) {
      let rest = length;
      for (let index = at + digits - 1; index >= at; index--) {
        bytes[index] = zero + (rest % 10);
        rest = Math.floor(rest / 10);
      }
    },
  };
}

function readText(pattern: RegExp, encoding: 'latin1' | 'hex', base: number) {
  const size = encoding === 'hex' ? 2 : 4;
  return (bytes: Buffer, at: number): number => {
    const text = bytes.toString(encoding, at, at + size);
    return pattern.test(text) ? Number.parseInt(text, base) : Number.NaN;
  };
}

const asciiZero = 0x30;
const ebcdicZero = 0xf0;

const binary2: LengthCodec = {
  bytes: 2,
  max: 0xffff,
  read: (bytes, at) => bytes.readUInt16BE(at),
  write: (length, bytes, at) => void bytes.writeUInt16BE(length, at),
};

const lengthCodecs = {
  binary2,
  binary2le: {
    bytes: 2,
    max: 0xffff,
    read: (bytes, at) => bytes.readUInt16LE(at),
    write: (length, bytes, at) => void bytes.writeUInt16LE(length, at),
  },
  binary3: {
    bytes: 3,
    max: 0xffffff,
    read: (bytes, at) => bytes.readUIntBE(at, 3),
    write: (length, bytes, at) => void bytes.writeUIntBE(length, at, 3),
  },
  binary4: {
    bytes: 4,
    max: 0xffffffff,
    read: (bytes, at) => bytes.readUInt32BE(at),
    write: (length, bytes, at) => void bytes.writeUInt32BE(length, at),
  },
  binary4le: {
    bytes: 4,
    max: 0xffffffff,
    read: (bytes, at) => bytes.readUInt32LE(at),
    write: (length, bytes, at) => void bytes.writeUInt32LE(length, at),
  },
  bcd2: {
    bytes: 2,
    max: 9999,
    read: readText(/^[0-9]{4}$/, 'hex', 10),
    write: (length, bytes, at) => void bytes.write(String(length).padStart(4, '0'), at, 'hex'),
  },
  hex4: {
    bytes: 4,
    max: 0xffff,
    read: readText(/^[0-9A-Fa-f]{4}$/, 'latin1', 16),
    write: (length, bytes, at) =>
      void bytes.write(length.toString(16).toUpperCase().padStart(4, '0'), at, 'latin1'),
  },
  ascii2: digitsAs(2, asciiZero),
  ascii3: digitsAs(3, asciiZero),
  ascii4: digitsAs(4, asciiZero),
  ascii5: digitsAs(5, asciiZero),
  ascii6: digitsAs(6, asciiZero),
  ebcdic2: digitsAs(2, ebcdicZero),
  ebcdic3: digitsAs(3, ebcdicZero),
  ebcdic4: digitsAs(4, ebcdicZero),
  ebcdic5: digitsAs(5, ebcdicZero),
  ebcdic6: digitsAs(6, ebcdicZero),
  vml4: { ...binary2, bytes: 4 },
} as const satisfies { readonly [form: string]: LengthCodec };

type LengthForm = keyof typeof lengthCodecs;

/** The forms of a length; `none` for frames that end with ETX. */
export const lengthForms: readonly (LengthForm | 'none')[] = [
  ...(Object.keys(lengthCodecs) as LengthForm[]),
  'none',
];

/**
 * How frames are delimited: bytes before the length, the length, bytes after it, STX, the header, the message, ETX,
 * and the check byte.
 */
export type FrameFormat = {
  /**
   * - `binary2`, `binary3`, `binary4`: bytes, big-endian; with `le` little-endian
   * - `bcd2`: two bytes, four packed digits
   * - `ascii2` to `ascii6`, `ebcdic2` to `ebcdic6`: digits as characters
   * - `hex4`: four hexadecimal digits in ASCII
   * - `vml4`: two bytes big-endian and two of indicators, of which 0x0020 marks session control
   * - `none`: the frame ends with ETX
   */
  readonly length: LengthForm | 'none';
  /** Whether the length counts itself and the bytes around it; default no. */
  readonly inclusive?: boolean;
  /** Bytes in front of the length, in hexadecimal. */
  readonly beforeLength?: string;
  /** Bytes after the length that it does not count, in hexadecimal; they are not checked. */
  readonly afterLength?: string;
  /** Bytes between length and message that the length counts, such as a TPDU; default 0. */
  readonly headerBytes?: number;
  /** STX in front of the header. */
  readonly start?: 'STX';
  /** ETX after the message; a length counts it. */
  readonly end?: 'ETX';
  /** After ETX, the exclusive or of all bytes between STX and this one. */
  readonly lrc?: boolean;
};

/** One frame. `payload` and `header` may be views of the received chunk: decode them at once. */
export type Frame = {
  /** The message; empty in a heartbeat frame. */
  payload: Buffer;
  /** The bytes between length and message; empty in a heartbeat frame. */
  header: Buffer;
  /** The session control flag of a VML header. */
  sessionControl: boolean;
};

const SESSION_CONTROL = 0x20;
export const STX = 0x02;
export const ETX = 0x03;

const hexBytes = (hex: string | undefined): number => (hex === undefined ? 0 : hex.length / 2);

const lengthCodec = ({ length }: FrameFormat): LengthCodec | undefined =>
  length === 'none' ? undefined : lengthCodecs[length];

/** Bytes up to the first byte that the length counts. */
export const prefixBytes = (format: FrameFormat): number =>
  hexBytes(format.beforeLength) + (lengthCodec(format)?.bytes ?? 0) + hexBytes(format.afterLength);

/** Bytes of STX in front of the header. */
export const startBytes = ({ start }: FrameFormat): number => (start === undefined ? 0 : 1);

/** Bytes of ETX and of the check byte after the message. */
export const trailerBytes = ({ end, lrc }: FrameFormat): number =>
  (end === undefined ? 0 : 1) + (lrc === true ? 1 : 0);

/** The exclusive or of the bytes from `from` to before `to`. */
export function computeLrc(bytes: Buffer, from: number, to: number): number {
  let lrc = 0;
  for (let at = from; at < to; at++) lrc ^= bytes[at] ?? 0;
  return lrc;
}

/** Writes the bytes in front of a counted part of `counted` bytes. */
function writePrefix(format: FrameFormat, bytes: Buffer, counted: number): void {
  const codec = lengthCodec(format);
  if (codec === undefined) return;
  const { beforeLength, afterLength, inclusive } = format;
  const at = hexBytes(beforeLength);
  if (beforeLength !== undefined) bytes.write(beforeLength, 0, 'hex');
  // An empty frame has the length 0 also if the length counts itself.
  const length = inclusive === true && counted > 0 ? prefixBytes(format) + counted : counted;
  if (length > codec.max) throw new Iso8583Error('frame_too_large');
  codec.write(length, bytes, at);
  if (afterLength !== undefined) bytes.write(afterLength, at + codec.bytes, 'hex');
}

/**
 * Puts a message into a frame. An empty message without a header is an empty frame: the length 0.
 *
 * @param format how the other side delimits frames
 * @param payload the encoded message
 * @param extra `header` of exactly `headerBytes` bytes; `sessionControl` for VML
 * @throws Iso8583Error `frame_too_large` when the length cannot be written,
 *   `frame_length_invalid` when the header has another size than the format says
 * @example
 * ```ts
 * socket.write(encodeFrame({ length: 'binary2' }, dialect.encode(message)));
 * ```
 */
export function encodeFrame(
  format: FrameFormat,
  payload: Buffer,
  extra: { header?: Buffer; sessionControl?: boolean } = {},
): Buffer {
  const { headerBytes = 0, length } = format;
  const prefix = prefixBytes(format);
  const givenBytes = extra.header?.length ?? 0;
  if (payload.length === 0 && givenBytes === 0 && length !== 'none') {
    const empty = Buffer.alloc(prefix);
    writePrefix(format, empty, 0);
    return empty;
  }
  if (givenBytes !== headerBytes) throw new Iso8583Error('frame_length_invalid');
  const start = prefix + startBytes(format);
  const end = start + headerBytes + payload.length;
  const bytes = Buffer.allocUnsafe(end + trailerBytes(format));
  writePrefix(format, bytes, bytes.length - prefix);
  if (length === 'vml4')
    bytes.writeUInt16BE(extra.sessionControl === true ? SESSION_CONTROL : 0, prefix - 2);
  if (format.start !== undefined) bytes[prefix] = STX;
  extra.header?.copy(bytes, start);
  payload.copy(bytes, start + headerBytes);
  if (format.end !== undefined) bytes[end] = ETX;
  if (format.lrc === true) bytes[end + 1] = computeLrc(bytes, start, end + 1);
  return bytes;
}

/**
 * Compiles the reader of the bytes up to the first byte that the length counts. It returns how many bytes follow; 0
 * for an empty frame.
 *
 * @throws Iso8583Error `frame_length_invalid`, by the reader
 */
export function createLengthReader(format: FrameFormat): (bytes: Buffer, at: number) => number {
  const codec = lengthCodec(format);
  if (codec === undefined) throw new Iso8583Error('table_invalid');
  const { inclusive = false, headerBytes = 0, beforeLength } = format;
  const uncounted = inclusive ? prefixBytes(format) : 0;
  const least = startBytes(format) + headerBytes + trailerBytes(format);
  const before = Buffer.from(beforeLength ?? '', 'hex');
  return (bytes, at) => {
    const length = codec.read(bytes, at + before.length);
    if (length === 0) return 0;
    const rest = length - uncounted;
    const isSame = before.length === 0 || before.compare(bytes, at, at + before.length) === 0;
    if (!(rest >= least && isSame)) {
      // An inclusive length without a message is an empty frame, too.
      if (rest === 0 && isSame) return 0;
      throw new Iso8583Error('frame_length_invalid');
    }
    return rest;
  };
}

/** Whether the prefix at `at` has the session control flag. */
export function readSessionControl(format: FrameFormat, bytes: Buffer, at: number): boolean {
  return (
    format.length === 'vml4' &&
    (bytes.readUInt16BE(at + prefixBytes(format) - 2) & SESSION_CONTROL) !== 0
  );
}
