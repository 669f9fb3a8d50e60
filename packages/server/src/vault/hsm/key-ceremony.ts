// Imports keys into the software HSM from components of several people.
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import { keyCheckValue } from '@switchyard/pin';
import { decryptBytes, encryptBytes } from '../../platform/index.ts';
import { HsmError, type KeyAlgorithm, type KeyUsage } from './hsm-types.ts';
import {
  createKeyTable,
  type KeyEntry,
  parseKeyTable,
  type WorkingKeyAlgorithm,
} from './key-table.ts';
import {
  createEncryptedEntry,
  readOrCreateSoftwareMasterKey,
  readStoredEntries,
  requireKeyLength,
  softwareHsmDirectory,
  softwareKeysFile,
  softwareMasterKeyFile,
  writeFileAtomically,
  writeStoredEntries,
} from './software-key-storage.ts';

export type CeremonyKey = {
  readonly name: string;
  readonly usage: KeyUsage;
  readonly algorithm: KeyAlgorithm;
  /** For a base derivation key: the prefixes of its devices' serial numbers. */
  readonly devices: readonly string[];
  /** For a base derivation key: the algorithm of its devices' working keys. */
  readonly derivation?: WorkingKeyAlgorithm;
  /** The number of components, each from another person. */
  readonly of: number;
};

export type ComponentInput = {
  readonly custodian: string;
  readonly passphrase: string;
  readonly component: Buffer;
  /** The documented check value of the whole key; another one discards all components. */
  readonly checkValue?: string;
};

export type ComponentResult = {
  readonly componentCheckValue: string;
  readonly entered: number;
  readonly of: number;
  /** The check value of the whole key, after the last component. */
  readonly checkValue?: string;
};

type Custodian = { readonly name: string; readonly salt: string; readonly hash: string };
type Component = { readonly custodian: string; readonly sealed: string };
type PendingKey = CeremonyKey & { readonly components: readonly Component[] };
type CeremonyState = {
  readonly custodians: readonly Custodian[];
  readonly pending: readonly PendingKey[];
};

export type KeyCeremony = {
  addCustodian(name: string, passphrase: string): void;
  /** @throws CeremonyError */
  addComponent(key: CeremonyKey, input: ComponentInput): ComponentResult;
  list(): { keys: readonly KeyEntry[]; pending: readonly (CeremonyKey & { entered: number })[] };
  /** Deletes a key, or the components of an incomplete key. */
  remove(name: string): void;
};

/** A fault that a person can correct; its message contains no component, key or passphrase. */
export class CeremonyError extends Error {
  override name = 'CeremonyError';
}

const componentsMin = 2;
const componentsMax = 5;
const passphraseMinLength = 12;
const distinctBytesMin = 4;
const saltBytes = 16;
const hashBytes = 32;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const hashPassphrase = (passphrase: string, salt: string): Buffer =>
  scryptSync(passphrase.normalize('NFKC'), Buffer.from(salt, 'base64'), hashBytes);

const componentContext = (name: string, custodian: string): string =>
  `hsm-component|${name}|${custodian}`;

function requireThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new CeremonyError(message);
}

function readState(file: string): CeremonyState {
  if (!existsSync(file)) return { custodians: [], pending: [] };
  // The platform writes this file whole; an edit only makes the components undecryptable.
  return JSON.parse(readFileSync(file, 'utf8')) as CeremonyState;
}

const isSameKey = (one: CeremonyKey, other: CeremonyKey): boolean =>
  one.usage === other.usage &&
  one.algorithm === other.algorithm &&
  one.of === other.of &&
  one.devices.join() === other.devices.join() &&
  one.derivation === other.derivation;

/** A weak component would leave the secrecy of the key to the other components. */
function requireValidComponent(component: Buffer, algorithm: KeyAlgorithm): void {
  try {
    requireKeyLength(component, algorithm);
  } catch (error) {
    if (error instanceof HsmError)
      throw new CeremonyError('a component must have the length of the key');
    throw error;
  }
  requireThat(new Set(component).size >= distinctBytesMin, 'the component is not random');
}

/** Builds the entry of a key; a weak key discards all components. */
function createStrongEntry(...args: Parameters<typeof createEncryptedEntry>): KeyEntry {
  try {
    return createEncryptedEntry(...args);
  } catch (error) {
    if (!(error instanceof HsmError)) throw error;
    throw new CeremonyError(`${error.message}: all components are discarded`);
  }
}

/** @example const ceremony = createKeyCeremony(dataDir); ceremony.addCustodian('alice', passphrase); */
export function createKeyCeremony(dataDir: string): KeyCeremony {
  const stateFile = join(softwareHsmDirectory(dataDir), 'ceremony.json');
  const keysFile = softwareKeysFile(dataDir);
  const master = readOrCreateSoftwareMasterKey(softwareMasterKeyFile(dataDir));

  const writeState = (state: CeremonyState): void =>
    writeFileAtomically(stateFile, `${JSON.stringify(state, undefined, 2)}\n`);

  function requireCustodian({ custodians }: CeremonyState, name: string, passphrase: string): void {
    const stored = custodians.find((each) => each.name === name);
    // An unknown name takes the same time as a known one.
    const { salt, hash } = stored ?? { salt: 'AAAA', hash: '' };
    const passphraseHash = hashPassphrase(passphrase, salt);
    const storedHash = Buffer.from(hash, 'base64');
    const isCorrect =
      storedHash.length === passphraseHash.length && timingSafeEqual(storedHash, passphraseHash);
    requireThat(isCorrect, 'unknown custodian or wrong passphrase');
  }

  function combineComponents(pending: PendingKey): Buffer {
    const parts = pending.components.map(({ custodian, sealed }) =>
      decryptBytes(
        master,
        Buffer.from(sealed, 'base64'),
        componentContext(pending.name, custodian),
      ),
    );
    const key = Buffer.alloc(parts[0]?.length ?? 0);
    for (const part of parts) {
      for (let at = 0; at < key.length; at += 1) key[at] = (key[at] ?? 0) ^ (part[at] ?? 0);
      part.fill(0);
    }
    return key;
  }

  function finishKey(
    state: CeremonyState,
    pending: PendingKey,
    expected: string | undefined,
  ): string {
    const rest = state.pending.filter(({ name }) => name !== pending.name);
    // The components are used up, even if the key is refused.
    writeState({ ...state, pending: rest });
    const key = combineComponents(pending);
    const { name, usage, algorithm, devices, derivation } = pending;
    const checkValue = keyCheckValue(key, algorithm);
    const isExpected = expected === undefined || expected.toUpperCase() === checkValue;
    const facts = { name, usage, algorithm, devices, ...defined({ derivation }) };
    const entry = createStrongEntry(master, key, facts);
    key.fill(0);
    requireThat(
      isExpected,
      `the key has the check value ${checkValue}, not the documented one: all components are discarded`,
    );
    const entries = [...readStoredEntries(keysFile), entry];
    createKeyTable(entries, keysFile);
    writeStoredEntries(keysFile, entries);
    return checkValue;
  }

  function requirePendingKey(state: CeremonyState, requestedKey: CeremonyKey): PendingKey {
    const { name, of } = requestedKey;
    requireThat(
      of >= componentsMin && of <= componentsMax,
      `${componentsMin} to ${componentsMax} components`,
    );
    const tableEntry = { ...requestedKey, of: undefined, checkValue: '000000', reference: '-' };
    // Applies the rules of the key table before a person enters a component.
    parseKeyTable(JSON.stringify({ keys: [tableEntry] }), 'the key');
    const isKnown = readStoredEntries(keysFile).some((each) => each.name === name);
    requireThat(!isKnown && !name.startsWith('demo-'), `there is a key ${name}`);
    const existing = state.pending.find((each) => each.name === name);
    requireThat(
      existing === undefined || isSameKey(existing, requestedKey),
      `the first component of ${name} was for a key of another type`,
    );
    return existing ?? { ...requestedKey, components: [] };
  }

  return {
    addCustodian(name, passphrase) {
      const state = readState(stateFile);
      requireThat(namePattern.test(name), 'a name has letters, digits, dots, _ and -');
      requireThat(
        !state.custodians.some((each) => each.name === name),
        `there is a custodian ${name}`,
      );
      requireThat(
        passphrase.length >= passphraseMinLength,
        `${passphraseMinLength} characters at least`,
      );
      const salt = randomBytes(saltBytes).toString('base64');
      const hash = hashPassphrase(passphrase, salt).toString('base64');
      writeState({ ...state, custodians: [...state.custodians, { name, salt, hash }] });
    },
    addComponent(requestedKey, { custodian, passphrase, component, checkValue }) {
      const state = readState(stateFile);
      requireCustodian(state, custodian, passphrase);
      const pending = requirePendingKey(state, requestedKey);
      requireThat(
        !pending.components.some((each) => each.custodian === custodian),
        `${custodian} has already entered a component of ${requestedKey.name}: another custodian must enter the next`,
      );
      requireValidComponent(component, requestedKey.algorithm);
      const componentCheckValue = keyCheckValue(component, requestedKey.algorithm);
      const context = componentContext(requestedKey.name, custodian);
      const sealed = encryptBytes(master, component, context).toString('base64');
      component.fill(0);
      const components = [...pending.components, { custodian, sealed }];
      const next: PendingKey = { ...pending, components };
      const others = state.pending.filter(({ name }) => name !== requestedKey.name);
      const result = { componentCheckValue, entered: components.length, of: requestedKey.of };
      if (components.length < requestedKey.of) {
        writeState({ ...state, pending: [...others, next] });
        return result;
      }
      return { ...result, checkValue: finishKey(state, next, checkValue) };
    },
    list() {
      const pending = readState(stateFile).pending.map(({ components, ...requestedKey }) => ({
        ...requestedKey,
        entered: components.length,
      }));
      return { keys: readStoredEntries(keysFile), pending };
    },
    remove(name) {
      const state = readState(stateFile);
      const entries = readStoredEntries(keysFile);
      const isPending = state.pending.some((each) => each.name === name);
      requireThat(
        isPending || entries.some((each) => each.name === name),
        `there is no key ${name}`,
      );
      if (isPending) {
        writeState({ ...state, pending: state.pending.filter((each) => each.name !== name) });
      } else {
        writeStoredEntries(
          keysFile,
          entries.filter((each) => each.name !== name),
        );
      }
    },
  };
}
