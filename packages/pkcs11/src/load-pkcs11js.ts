// The part of pkcs11js that is used here, and how it is found: it is not there in a default install.
import { createRequire } from 'node:module';

/** A handle of the module: a session or a key. */
export type Handle = Buffer;

type Attribute = { type: number; value?: number | boolean | string | Buffer };
type Parameter = { type: number; iv: Buffer; aad: Buffer; ivBits: number; tagBits: number };
export type Mechanism = { mechanism: number; parameter?: Parameter };

/** One loaded module. */
export type Module = {
  load(path: string): void;
  C_Initialize(): void;
  C_Finalize(): void;
  C_GetSlotList(withToken: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { label: string };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_CloseSession(session: Handle): void;
  C_Login(session: Handle, user: number, pin: string): void;
  C_FindObjectsInit(session: Handle, template: Attribute[]): void;
  C_FindObjects(session: Handle, max: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_GenerateKey(session: Handle, mechanism: Mechanism, template: Attribute[]): Handle;
  C_EncryptInit(session: Handle, mechanism: Mechanism, key: Handle): void;
  C_Encrypt(session: Handle, data: Buffer, out: Buffer): Buffer;
  C_DecryptInit(session: Handle, mechanism: Mechanism, key: Handle): void;
  C_Decrypt(session: Handle, data: Buffer, out: Buffer): Buffer;
};

/** The package with its constants. */
export type Pkcs11Library = { PKCS11: new () => Module } & Record<Constant, number>;

type Constant =
  | 'CKF_SERIAL_SESSION'
  | 'CKF_RW_SESSION'
  | 'CKU_USER'
  | 'CKA_CLASS'
  | 'CKA_TOKEN'
  | 'CKA_PRIVATE'
  | 'CKA_LABEL'
  | 'CKA_KEY_TYPE'
  | 'CKA_VALUE_LEN'
  | 'CKA_ENCRYPT'
  | 'CKA_DECRYPT'
  | 'CKA_SENSITIVE'
  | 'CKA_EXTRACTABLE'
  | 'CKO_SECRET_KEY'
  | 'CKK_AES'
  | 'CKM_AES_KEY_GEN'
  | 'CKM_AES_GCM'
  | 'CKM_AES_ECB'
  | 'CK_PARAMS_AES_GCM';

/**
 * Finds pkcs11js where it is installed.
 *
 * @param from where to look from; a test has it elsewhere
 * @throws Error that says how to install it
 * @example const native = loadNative();
 */
export function loadPkcs11Library(from: string = import.meta.url): Pkcs11Library {
  try {
    return createRequire(from)('pkcs11js') as Pkcs11Library;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(
      'pkcs11js is not installed: npm install --prefix packages/pkcs11 brings and compiles it',
      { cause: error },
    );
  }
}
