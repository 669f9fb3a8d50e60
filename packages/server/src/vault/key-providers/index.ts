// Builds the key provider that the settings name, with the ones before it for what is wrapped under them still.
import type { Clock, Settings } from '../../platform/index.ts';
import { createAwsKmsProvider } from './aws-kms.ts';
import { createLocalProvider } from './local.ts';
import { createPkcs11Provider } from './pkcs11.ts';
import { type KeyProvider, KeyProviderFault } from './types.ts';

export { createLocalProvider } from './local.ts';
export { type KeyPlace, type KeyProvider, KeyProviderFault } from './types.ts';

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

/** New keys are wrapped by the first; each knows what it has wrapped. */
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

async function chosenProvider(settings: KeySettings, clock: Clock): Promise<KeyProvider> {
  const { vaultKeyProvider, vaultKey, vaultKmsKey: keyArn } = settings;
  if (vaultKeyProvider === 'aws-kms') {
    const { awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey } = settings;
    if (keyArn === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
      throw new Error('AWS KMS needs a key and credentials');
    }
    const credentials = { accessKeyId, secretAccessKey, sessionToken: settings.awsSessionToken };
    return createAwsKmsProvider({ keyArn, credentials, url: settings.vaultKmsUrl, clock });
  }
  if (vaultKeyProvider === 'pkcs11') {
    const { vaultPkcs11Module: module = '', vaultPkcs11Token: token = '' } = settings;
    const { vaultPkcs11Key: key = '', vaultPkcs11Pin: pin = '' } = settings;
    return createPkcs11Provider({ module, token, key, pin });
  }
  if (vaultKey === undefined) throw new Error('this process holds no key of the vault');
  return createLocalProvider(vaultKey);
}

/** @throws Error where the provider cannot be opened: a wrong PIN, a package that is not there */
export async function openKeyProvider(settings: KeySettings, clock: Clock): Promise<KeyProvider> {
  const { vaultKey, vaultKeyPrevious } = settings;
  const others = [vaultKeyPrevious, vaultKey].filter((key) => key !== undefined);
  const chosen = await chosenProvider(settings, clock);
  return chainOfProviders([chosen, ...others.map(createLocalProvider)]);
}
