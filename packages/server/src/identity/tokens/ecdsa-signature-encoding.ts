// Converts ECDSA signatures on P-256 between ASN.1 (node:crypto) and r‖s (JWT).

/** Bytes of r and of s (RFC 7518, 3.4). */
const integerBytes = 32;
const sequence = 0x30;
const integer = 0x02;

function copyInteger(source: Buffer, offset: number, target: Buffer, end: number): number {
  const length = source[offset + 1] ?? 0;
  const first = offset + 2;
  // DER adds a zero byte before a number that would be negative, and omits leading zeros.
  const skipped = Math.max(0, length - integerBytes);
  source.copy(target, end - (length - skipped), first + skipped, first + length);
  return first + length;
}

/**
 * Converts to the form of a JWT. The same conversion inside node:crypto doubles the cost of a
 * signature.
 *
 * @param signature a SEQUENCE of two INTEGERs (RFC 3279, 2.2.3), as it comes out of `sign`
 */
export function asn1ToRaw(signature: Buffer): Buffer {
  const raw = Buffer.alloc(2 * integerBytes);
  const afterR = copyInteger(signature, 2, raw, integerBytes);
  copyInteger(signature, afterR, raw, 2 * integerBytes);
  return raw;
}

function encodeInteger(bytes: Buffer): Buffer {
  let start = 0;
  while (start < integerBytes - 1 && bytes[start] === 0) start += 1;
  const digits = bytes.subarray(start);
  const isNegative = ((digits[0] ?? 0) & 0x80) !== 0;
  const head = isNegative ? [integer, digits.length + 1, 0] : [integer, digits.length];
  return Buffer.concat([Buffer.from(head), digits]);
}

/** Undefined if the length is wrong. */
export function rawToAsn1(raw: Buffer): Buffer | undefined {
  if (raw.length !== 2 * integerBytes) return undefined;
  const numbers = Buffer.concat([
    encodeInteger(raw.subarray(0, integerBytes)),
    encodeInteger(raw.subarray(integerBytes)),
  ]);
  return Buffer.concat([Buffer.from([sequence, numbers.length]), numbers]);
}
