// Creates the key provider of the settings, with earlier providers for keys they wrapped.
import type { Clock, Settings } from '../../platform/index.ts';
import { createAwsKmsProvider } from './aws-kms-provider.ts';
import { type KeyProvider, KeyProviderError } from './key-provider.ts';
import { createLocalKeyProvider } from './local-key-provider.ts';
import { createPkcs11Provider } from './pkcs11-provider.ts';

export { type KeyIdentity, type KeyProvider, KeyProviderError } from './key-provider.ts';
export { createLocalKeyProvider } from './local-key-provider.ts';

export type KeySettings = Pick<
  Settings,
  | 'vaultKeyProvider'
  | 'vaultKey'
  | 'vaultKeyPrevious'
  | 'vaultKmsKey'
  | 'vaultKmsUrl'
  | 'vaultPkcs11Module'
  | 'vaultPkcs11Token'
  | 'vaultPkcs11Key'
  | 'vaultPkcs11Pin'
  | 'awsAccessKeyId'
  | 'awsSecretAccessKey'
  | 'awsSessionToken'
>;

/** The first provider wraps new keys; each provider unwraps the keys that it wrapped. */
export function chainKeyProviders(
  providers: readonly [KeyProvider, ...KeyProvider[]],
): KeyProvider {
  const [first] = providers;
  return {
    wrappingKeyName: first.wrappingKeyName,
    canUnwrap: (wrappedBy) => providers.some((each) => each.canUnwrap(wrappedBy)),
    wrap: first.wrap,
    async unwrap(wrapped, identity) {
      const provider = providers.find((each) => each.canUnwrap(wrapped.wrappedBy));
      if (provider !== undefined) return provider.unwrap(wrapped, identity);
      throw new KeyProviderError(
        'Refused',
        `no key provider can unwrap keys of ${wrapped.wrappedBy}`,
      );
    },
    async close() {
      for (const each of providers) await each.close();
    },
  };
}

type ProviderKind = KeySettings['vaultKeyProvider'];

function createKmsProvider(settings: KeySettings, clock: Clock): KeyProvider | undefined {
  const { vaultKmsKey: keyArn, vaultKmsUrl: url, awsSessionToken: sessionToken } = settings;
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey } = settings;
  if (keyArn === undefined || accessKeyId === undefined) return undefined;
  if (secretAccessKey === undefined) return undefined;
  const credentials = { accessKeyId, secretAccessKey, sessionToken };
  return createAwsKmsProvider({ keyArn, credentials, url, clock });
}

async function createModuleProvider(settings: KeySettings): Promise<KeyProvider | undefined> {
  const { vaultPkcs11Module: module, vaultPkcs11Token: token } = settings;
  const { vaultPkcs11Key: key, vaultPkcs11Pin: pin } = settings;
  if (module === undefined || token === undefined) return undefined;
  return key === undefined || pin === undefined
    ? undefined
    : createPkcs11Provider({ module, token, key, pin });
}

/**
 * The provider of the settings, followed by every other one that they configure. The vault wraps
 * the keys of those again, and then an operator can remove them.
 *
 * @throws Error if one cannot be opened: a wrong PIN, a package that is not installed
 */
export async function openKeyProvider(settings: KeySettings, clock: Clock): Promise<KeyProvider> {
  const { vaultKey, vaultKeyPrevious, vaultKeyProvider } = settings;
  const candidates: readonly (readonly [ProviderKind, KeyProvider | undefined])[] = [
    ['local', vaultKey && createLocalKeyProvider(vaultKey)],
    ['aws-kms', createKmsProvider(settings, clock)],
    ['pkcs11', await createModuleProvider(settings)],
  ];
  const chosen = candidates.find(([kind]) => kind === vaultKeyProvider)?.[1];
  if (chosen === undefined)
    throw new Error(`the key provider ${vaultKeyProvider} has no key in the settings`);
  const others = candidates
    .map(([, provider]) => provider)
    .filter((provider) => provider !== chosen);
  const previous = vaultKeyPrevious && createLocalKeyProvider(vaultKeyPrevious);
  const otherProviders = [previous, ...others].filter((provider) => provider !== undefined);
  return chainKeyProviders([chosen, ...otherProviders]);
}
