// Wraps the vault's keys under a key from the settings, for the demo or a protected key file.
import { createHash } from 'node:crypto';
import { decryptBytes, deriveKey, encryptBytes } from '../../platform/index.ts';
import { type KeyProvider, KeyProviderFault, placeText } from './key-provider.ts';

const nameDigits = 16;

/** Distinguishes two keys and reveals neither: it is the hash of a key derived for this purpose. */
function nameOf(masterKey: Buffer): string {
  const digest = createHash('sha256').update(deriveKey(masterKey, 'vault-key-name')).digest('hex');
  return `local:${digest.slice(0, nameDigits)}`;
}

/** @example const provider = createLocalProvider(settings.vaultKey); await provider.wrap(key, place); */
export function createLocalProvider(masterKey: Buffer): KeyProvider {
  const wrappingKey = deriveKey(masterKey, 'vault-key-wrapping');
  const wrapsWith = nameOf(masterKey);
  return {
    wrapsWith,
    knows: (wrappedBy) => wrappedBy === wrapsWith,
    wrap: async (key, place) => ({
      bytes: encryptBytes(wrappingKey, key, placeText(place)),
      wrappedBy: wrapsWith,
    }),
    async unwrap({ bytes }, place) {
      try {
        return decryptBytes(wrappingKey, bytes, placeText(place));
      } catch (error) {
        throw new KeyProviderFault('Refused', 'a wrapped key was changed or moved', {
          cause: error,
        });
      }
    },
    close: async () => {},
  };
}
