// Seals small things under an AES-256 key that never leaves a PKCS#11 module.
import { randomBytes } from 'node:crypto';
import {
  type Handle,
  loadPkcs11Library,
  type Mechanism,
  type Module,
  type Pkcs11Library,
} from './load-pkcs11js.ts';

export { loadPkcs11Library, type Pkcs11Library } from './load-pkcs11js.ts';

const version = 1;
const ivBytes = 12;
const tagBytes = 16;
const keyBytes = 32;
const blockBytes = 16;
const textStart = 1 + ivBytes;
/** More than it ever seals: keys. */
const sealedMax = 4096;
const checkDigits = 6;
/** Encrypted alone, for the check value: a block that nothing else ever encrypts. */
const checkBlock = Buffer.from('switchyard check');
/** What modules say of a tag that does not fit; SoftHSM has no better word than a general error. */
const brokenSeal =
  /CKR_(?:GENERAL_ERROR|ENCRYPTED_DATA|DATA_|AEAD_DECRYPT_FAILED|FUNCTION_FAILED|SIGNATURE)/;

/** A key in a token of a module. */
export type Pkcs11Options = TokenOptions & { /** The label of the key. */ readonly key: string };

/** The bytes were changed, or belong elsewhere. */
export class Pkcs11RejectedError extends Error {
  override name = 'Pkcs11RejectedError';
}

/** AES-256-GCM under the key of the module. */
export type Pkcs11Wrapper = {
  /** Distinguishes keys with the same label. */
  readonly checkValue: string;
  /** `boundTo` names the place: opened anywhere else, the seal is broken. */
  seal(bytes: Buffer, boundTo: string): Buffer;
  /** Throws Pkcs11RejectedError where bytes, key or place do not fit. */
  open(sealed: Buffer, boundTo: string): Buffer;
  close(): void;
};

/** Looked for each time: a module that was away may give the key another handle. */
function findKey(native: Pkcs11Library, session: Handle, module: Module, label: string): Handle {
  module.C_FindObjectsInit(session, [
    { type: native.CKA_CLASS, value: native.CKO_SECRET_KEY },
    { type: native.CKA_KEY_TYPE, value: native.CKK_AES },
    { type: native.CKA_LABEL, value: label },
  ]);
  const [key, second] = module.C_FindObjects(session, 2);
  module.C_FindObjectsFinal(session);
  if (key === undefined) throw new Error(`the token has no AES key ${label}`);
  if (second !== undefined) throw new Error(`the token has several AES keys ${label}`);
  return key;
}

const gcm = (native: Pkcs11Library, iv: Buffer, boundTo: string): Mechanism => ({
  mechanism: native.CKM_AES_GCM,
  parameter: {
    type: native.CK_PARAMS_AES_GCM,
    iv,
    aad: Buffer.from(boundTo),
    ivBits: ivBytes * 8,
    tagBits: tagBytes * 8,
  },
});

function checkValueOf(native: Pkcs11Library, token: Token, label: string): string {
  const block = token.within((session, module) => {
    const key = findKey(native, session, module, label);
    module.C_EncryptInit(session, { mechanism: native.CKM_AES_ECB }, key);
    return module.C_Encrypt(session, checkBlock, Buffer.alloc(blockBytes));
  });
  return block.toString('hex').slice(0, checkDigits);
}

function decrypted(
  native: Pkcs11Library,
  { session, module, key }: { session: Handle; module: Module; key: Handle },
  sealed: Buffer,
  boundTo: string,
): Buffer {
  module.C_DecryptInit(session, gcm(native, sealed.subarray(1, textStart), boundTo), key);
  try {
    return module.C_Decrypt(session, sealed.subarray(textStart), Buffer.alloc(sealed.length));
  } catch (error) {
    if (!brokenSeal.test(String(error))) throw error;
    throw new Pkcs11RejectedError('the seal is broken: bytes, key or place do not fit', {
      cause: error,
    });
  }
}

/**
 * Opens a key of a module by the labels of token and key.
 *
 * @param native pkcs11js, where it is installed elsewhere
 * @throws Error where module, token or key is not there, or the PIN is wrong
 * @example const { seal } = openPkcs11({ module: '/usr/lib/softhsm/libsofthsm2.so', token: 'vault', key: 'cards', pin });
 */
export function openPkcs11(
  options: Pkcs11Options,
  native: Pkcs11Library = loadPkcs11Library(),
): Pkcs11Wrapper {
  const token = openToken(native, options);
  try {
    return {
      checkValue: checkValueOf(native, token, options.key),
      seal(bytes, boundTo) {
        const iv = randomBytes(ivBytes);
        const text = token.within((session, module) => {
          const key = findKey(native, session, module, options.key);
          module.C_EncryptInit(session, gcm(native, iv, boundTo), key);
          return module.C_Encrypt(session, bytes, Buffer.alloc(bytes.length + tagBytes));
        });
        return Buffer.concat([Buffer.of(version), iv, text]);
      },
      open(sealed, boundTo) {
        if (sealed[0] !== version || sealed.length <= textStart + tagBytes) {
          throw new Pkcs11RejectedError('these are no sealed bytes');
        }
        if (sealed.length > sealedMax) throw new Pkcs11RejectedError('these are too many bytes');
        return token.within((session, module) => {
          const key = findKey(native, session, module, options.key);
          return decrypted(native, { session, module, key }, sealed, boundTo);
        });
      },
      close: token.close,
    };
  } catch (error) {
    token.close();
    throw error;
  }
}

/**
 * Makes the key: AES-256, which never leaves the module, for sealing alone.
 *
 * @throws Error where there is one of this label already
 * @example makePkcs11Key({ module, token: 'vault', key: 'cards', pin });
 */
export function makePkcs11Key(
  options: Pkcs11Options,
  native: Pkcs11Library = loadPkcs11Library(),
): void {
  const token = openToken(native, options);
  try {
    const exists = token.within((session, module) => {
      module.C_FindObjectsInit(session, [{ type: native.CKA_LABEL, value: options.key }]);
      const [found] = module.C_FindObjects(session, 1);
      module.C_FindObjectsFinal(session);
      return found !== undefined;
    });
    if (exists) throw new Error(`the token has something of the label ${options.key} already`);
    token.within((session, module) =>
      module.C_GenerateKey(session, { mechanism: native.CKM_AES_KEY_GEN }, [
        { type: native.CKA_CLASS, value: native.CKO_SECRET_KEY },
        { type: native.CKA_KEY_TYPE, value: native.CKK_AES },
        { type: native.CKA_TOKEN, value: true },
        { type: native.CKA_PRIVATE, value: true },
        { type: native.CKA_LABEL, value: options.key },
        { type: native.CKA_VALUE_LEN, value: keyBytes },
        { type: native.CKA_ENCRYPT, value: true },
        { type: native.CKA_DECRYPT, value: true },
        { type: native.CKA_SENSITIVE, value: true },
        { type: native.CKA_EXTRACTABLE, value: false },
      ]),
    );
  } finally {
    token.close();
  }
}

/** The module, the token and the login. */
export type TokenOptions = {
  /** The library of the module. */
  readonly module: string;
  /** The label of the token. */
  readonly token: string;
  readonly pin: string;
};

/** Errors of the module for a lost session or device. */
const lostSession =
  /CKR_(?:SESSION_(?:HANDLE_INVALID|CLOSED)|USER_NOT_LOGGED_IN|DEVICE_(?:ERROR|REMOVED)|TOKEN_NOT_PRESENT|KEY_HANDLE_INVALID|OBJECT_HANDLE_INVALID|CRYPTOKI_NOT_INITIALIZED)/;

const wordOf = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${error.message}` : String(error);

/** Others in this process may have done it before. */
function unless(word: RegExp, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!word.test(wordOf(error))) throw error;
  }
}

/** A token with a session that is logged in. */
type Token = {
  /** Runs the work within the session, once more in a new one where the old one is lost. */
  within<Result>(work: (session: Handle, module: Module) => Result): Result;
  close(): void;
};

/**
 * Opens a token by its label.
 *
 * @throws Error where there is no such token, or the PIN is wrong
 * @example const token = openToken(native, { module, token: 'vault', pin });
 */
function openToken(native: Pkcs11Library, options: TokenOptions): Token {
  const module = new native.PKCS11();
  module.load(options.module);
  unless(/ALREADY_INITIALIZED/, () => module.C_Initialize());
  let session: Handle | undefined;

  function openSession(): Handle {
    const slots = module.C_GetSlotList(true);
    const slot = slots.find((each) => module.C_GetTokenInfo(each).label.trim() === options.token);
    if (slot === undefined) throw new Error(`the module has no token ${options.token}`);
    const opened = module.C_OpenSession(slot, native.CKF_SERIAL_SESSION | native.CKF_RW_SESSION);
    unless(/ALREADY_LOGGED_IN/, () => module.C_Login(opened, native.CKU_USER, options.pin));
    return opened;
  }

  function within<Result>(work: (session: Handle, module: Module) => Result): Result {
    session ??= openSession();
    try {
      return work(session, module);
    } catch (error) {
      if (!lostSession.test(wordOf(error))) throw error;
      session = openSession();
      return work(session, module);
    }
  }

  return {
    within,
    close() {
      if (session !== undefined) unless(/CKR_/, () => module.C_CloseSession(session as Handle));
      session = undefined;
      unless(/CKR_/, () => module.C_Finalize());
    },
  };
}
