// Client secrets: random, so a plain SHA-256 is enough; compared in constant time.
import { hash, timingSafeEqual } from 'node:crypto';

export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

export function secretMatches(secret: string, secretHash: Buffer): boolean {
  const hash = hashSecret(secret);
  return hash.length === secretHash.length && timingSafeEqual(hash, secretHash);
}
