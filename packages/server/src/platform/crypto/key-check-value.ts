// Identifies a master key in the database and in messages.
import { hash } from 'node:crypto';
import { deriveKey } from './derive-key.ts';

const digits = 16;

/** Distinguishes two keys and reveals neither: it is the hash of a key derived for this purpose. */
export function keyCheckValue(masterKey: Buffer, purpose: string): string {
  return hash('sha256', deriveKey(masterKey, purpose)).slice(0, digits);
}
