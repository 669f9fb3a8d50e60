// Wraps the vault's keys under a key from the settings, for the demo or a protected key file.
import { createHash } from 'node:crypto';
import { decryptBytes, deriveKey, encryptBytes } from '../../platform/index.ts';
import { type KeyProvider, KeyProviderError, keyAdditionalData } from './key-provider.ts';

const keyNameDigits = 16;

/** Distinguishes two keys and reveals neither: it is the hash of a key derived for this purpose. */
function localKeyName(masterKey: Buffer): string {
  const digest = createHash('sha256').update(deriveKey(masterKey, 'vault-key-name')).digest('hex');
  return `local:${digest.slice(0, keyNameDigits)}`;
}

/** @example const provider = createLocalKeyProvider(settings.vaultKey); await provider.wrap(key, identity); */
export function createLocalKeyProvider(masterKey: Buffer): KeyProvider {
  const wrappingKey = deriveKey(masterKey, 'vault-key-wrapping');
  const wrappingKeyName = localKeyName(masterKey);
  return {
    wrappingKeyName,
    canUnwrap: (wrappedBy) => wrappedBy === wrappingKeyName,
    wrap: async (key, identity) => ({
      bytes: encryptBytes(wrappingKey, key, keyAdditionalData(identity)),
      wrappedBy: wrappingKeyName,
    }),
    async unwrap({ bytes }, identity) {
      try {
        return decryptBytes(wrappingKey, bytes, keyAdditionalData(identity));
      } catch (error) {
        throw new KeyProviderError('Refused', 'a wrapped key was changed or moved', {
          cause: error,
        });
      }
    },
    close: async () => {},
  };
}
