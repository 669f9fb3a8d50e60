// One token of a module: a session that is logged in, opened again where the module has lost it.
import type { Handle, Module, Pkcs11Library } from './load-pkcs11js.ts';

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
export type Token = {
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
export function openToken(native: Pkcs11Library, options: TokenOptions): Token {
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
