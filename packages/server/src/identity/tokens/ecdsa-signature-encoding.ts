// The two forms of an ECDSA signature on P-256: ASN.1 as the system makes it, r and s side by side as JWTs have it.

/** Bytes of r and of s (RFC 7518, 3.4). */
const half = 32;
const sequence = 0x30;
const integer = 0x02;

function copyNumber(from: Buffer, at: number, to: Buffer, end: number): number {
  const length = from[at + 1] ?? 0;
  const first = at + 2;
  // A zero stands before a number that would read as negative, and none before a short one.
  const skipped = Math.max(0, length - half);
  from.copy(to, end - (length - skipped), first + skipped, first + length);
  return first + length;
}

/**
 * What a JWT holds. Asking the system for this form costs as much again as the signature.
 *
 * @param signature a SEQUENCE of two INTEGERs (RFC 3279, 2.2.3), as it comes out of `sign`
 */
export function fromAsn1(signature: Buffer): Buffer {
  const plain = Buffer.alloc(2 * half);
  const afterR = copyNumber(signature, 2, plain, half);
  copyNumber(signature, afterR, plain, 2 * half);
  return plain;
}

function numberOf(bytes: Buffer): Buffer {
  let from = 0;
  while (from < half - 1 && bytes[from] === 0) from += 1;
  const digits = bytes.subarray(from);
  const isNegative = ((digits[0] ?? 0) & 0x80) !== 0;
  const head = isNegative ? [integer, digits.length + 1, 0] : [integer, digits.length];
  return Buffer.concat([Buffer.from(head), digits]);
}

/** Undefined for what has another length: it is no signature of ours. */
export function toAsn1(plain: Buffer): Buffer | undefined {
  if (plain.length !== 2 * half) return undefined;
  const numbers = Buffer.concat([
    numberOf(plain.subarray(0, half)),
    numberOf(plain.subarray(half)),
  ]);
  return Buffer.concat([Buffer.from([sequence, numbers.length]), numbers]);
}
