// The header `traceparent` of W3C Trace Context, and new identifiers of traces and spans.
import { randomFillSync } from 'node:crypto';

export type TraceParent = {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
};

/** Version 00 has 55 characters; a later one may have more, but none is ff. Neither identifier is all zeros. */
const traceparentPattern =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.{0,256})?$/;

const sampledFlag = 1;

/** Undefined when the header is absent or malformed. */
export function parseTraceparent(header: unknown): TraceParent | undefined {
  if (typeof header !== 'string') return undefined;
  const [, traceId, spanId, flags] = traceparentPattern.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 };
}

const traceIdBytes = 16;
const spanIdBytes = 8;
/** Filled at once: one call for each identifier would cost more than the rest of a span. */
const randomPool = Buffer.alloc(4096);
let usedBytes = randomPool.length;

/** The position of the next unused bytes of the pool. */
function takeRandomBytes(count: number): number {
  if (usedBytes + count > randomPool.length) {
    randomFillSync(randomPool);
    usedBytes = 0;
  }
  usedBytes += count;
  return usedBytes - count;
}

function randomHex(bytes: number): string {
  const start = takeRandomBytes(bytes);
  return randomPool.toString('hex', start, start + bytes);
}

export const createTraceId = (): string => randomHex(traceIdBytes);
export const createSpanId = (): string => randomHex(spanIdBytes);

const uint32Values = 2 ** 32;
const uint32Bytes = 4;

/** From 0, below 1. */
export const createRandomShare = (): number =>
  randomPool.readUInt32LE(takeRandomBytes(uint32Bytes)) / uint32Values;
