// Wraps the vault's keys in a PKCS#11 module, by an optional package that is installed beside the platform.
import { type KeyPlace, type KeyProvider, KeyProviderFault, placeText } from './types.ts';

/** Outside the default install, since it compiles native code: `npm install @switchyard/pkcs11`. */
const packageName = '@switchyard/pkcs11';
const prefix = 'pkcs11:';

export type Pkcs11Options = {
  readonly module: string;
  readonly token: string;
  readonly key: string;
  readonly pin: string;
};

/** What the package gives: AES-256-GCM under a key that never leaves the module. */
export type Pkcs11Wrapper = {
  /** Tells this key from another one of the same label. */
  readonly checkValue: string;
  seal(bytes: Buffer, boundTo: string): Buffer;
  open(sealed: Buffer, boundTo: string): Buffer;
  close(): void;
};

type Package = { openPkcs11(options: Pkcs11Options): Pkcs11Wrapper };

/** @throws Error that says what to install, where the package is not there */
async function loadPackage(): Promise<Package> {
  const name: string = packageName;
  try {
    return (await import(name)) as Package;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(
      `the key provider pkcs11 needs the package ${packageName}, which is not installed: docs/how-to/look-after-card-keys.md`,
      { cause: error },
    );
  }
}

/** @param load finds the package; a test gives another */
export async function createPkcs11Provider(
  options: Pkcs11Options,
  load: () => Promise<Package> = loadPackage,
): Promise<KeyProvider> {
  const wrapper = (await load()).openPkcs11(options);
  const wrapsWith = `${prefix}${options.token}/${options.key}/${wrapper.checkValue}`;

  function asked<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      // The module's words are of its own making: only whether to try again is told here.
      const isRefused = /TAG|ENCRYPTED_DATA|CKR_DATA|authentic|not sealed/i.test(String(error));
      const code = isRefused ? 'Refused' : 'Unavailable';
      throw new KeyProviderFault(code, `the PKCS#11 module failed: ${String(error)}`, {
        cause: error,
      });
    }
  }

  return {
    wrapsWith,
    knows: (wrappedBy) => wrappedBy === wrapsWith,
    wrap: async (key, place: KeyPlace) => ({
      bytes: asked(() => wrapper.seal(key, placeText(place))),
      wrappedBy: wrapsWith,
    }),
    unwrap: async ({ bytes }, place) => asked(() => wrapper.open(bytes, placeText(place))),
    close: async () => wrapper.close(),
  };
}
