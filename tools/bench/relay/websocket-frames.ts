// The WebSocket frames of the load: made once and sent again and again, and read without a copy.
import { randomBytes } from 'node:crypto';

export const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const finalBit = 0x80;
const maskBit = 0x80;
const shortMax = 125;
const mediumMax = 65_535;

/** A whole frame as clients send it, with a mask that the server has to take off. */
export function encodeFrame(opcode: number, payload: Buffer | string): Buffer {
  const data = Buffer.from(payload);
  const mask = randomBytes(4);
  const head = [finalBit | opcode];
  if (data.length <= shortMax) head.push(maskBit | data.length);
  else if (data.length <= mediumMax) head.push(maskBit | 126, data.length >> 8, data.length & 255);
  else {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(data.length));
    head.push(maskBit | 127, ...length);
  }
  for (let at = 0; at < data.length; at += 1) {
    data[at] = (data[at] ?? 0) ^ (mask[at & 3] ?? 0);
  }
  return Buffer.concat([Buffer.from(head), mask, data]);
}

type Head = { opcode: number; length: number; size: number };

/** Undefined while it has not come whole; servers send without a mask. */
function headAt(data: Buffer, at: number): Head | undefined {
  if (data.length - at < 2) return undefined;
  const opcode = data.readUInt8(at) & 15;
  const lengthCode = data.readUInt8(at + 1) & 127;
  if (lengthCode <= shortMax) return { opcode, length: lengthCode, size: 2 };
  if (lengthCode === 126) {
    return data.length - at < 4
      ? undefined
      : { opcode, length: data.readUInt16BE(at + 2), size: 4 };
  }
  if (data.length - at < 10) return undefined;
  return { opcode, length: Number(data.readBigUInt64BE(at + 2)), size: 10 };
}

type FrameEvents = {
  /** A message has come whole; with its text if the reader keeps texts. */
  message(bytes: number, text: string): void;
  ping(payload: Buffer): void;
  close(code: number): void;
};

const nothing = Buffer.alloc(0);

/** @param keepsText whether messages are read, and not only counted */
export function createFrameReader(
  keepsText: boolean,
  events: FrameEvents,
): (chunk: Buffer) => void {
  let before: Buffer = nothing;
  let opcode = 0;
  let length = 0;
  let remaining = 0;
  let parts: Buffer[] = [];

  function finish(): void {
    const payload = parts.length === 1 ? (parts[0] ?? nothing) : Buffer.concat(parts);
    parts = [];
    if (opcode === opcodes.ping) events.ping(payload);
    else if (opcode === opcodes.close)
      events.close(payload.length < 2 ? 1005 : payload.readUInt16BE(0));
    else if (opcode !== opcodes.pong) events.message(length, keepsText ? payload.toString() : '');
  }

  return (chunk) => {
    const data = before.length === 0 ? chunk : Buffer.concat([before, chunk]);
    before = nothing;
    let at = 0;
    for (;;) {
      if (remaining > 0) {
        const some = Math.min(remaining, data.length - at);
        if (keepsText || opcode >= opcodes.close) parts.push(data.subarray(at, at + some));
        at += some;
        remaining -= some;
        if (remaining > 0) return;
        finish();
      } else {
        const head = headAt(data, at);
        if (head === undefined) {
          before = data.subarray(at);
          return;
        }
        at += head.size;
        ({ opcode, length } = head);
        remaining = length;
        if (length === 0) finish();
      }
    }
  };
}
