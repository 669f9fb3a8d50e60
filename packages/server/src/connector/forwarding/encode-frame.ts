// Encodes a short WebSocket message as one buffer with header and payload (RFC 6455, 5.2).
// `ws` writes them as two buffers, which costs more CPU than the copy (ADR 0050).

const finalText = 0x81;
const finalBinary = 0x82;
/** The longest payload whose length is in the second byte of the header. */
const sevenBitMax = 125;
const sixteenBitLength = 126;
const longHeaderBytes = 4;

/** `Buffer.allocUnsafe` takes only buffers shorter than half its pool from the pool. */
export const shortMessageMaxBytes = Math.min(Buffer.poolSize / 2, 65_536) - 1 - longHeaderBytes;

/** @param data - at most `shortMessageMaxBytes` */
export function encodeShortFrame(data: Buffer, isBinary: boolean): Buffer {
  const { length } = data;
  const isLong = length > sevenBitMax;
  const headerBytes = isLong ? longHeaderBytes : 2;
  const frame = Buffer.allocUnsafe(headerBytes + length);
  frame[0] = isBinary ? finalBinary : finalText;
  frame[1] = isLong ? sixteenBitLength : length;
  if (isLong) frame.writeUInt16BE(length, 2);
  frame.set(data, headerBytes);
  return frame;
}
