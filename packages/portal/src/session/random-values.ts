/** What has to be random, in one place: identifiers, and numbers that nobody can foresee. */

/** An identifier that nobody else has: of an operation that may be sent twice and is done once. */
export function newId(): string {
  return crypto.randomUUID();
}

/** So many random bytes in hexadecimal, in capitals. */
export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  )
    .join('')
    .toUpperCase();
}

/** From 0 to below a limit of at most 65,536 that is a power of two. */
export function randomBelow(limit: number): number {
  return (crypto.getRandomValues(new Uint16Array(1))[0] ?? 0) % limit;
}
