// The words of AWS Payment Cryptography for keys, in ours and back.
import { type Derivation, derivationOf, isStrongerThan, type KeyEntry } from './key-table.ts';
import { HsmError, type KeyFacts, type KeyUsage } from './types.ts';

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

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/**
 * What the service tells of a key. A key that is off, or on its way out, is as good as none.
 *
 * @throws HsmError `KeyNotFound`, `KeyUsage`
 */
export function awsFactsOf(told: unknown): KeyFacts {
  const key = membersOf(told);
  const attributes = membersOf(key['KeyAttributes']);
  if (key['Enabled'] === false) throw new HsmError('KeyNotFound', 'it is not enabled');
  const state = key['KeyState'];
  if (state !== 'CREATE_COMPLETE') throw new HsmError('KeyNotFound', 'it is not complete');
  const usage = usages[String(attributes['KeyUsage'])];
  if (usage === undefined) throw new HsmError('KeyUsage');
  const algorithm = String(attributes['KeyAlgorithm']).startsWith('AES_') ? 'Aes' : 'Tdes';
  return { checkValue: String(key['KeyCheckValue']).toUpperCase().slice(0, 6), usage, algorithm };
}

/**
 * The service refuses a working key that is stronger than its base key in the same words as a PIN block.
 *
 * @throws HsmError `KeyUsage` where the table wants one
 */
export function demandDerivable(entry: KeyEntry, told: unknown): void {
  const base = membersOf(membersOf(told)['KeyAttributes'])['KeyAlgorithm'] as Derivation;
  const working = derivationOf(entry);
  if (entry.usage === 'BaseDerivation' && isStrongerThan(working, base)) {
    throw new HsmError('KeyUsage', `a base key of ${base} derives no ${working}`);
  }
}
