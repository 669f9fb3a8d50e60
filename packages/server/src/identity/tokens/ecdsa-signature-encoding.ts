// The two forms of an ECDSA signature on P-256: ASN.1 as the system makes it, r and s side by side as JWTs have it.

/** Bytes of r and of s (RFC 7518, 3.4). */
const integerBytes = 32;
const sequence = 0x30;
const integer = 0x02;

function copyInteger(source: Buffer, offset: number, target: Buffer, end: number): number {
  const length = source[offset + 1] ?? 0;
  const first = offset + 2;
  // A zero stands before a number that would read as negative, and none before a short one.
  const skipped = Math.max(0, length - integerBytes);
  source.copy(target, end - (length - skipped), first + skipped, first + length);
  return first + length;
}

/**
 * What a JWT holds. Asking the system for this form costs as much again as the signature.
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

/** Undefined for what has another length: it is no signature of ours. */
export function rawToAsn1(raw: Buffer): Buffer | undefined {
  if (raw.length !== 2 * integerBytes) return undefined;
  const numbers = Buffer.concat([
    encodeInteger(raw.subarray(0, integerBytes)),
    encodeInteger(raw.subarray(integerBytes)),
  ]);
  return Buffer.concat([Buffer.from([sequence, numbers.length]), numbers]);
}
