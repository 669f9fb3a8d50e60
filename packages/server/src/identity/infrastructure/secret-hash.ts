// Hashes client secrets. They are random, so plain SHA-256 is enough; the comparison takes constant
// time.
import { hash, timingSafeEqual } from 'node:crypto';

export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

export function secretMatches(secret: string, secretHash: Buffer): boolean {
  const givenHash = hashSecret(secret);
  return givenHash.length === secretHash.length && timingSafeEqual(givenHash, secretHash);
}
