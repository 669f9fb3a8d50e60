/** The only place of the portal that makes random values. */

/** A unique identifier, for example for an idempotent request. */
export function newUuid(): string {
  return crypto.randomUUID();
}

/** Random bytes in upper-case hexadecimal. */
export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  )
    .join('')
    .toUpperCase();
}

/** A random number below the limit, which must be a power of two of at most 65,536. */
export function randomBelow(limit: number): number {
  return (crypto.getRandomValues(new Uint16Array(1))[0] ?? 0) % limit;
}
