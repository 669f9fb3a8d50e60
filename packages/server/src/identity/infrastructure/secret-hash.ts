// Client secrets: random, so a plain SHA-256 is enough; compared in constant time.
import { hash, timingSafeEqual } from 'node:crypto';

export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

export function secretMatches(secret: string, secretHash: Buffer): boolean {
  const given = hashSecret(secret);
  return given.length === secretHash.length && timingSafeEqual(given, secretHash);
}
