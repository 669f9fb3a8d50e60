// Cuts a byte stream into frames; chunks may end anywhere.
import { Iso8583Error } from './errors.ts';
import {
  type Frame,
  type FrameFormat,
  headerBytes,
  readFrameLength,
  readSessionControl,
} from './frame.ts';

/** Cuts one stream into frames; make one for each connection. */
export type Deframer = {
  /**
   * Takes the next bytes of the stream and returns the frames that they complete.
   *
   * @throws Iso8583Error `frame_length_invalid` or `frame_too_large`: the stream has lost its
   *   frame limits, close the connection
   */
  push(chunk: Buffer): Frame[];
  /** Bytes of an unfinished frame that are held. */
  heldBytes(): number;
};

/**
 * Makes a deframer. It holds at most one unfinished frame, allocated by its header only after
 * that was checked against `maxBytes`.
 *
 * @param format how the other side delimits frames
 * @param limits `maxBytes`: the largest frame without its header, TPDU included
 * @example
 * ```ts
 * const deframer = createDeframer({ length: 'binary2' }, { maxBytes: 4096 });
 * socket.on('data', (chunk) => {
 *   for (const frame of deframer.push(chunk)) receive(dialect.decode(frame.payload));
 * });
 * ```
 */
export function createDeframer(format: FrameFormat, limits: { maxBytes: number }): Deframer {
  const header = Buffer.alloc(headerBytes(format));
  const tpduBytes = format.tpduBytes ?? 0;
  let headerFilled = 0;
  let body: Buffer | undefined;
  let bodyFilled = 0;
  let sessionControl = false;

  function open(bytes: Buffer, at: number): number {
    const length = readFrameLength(format, bytes, at);
    if (length > limits.maxBytes) throw new Iso8583Error('frame_too_large');
    sessionControl = readSessionControl(format, bytes, at);
    return length;
  }

  function close(bytes: Buffer): Frame {
    const tpdu = bytes.subarray(0, tpduBytes);
    return { payload: tpduBytes === 0 ? bytes : bytes.subarray(tpduBytes), tpdu, sessionControl };
  }

  /** Goes on with an unfinished frame; returns where its bytes in the chunk end. */
  function fill(chunk: Buffer, at: number, frames: Frame[]): number {
    let next = at;
    if (body === undefined) {
      const copied = chunk.copy(header, headerFilled, next);
      headerFilled += copied;
      next += copied;
      if (headerFilled < header.length) return next;
      body = Buffer.allocUnsafe(open(header, 0));
      bodyFilled = 0;
    }
    const copied = chunk.copy(body, bodyFilled, next);
    bodyFilled += copied;
    if (bodyFilled === body.length) {
      frames.push(close(body));
      body = undefined;
      headerFilled = 0;
    }
    return next + copied;
  }

  function push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    let at = 0;
    while (at < chunk.length) {
      const whole = body === undefined && headerFilled === 0 && chunk.length - at >= header.length;
      const start = at + header.length;
      const length = whole ? open(chunk, at) : 0;
      if (whole && chunk.length - start >= length) {
        frames.push(close(chunk.subarray(start, start + length)));
        at = start + length;
      } else {
        at = fill(chunk, at, frames);
      }
    }
    return frames;
  }

  return { push, heldBytes: () => headerFilled + (body === undefined ? 0 : bodyFilled) };
}
