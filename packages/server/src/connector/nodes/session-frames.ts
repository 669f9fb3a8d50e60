// Encodes and decodes the frames of a session between two nodes, with pure functions.

/** Far below the maximum message size of NATS (1 MiB by default). */
const partMaxBytes = 256 * 1024;
const headBytes = 5;
const moreFlag = 0x80;

const kinds = ['text', 'binary', 'taken', 'close', 'open'] as const;
export type FrameKind = (typeof kinds)[number];

export type Frame = {
  readonly kind: FrameKind;
  /** Counts the frames of one direction from 0; a gap means that a frame was lost. */
  readonly sequence: number;
  /** More parts of the same message follow. */
  readonly hasMore: boolean;
  readonly body: Buffer;
};

/** @example const bytes = writeFrame({ kind: 'text', sequence: 0, hasMore: false, body }); */
export function writeFrame({ kind, sequence, hasMore, body }: Frame): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt8(kinds.indexOf(kind) | (hasMore ? moreFlag : 0), 0);
  head.writeUInt32BE(sequence >>> 0, 1);
  return Buffer.concat([head, body]);
}

/** Returns undefined if the bytes are not a frame. */
export function readFrame(bytes: Uint8Array): Frame | undefined {
  if (bytes.length < headBytes) return undefined;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const first = buffer.readUInt8(0);
  const kind = kinds[first & ~moreFlag];
  if (kind === undefined) return undefined;
  const hasMore = (first & moreFlag) !== 0;
  return { kind, sequence: buffer.readUInt32BE(1), hasMore, body: buffer.subarray(headBytes) };
}

/** Splits a message into parts of the maximum size; an empty message gives one empty part. */
export function splitMessage(data: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from === 0 || from < data.length; from += partMaxBytes) {
    parts.push(data.subarray(from, from + partMaxBytes));
  }
  return parts;
}

export function writeCount(count: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUIntBE(count, 0, 6);
  return bytes;
}

export const readCount = (body: Buffer): number => (body.length === 6 ? body.readUIntBE(0, 6) : 0);
