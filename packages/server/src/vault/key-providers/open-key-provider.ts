// Creates the key provider of the settings, with earlier providers for keys they wrapped.
import type { Clock, Settings } from '../../platform/index.ts';
import { createAwsKmsProvider } from './aws-kms-provider.ts';
import { type KeyProvider, KeyProviderFault } from './key-provider.ts';
import { createLocalProvider } from './local-key-provider.ts';
import { createPkcs11Provider } from './pkcs11-provider.ts';

export { type KeyPlace, type KeyProvider, KeyProviderFault } from './key-provider.ts';
export { createLocalProvider } from './local-key-provider.ts';

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
export function chainOfProviders(providers: readonly [KeyProvider, ...KeyProvider[]]): KeyProvider {
  const [first] = providers;
  return {
    wrapsWith: first.wrapsWith,
    knows: (wrappedBy) => providers.some((each) => each.knows(wrappedBy)),
    wrap: first.wrap,
    async unwrap(wrapped, place) {
      const known = providers.find((each) => each.knows(wrapped.wrappedBy));
      if (known !== undefined) return known.unwrap(wrapped, place);
      throw new KeyProviderFault('Refused', `no key provider knows ${wrapped.wrappedBy}`);
    },
    async close() {
      for (const each of providers) await each.close();
    },
  };
}

type Kind = KeySettings['vaultKeyProvider'];

function kmsProvider(settings: KeySettings, clock: Clock): KeyProvider | undefined {
  const { vaultKmsKey: keyArn, vaultKmsUrl: url, awsSessionToken: sessionToken } = settings;
  const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey } = settings;
  if (keyArn === undefined || accessKeyId === undefined) return undefined;
  if (secretAccessKey === undefined) return undefined;
  const credentials = { accessKeyId, secretAccessKey, sessionToken };
  return createAwsKmsProvider({ keyArn, credentials, url, clock });
}

async function moduleProvider(settings: KeySettings): Promise<KeyProvider | undefined> {
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
  const known: readonly (readonly [Kind, KeyProvider | undefined])[] = [
    ['local', vaultKey && createLocalProvider(vaultKey)],
    ['aws-kms', kmsProvider(settings, clock)],
    ['pkcs11', await moduleProvider(settings)],
  ];
  const chosen = known.find(([kind]) => kind === vaultKeyProvider)?.[1];
  if (chosen === undefined) throw new Error(`the key provider ${vaultKeyProvider} lacks its key`);
  const others = known.map(([, provider]) => provider).filter((provider) => provider !== chosen);
  const previous = vaultKeyPrevious && createLocalProvider(vaultKeyPrevious);
  const behind = [previous, ...others].filter((provider) => provider !== undefined);
  return chainOfProviders([chosen, ...behind]);
}
