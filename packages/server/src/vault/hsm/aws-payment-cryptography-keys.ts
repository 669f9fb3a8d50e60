// Converts key attributes of AWS Payment Cryptography to the platform's types.

import { HsmError, type KeyFacts, type KeyUsage } from './hsm-types.ts';
import {
  getWorkingKeyAlgorithm,
  isStrongerThan,
  type KeyEntry,
  type WorkingKeyAlgorithm,
} from './key-table.ts';

const usages: Readonly<Record<string, KeyUsage>> = {
  TR31_B0_BASE_DERIVATION_KEY: 'BaseDerivation',
  TR31_K0_KEY_ENCRYPTION_KEY: 'KeyEncryption',
  TR31_K1_KEY_BLOCK_PROTECTION_KEY: 'KeyEncryption',
  TR31_P0_PIN_ENCRYPTION_KEY: 'ZonePin',
  TR31_M1_ISO_9797_1_MAC_KEY: 'Mac',
  TR31_M3_ISO_9797_3_MAC_KEY: 'Mac',
  TR31_M6_ISO_9797_5_CMAC_KEY: 'Mac',
};

type Members = Readonly<Record<string, unknown>>;

const toMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/**
 * Converts the service's description of a key. A disabled or deleted key counts as not found.
 *
 * @throws HsmError `KeyNotFound`, `KeyUsage`
 */
export function toKeyFacts(description: unknown): KeyFacts {
  const key = toMembers(description);
  const attributes = toMembers(key['KeyAttributes']);
  if (key['Enabled'] === false) throw new HsmError('KeyNotFound', 'the key is not enabled');
  const state = key['KeyState'];
  if (state !== 'CREATE_COMPLETE') throw new HsmError('KeyNotFound', 'the key is not complete');
  const usage = usages[String(attributes['KeyUsage'])];
  if (usage === undefined) throw new HsmError('KeyUsage');
  const algorithm = String(attributes['KeyAlgorithm']).startsWith('AES_') ? 'Aes' : 'Tdes';
  return { checkValue: String(key['KeyCheckValue']).toUpperCase().slice(0, 6), usage, algorithm };
}

/**
 * Checks the strength of the base key first, because the service reports it with the error for an
 * invalid PIN block.
 *
 * @throws HsmError `KeyUsage` if the table requests a working key stronger than the base key
 */
export function requireDerivable(entry: KeyEntry, description: unknown): void {
  const base = toMembers(toMembers(description)['KeyAttributes'])[
    'KeyAlgorithm'
  ] as WorkingKeyAlgorithm;
  const working = getWorkingKeyAlgorithm(entry);
  if (entry.usage === 'BaseDerivation' && isStrongerThan(working, base)) {
    throw new HsmError('KeyUsage', `a base key of ${base} derives no ${working}`);
  }
}
