// Frame headers: the length in front of a message on a stream.
import { Iso8583Error } from './errors.ts';

/**
 * How frames are delimited. Real hosts agree on nothing here.
 *
 * - `binary2`: two bytes, big-endian
 * - `bcd2`: two bytes, four packed digits
 * - `ascii4`: four digits as characters
 * - `vml4`: two bytes big-endian and two of indicators, of which 0x0020 marks session control
 */
export type FrameFormat = {
  readonly length: 'binary2' | 'bcd2' | 'ascii4' | 'vml4';
  /** Whether the length counts its own header; default no. */
  readonly inclusive?: boolean;
  /** Bytes of a TPDU between header and message, counted by the length; default 0, else mostly 5. */
  readonly tpduBytes?: number;
};

/** One frame. `payload` and `tpdu` may be views of the received chunk: decode them at once. */
export type Frame = {
  /** The message; empty in a heartbeat frame. */
  payload: Buffer;
  /** The TPDU, empty when the format has none. */
  tpdu: Buffer;
  /** The session control flag of a VML header. */
  sessionControl: boolean;
};

const SESSION_CONTROL = 0x20;
const LENGTH_MAX = { binary2: 0xffff, bcd2: 9999, ascii4: 9999, vml4: 0xffff } as const;
const HEADER_BYTES = { binary2: 2, bcd2: 2, ascii4: 4, vml4: 4 } as const;

/** Bytes of the header alone. */
export function headerBytes(format: FrameFormat): number {
  return HEADER_BYTES[format.length];
}

function writeLength(format: FrameFormat, length: number, bytes: Buffer): void {
  const digits = String(length).padStart(4, '0');
  if (format.length === 'ascii4') bytes.write(digits, 0, 'latin1');
  else if (format.length === 'bcd2') bytes.write(digits, 0, 'hex');
  else bytes.writeUInt16BE(length, 0);
}

/**
 * Puts the header, and the TPDU where the format has one, in front of a message.
 *
 * @param format how the other side delimits frames
 * @param payload the encoded message
 * @param extra `tpdu` of exactly `tpduBytes` bytes; `sessionControl` for VML
 * @throws Iso8583Error `frame_too_large` when the header cannot carry the length,
 *   `frame_length_invalid` when the TPDU has another size than the format says
 * @example
 * ```ts
 * socket.write(encodeFrame({ length: 'binary2' }, dialect.encode(message)));
 * ```
 */
export function encodeFrame(
  format: FrameFormat,
  payload: Buffer,
  extra: { tpdu?: Buffer; sessionControl?: boolean } = {},
): Buffer {
  const header = HEADER_BYTES[format.length];
  const tpduBytes = format.tpduBytes ?? 0;
  if ((extra.tpdu?.length ?? 0) !== tpduBytes) throw new Iso8583Error('frame_length_invalid');
  const size = header + tpduBytes + payload.length;
  const length = format.inclusive === true ? size : size - header;
  if (length > LENGTH_MAX[format.length]) throw new Iso8583Error('frame_too_large');
  const bytes = Buffer.allocUnsafe(size);
  writeLength(format, length, bytes);
  if (format.length === 'vml4') {
    bytes.writeUInt16BE(extra.sessionControl === true ? SESSION_CONTROL : 0, 2);
  }
  extra.tpdu?.copy(bytes, header);
  payload.copy(bytes, header + tpduBytes);
  return bytes;
}

function readDigits(bytes: Buffer, at: number, encoding: 'latin1' | 'hex'): number {
  const digits = bytes.toString(encoding, at, at + (encoding === 'hex' ? 2 : 4));
  return /^[0-9]{4}$/.test(digits) ? Number(digits) : Number.NaN;
}

/**
 * Reads a header at `at` and returns how many bytes follow it, TPDU included.
 *
 * @throws Iso8583Error `frame_length_invalid`
 */
export function readFrameLength(format: FrameFormat, bytes: Buffer, at: number): number {
  const { length: encoding } = format;
  let length: number;
  if (encoding === 'ascii4') length = readDigits(bytes, at, 'latin1');
  else if (encoding === 'bcd2') length = readDigits(bytes, at, 'hex');
  else length = bytes.readUInt16BE(at);
  const rest = format.inclusive === true ? length - HEADER_BYTES[encoding] : length;
  if (!(rest >= (format.tpduBytes ?? 0))) throw new Iso8583Error('frame_length_invalid');
  return rest;
}

/** Whether the header at `at` carries the session control flag. */
export function readSessionControl(format: FrameFormat, bytes: Buffer, at: number): boolean {
  return format.length === 'vml4' && (bytes.readUInt16BE(at + 2) & SESSION_CONTROL) !== 0;
}
