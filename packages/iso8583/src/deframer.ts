// Cuts a byte stream into frames; chunks may end anywhere.
import { Iso8583Error } from './errors.ts';
import {
  computeLrc,
  createLengthReader,
  ETX,
  type Frame,
  type FrameFormat,
  prefixBytes,
  readSessionControl,
  STX,
  startBytes,
  trailerBytes,
} from './frame.ts';

/** Cuts one stream into frames; make one for each connection. */
export type Deframer = {
  /**
   * Takes the next bytes of the stream and returns the frames that they complete.
   *
   * @throws Iso8583Error `frame_length_invalid`, `frame_check_invalid` or `frame_too_large`: the stream has lost its
   *   frame limits, close the connection
   */
  push(chunk: Buffer): Frame[];
  /** Bytes of an unfinished frame that are held. */
  heldBytes(): number;
};

const noBytes = Buffer.alloc(0);

/** Checks and removes STX, ETX and the check byte of a frame. */
function createFrameReader(format: FrameFormat): (bytes: Buffer, sessionControl: boolean) => Frame {
  const { headerBytes = 0, start, end, lrc } = format;
  const from = startBytes(format);
  const trailer = trailerBytes(format);
  const isPlain = from + trailer === 0;

  function checkDelimiters(bytes: Buffer, to: number): void {
    const hasStart = start === undefined || bytes[0] === STX;
    const hasEnd = end === undefined || bytes[to] === ETX;
    if (!hasStart || !hasEnd) throw new Iso8583Error('frame_length_invalid');
    if (lrc === true && bytes[to + 1] !== computeLrc(bytes, from, to + 1))
      throw new Iso8583Error('frame_check_invalid');
  }

  return (bytes, sessionControl) => {
    if (isPlain && headerBytes === 0) return { payload: bytes, header: noBytes, sessionControl };
    if (bytes.length === 0) return { payload: bytes, header: bytes, sessionControl };
    const to = bytes.length - trailer;
    if (!isPlain) checkDelimiters(bytes, to);
    const header = bytes.subarray(from, from + headerBytes);
    return { payload: bytes.subarray(from + headerBytes, to), header, sessionControl };
  };
}

/**
 * Makes a deframer. It holds at most one unfinished frame: with a length it is allocated only after the length was
 * checked against `maxBytes`, and a frame without a length ends at `maxBytes`.
 *
 * @param format how the other side delimits frames
 * @param limits `maxBytes`: the largest frame without its length, header included
 * @example
 * ```ts
 * const deframer = createDeframer({ length: 'binary2' }, { maxBytes: 4096 });
 * socket.on('data', (chunk) => {
 *   for (const frame of deframer.push(chunk)) receive(dialect.decode(frame.payload));
 * });
 * ```
 */
export function createDeframer(format: FrameFormat, limits: { maxBytes: number }): Deframer {
  return format.length === 'none'
    ? createDelimitedDeframer(format, limits)
    : createLengthDeframer(format, limits);
}

function createLengthDeframer(format: FrameFormat, limits: { maxBytes: number }): Deframer {
  const prefix = Buffer.alloc(prefixBytes(format));
  const readLength = createLengthReader(format);
  const readFrame = createFrameReader(format);
  let prefixFilled = 0;
  let body: Buffer | undefined;
  let bodyFilled = 0;
  let sessionControl = false;

  function open(bytes: Buffer, at: number): number {
    const length = readLength(bytes, at);
    if (length > limits.maxBytes) throw new Iso8583Error('frame_too_large');
    sessionControl = readSessionControl(format, bytes, at);
    return length;
  }

  /** Adds bytes to an unfinished frame; returns the position in the chunk after them. */
  function fill(chunk: Buffer, at: number, frames: Frame[]): number {
    let next = at;
    if (body === undefined) {
      const copied = chunk.copy(prefix, prefixFilled, next);
      prefixFilled += copied;
      next += copied;
      if (prefixFilled < prefix.length) return next;
      body = Buffer.allocUnsafe(open(prefix, 0));
      bodyFilled = 0;
    }
    const copied = chunk.copy(body, bodyFilled, next);
    bodyFilled += copied;
    if (bodyFilled === body.length) {
      frames.push(readFrame(body, sessionControl));
      body = undefined;
      prefixFilled = 0;
    }
    return next + copied;
  }

  function push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    let at = 0;
    while (at < chunk.length) {
      const whole = body === undefined && prefixFilled === 0 && chunk.length - at >= prefix.length;
      const start = at + prefix.length;
      const length = whole ? open(chunk, at) : 0;
      if (whole && chunk.length - start >= length) {
        frames.push(readFrame(chunk.subarray(start, start + length), sessionControl));
        at = start + length;
      } else {
        at = fill(chunk, at, frames);
      }
    }
    return frames;
  }

  return { push, heldBytes: () => prefixFilled + (body === undefined ? 0 : bodyFilled) };
}

function createDelimitedDeframer(
  format: FrameFormat,
  { maxBytes }: { maxBytes: number },
): Deframer {
  const readFrame = createFrameReader(format);
  const { headerBytes = 0, start, lrc } = format;
  const from = startBytes(format) + headerBytes;
  const checkBytes = lrc === true ? 1 : 0;
  let held = noBytes;

  /** Where the frame that starts at `at` ends; undefined if bytes are missing. */
  function findEnd(bytes: Buffer, at: number): number | undefined {
    if (start !== undefined && bytes[at] !== STX) throw new Iso8583Error('frame_length_invalid');
    const etx = bytes.indexOf(ETX, at + from);
    const isComplete = etx >= 0 && etx + checkBytes < bytes.length;
    const end = isComplete ? etx + 1 + checkBytes : bytes.length;
    if (end - at > maxBytes) throw new Iso8583Error('frame_too_large');
    return isComplete ? end : undefined;
  }

  function push(chunk: Buffer): Frame[] {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const frames: Frame[] = [];
    let at = 0;
    while (at < bytes.length) {
      const end = findEnd(bytes, at);
      if (end === undefined) break;
      frames.push(readFrame(bytes.subarray(at, end), false));
      at = end;
    }
    // A copy, because the chunk may be reused.
    held = at === bytes.length ? noBytes : Buffer.from(bytes.subarray(at));
    return frames;
  }

  return { push, heldBytes: () => held.length };
}
