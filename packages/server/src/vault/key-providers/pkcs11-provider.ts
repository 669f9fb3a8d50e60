// Wraps the vault's keys in a PKCS#11 module, with an optional package.
import {
  type KeyIdentity,
  type KeyProvider,
  KeyProviderError,
  keyAdditionalData,
} from './key-provider.ts';

/** Not in the default install, because it compiles native code; so no static import may name it. */
const packageUrl = new URL('../../../../pkcs11/src/index.ts', import.meta.url).href;
const prefix = 'pkcs11:';

export type Pkcs11Options = {
  readonly module: string;
  readonly token: string;
  readonly key: string;
  readonly pin: string;
};

/** The interface of the package: AES-256-GCM under a key that never leaves the module. */
export type Pkcs11Wrapper = {
  /** Distinguishes this key from another one with the same label. */
  readonly checkValue: string;
  seal(bytes: Buffer, boundTo: string): Buffer;
  open(sealed: Buffer, boundTo: string): Buffer;
  close(): void;
};

type Package = { openPkcs11(options: Pkcs11Options): Pkcs11Wrapper };

const loadPackage = async (): Promise<Package> => (await import(packageUrl)) as Package;

/** @param load imports the package; a test replaces it */
export async function createPkcs11Provider(
  options: Pkcs11Options,
  load: () => Promise<Package> = loadPackage,
): Promise<KeyProvider> {
  const wrapper = (await load()).openPkcs11(options);
  const wrappingKeyName = `${prefix}${options.token}/${options.key}/${wrapper.checkValue}`;

  function callModule<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      const code = (error as Error).name === 'Pkcs11RejectedError' ? 'Refused' : 'Unavailable';
      throw new KeyProviderError(code, `the PKCS#11 module failed: ${String(error)}`, {
        cause: error,
      });
    }
  }

  return {
    wrappingKeyName,
    canUnwrap: (wrappedBy) => wrappedBy === wrappingKeyName,
    wrap: async (key, identity: KeyIdentity) => ({
      bytes: callModule(() => wrapper.seal(key, keyAdditionalData(identity))),
      wrappedBy: wrappingKeyName,
    }),
    unwrap: async ({ bytes }, identity) =>
      callModule(() => wrapper.open(bytes, keyAdditionalData(identity))),
    close: async () => wrapper.close(),
  };
}
