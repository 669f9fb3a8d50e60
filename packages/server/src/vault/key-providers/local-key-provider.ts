// Wraps the vault's keys under a key from the settings, for the demo or a protected key file.
import { decryptBytes, deriveKey, encryptBytes, keyCheckValue } from '../../platform/index.ts';
import { type KeyProvider, KeyProviderError, keyAdditionalData } from './key-provider.ts';

/** @example const provider = createLocalKeyProvider(settings.vaultKey); await provider.wrap(key, identity); */
export function createLocalKeyProvider(masterKey: Buffer): KeyProvider {
  const wrappingKey = deriveKey(masterKey, 'vault-key-wrapping');
  const wrappingKeyName = `local:${keyCheckValue(masterKey, 'vault-key-name')}`;
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
