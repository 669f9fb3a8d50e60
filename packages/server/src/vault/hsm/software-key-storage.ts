// Encrypts the keys of the software HSM under a local master key, bound to name and purpose.
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { defined } from '@switchyard/contract';
import {
  keyCheckValue,
  PinError,
  type WorkingAlgorithm,
  workingAlgorithmOf,
} from '@switchyard/pin';
import { decryptBytes, encryptBytes } from '../../platform/index.ts';
import { type DukptScheme, HsmError, type KeyAlgorithm, type KeyUsage } from './hsm-types.ts';
import {
  getWorkingKeyAlgorithm,
  type KeyEntry,
  KeyTableError,
  loadKeyTable,
  type WorkingKeyAlgorithm,
} from './key-table.ts';

const masterBytes = 32;
const directory = 'hsm';
const keyLengths = { Tdes: [16, 24], Aes: [16, 24, 32] } as const;

export const softwareHsmDirectory = (dataDir: string): string => join(dataDir, directory);
export const softwareMasterKeyFile = (dataDir: string): string =>
  join(dataDir, directory, 'master.key');
export const softwareKeysFile = (dataDir: string): string => join(dataDir, directory, 'keys.json');

/** Writes a temporary file and links it; of two parallel starts, the first file stays. */
function createFileOnce(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  const temporaryFile = `${file}.${process.pid}.new`;
  writeFileSync(temporaryFile, text, { mode: 0o600, flush: true });
  try {
    linkSync(temporaryFile, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(temporaryFile, { force: true });
  }
}

/**
 * The local master key of the software HSM, created on first use. Only processes that hold card
 * data read it.
 *
 * @throws KeyTableError if the file is not 32 bytes in base64
 */
export function readOrCreateSoftwareMasterKey(file: string): Buffer {
  if (!existsSync(file)) createFileOnce(file, `${randomBytes(masterBytes).toString('base64')}\n`);
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length !== masterBytes) throw new KeyTableError(`${file} is not 32 bytes in base64`);
  return key;
}

type KeyPurpose = { readonly usage: KeyUsage; readonly algorithm: KeyAlgorithm };

/** The encryption also binds the name, so a key under another name does not decrypt. */
const keyContext = ({ usage, algorithm }: KeyPurpose, name: string): string =>
  `hsm-key|${usage}|${algorithm}|${name}`;

const encryptKeyText = (master: Buffer, key: Buffer, purpose: KeyPurpose, name: string): string =>
  encryptBytes(master, key, keyContext(purpose, name)).toString('base64url');

function decryptKeyText(master: Buffer, text: string, purpose: KeyPurpose, name: string): Buffer {
  try {
    return decryptBytes(master, Buffer.from(text, 'base64url'), keyContext(purpose, name));
  } catch (error) {
    throw new HsmError('KeyNotFound', 'the key does not decrypt', error);
  }
}

/** @throws HsmError `DataInvalid` if the algorithm has no keys of this length */
export function requireKeyLength(key: Uint8Array, algorithm: KeyAlgorithm): void {
  const fits = keyLengths[algorithm].some((length) => length === key.length);
  if (!fits) throw new HsmError('DataInvalid', 'no key has this length');
}

const desBytes = 8;
/** The lowest bit of each byte is parity, and not part of the key. */
const withoutParity = (part: Uint8Array): string =>
  Buffer.from(part.map((byte) => byte & 0xfe)).toString('hex');

/**
 * TDES with two equal neighbouring parts is only single DES, which an attacker can search (ANSI
 * X9.24-1, ISO 11568: each part is random).
 *
 * @throws HsmError `DataInvalid` if the key has a wrong length or such equal parts
 */
export function requireStrongKey(key: Uint8Array, algorithm: KeyAlgorithm): void {
  requireKeyLength(key, algorithm);
  if (algorithm !== 'Tdes') return;
  const parts = Array.from({ length: key.length / desBytes }, (_, at) =>
    withoutParity(key.subarray(at * desBytes, (at + 1) * desBytes)),
  );
  if (parts.some((part, at) => part === parts[at + 1])) {
    throw new HsmError('DataInvalid', 'two parts of the key are equal');
  }
}

const workingAlgorithms = {
  TDES_2KEY: 'tdes2',
  TDES_3KEY: 'tdes3',
  AES_128: 'aes128',
  AES_192: 'aes192',
  AES_256: 'aes256',
} as const satisfies Readonly<Record<WorkingKeyAlgorithm, WorkingAlgorithm>>;

/** The algorithm of the working keys that devices derive from a base derivation key. */
export const getPinWorkingAlgorithm = (entry: KeyEntry): WorkingAlgorithm =>
  workingAlgorithms[getWorkingKeyAlgorithm(entry)];

export const getDukptScheme = ({ algorithm }: KeyPurpose): DukptScheme =>
  algorithm === 'Aes' ? 'DukptAes' : 'DukptTdes';

/** Returns a fault if the working keys would be stronger than their base derivation key. */
export function findDerivationFault(key: Uint8Array, entry: KeyEntry): string | undefined {
  if (entry.usage !== 'BaseDerivation') return undefined;
  try {
    workingAlgorithmOf(key, getDukptScheme(entry), getPinWorkingAlgorithm(entry));
    return undefined;
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
    return `has ${key.length * 8} bits and derives no ${getWorkingKeyAlgorithm(entry)}`;
  }
}

/**
 * Builds the entry of a key for the key file.
 *
 * @throws HsmError `DataInvalid` if the key is weak, or its working keys would be stronger than it
 */
export function createEncryptedEntry(
  master: Buffer,
  key: Buffer,
  facts: KeyPurpose & Pick<KeyEntry, 'name'> & Partial<Pick<KeyEntry, 'devices' | 'derivation'>>,
): KeyEntry {
  const { name, usage, algorithm, devices = [], derivation } = facts;
  requireStrongKey(key, algorithm);
  const checkValue = keyCheckValue(key, algorithm);
  const reference = encryptKeyText(master, key, facts, name);
  const optional = defined({ derivation });
  const entry = { name, usage, algorithm, checkValue, reference, devices, ...optional };
  const fault = findDerivationFault(key, entry);
  if (fault !== undefined) throw new HsmError('DataInvalid', `the key ${name} ${fault}`);
  return entry;
}

/** @throws HsmError `KeyNotFound` if the key does not decrypt */
export const decryptEntry = (master: Buffer, entry: KeyEntry): Buffer =>
  decryptKeyText(master, entry.reference, entry, entry.name);

const referencePattern = /^sealed:([A-Za-z]{1,20})\.(Tdes|Aes)\.([A-Za-z0-9_-]{1,400})$/;

/** The result of `importKey`: the encrypted key as text. */
export const createEncryptedReference = (
  master: Buffer,
  key: Buffer,
  purpose: KeyPurpose,
): string =>
  `sealed:${purpose.usage}.${purpose.algorithm}.${encryptKeyText(master, key, purpose, '')}`;

/** Decrypts such a text; returns undefined if it is the name of a key. */
export function decryptReference(
  master: Buffer,
  ref: string,
): (KeyPurpose & { key: Buffer }) | undefined {
  const [, usage, algorithm, sealed] = referencePattern.exec(ref) ?? [];
  if (usage === undefined || algorithm === undefined || sealed === undefined) return undefined;
  // The encryption binds usage and algorithm, so changed ones do not decrypt.
  const purpose = { usage: usage as KeyUsage, algorithm: algorithm as KeyAlgorithm };
  return { ...purpose, key: decryptKeyText(master, sealed, purpose, '') };
}

/** The keys of key ceremonies; none if there is no file. */
export const readStoredEntries = (file: string): readonly KeyEntry[] =>
  existsSync(file) ? loadKeyTable(file).entries : [];

/**
 * Writes a temporary file and renames it, so that a killed command leaves the old or the new file.
 */
export function writeFileAtomically(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  const temporaryFile = `${file}.${process.pid}.new`;
  writeFileSync(temporaryFile, text, { mode: 0o600, flush: true });
  renameSync(temporaryFile, file);
}

export const writeStoredEntries = (file: string, entries: readonly KeyEntry[]): void =>
  writeFileAtomically(file, `${JSON.stringify({ keys: entries }, undefined, 2)}\n`);
