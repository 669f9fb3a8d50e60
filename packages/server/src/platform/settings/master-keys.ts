// Reads the master keys of the platform and of the card vault, and creates them in demo and test.
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
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import { ValueError, type ValueReader } from './value-readers.ts';

const keyBytes = 32;
/** A key with fewer distinct bytes is not random. */
const minDistinctBytes = 12;
/** The prefix of demo keys, so that production can refuse copies of them. */
const demoPrefix = 'demo:';
const vaultFile = 'vault.key';
const platformFile = 'platform.key';
/** The vault's key of older versions, when platform and vault shared one key: cards may be encrypted with it. */
const previousVaultFile = 'vault.previous.key';

export type MasterKey = { key: Buffer; demo: boolean };

export const masterKeyReader: ValueReader<MasterKey> = {
  type: '32 bytes in base64 or hex',
  read(text) {
    const demo = text.startsWith(demoPrefix);
    const key = decodeKey(demo ? text.slice(demoPrefix.length) : text);
    if (key === undefined) throw new ValueError('is not 32 bytes in base64 or hex');
    if (new Set(key).size < minDistinctBytes) throw new ValueError('is not a random key');
    return { key, demo };
  },
};

/**
 * Reads the platform's key from the data directory, or creates it. The directory of an older
 * version has only the vault's key: that becomes the platform's key, and the vault gets a new one.
 */
export function readOrCreatePlatformKey(dataDir: string, hasCardsRole: boolean): MasterKey {
  const existing = readKey(dataDir, platformFile);
  if (existing !== undefined) return existing;
  if (existsSync(join(dataDir, vaultFile))) {
    if (!hasCardsRole) {
      throw new ValueError(
        `cannot be created in ${dataDir}, which an older version created: start the platform once with the role cards`,
      );
    }
    linkUnlessExists(join(dataDir, vaultFile), join(dataDir, platformFile));
  }
  return createKey(dataDir, platformFile);
}

/** The current and the previous key of the vault, for processes that handle card data. */
export function readOrCreateVaultKeys(dataDir: string): {
  current: MasterKey;
  previous?: MasterKey;
} {
  const platform = readKey(dataDir, platformFile);
  let current = readKey(dataDir, vaultFile) ?? createKey(dataDir, vaultFile);
  if (platform?.key.equals(current.key) === true) {
    linkUnlessExists(join(dataDir, vaultFile), join(dataDir, previousVaultFile));
    renameSync(writeDraftKey(dataDir, vaultFile), join(dataDir, vaultFile));
    current = readKey(dataDir, vaultFile) ?? current;
  }
  const previous = readKey(dataDir, previousVaultFile);
  return { current, ...defined({ previous }) };
}

/** The demo keys of a data directory, by which production recognises them without their prefix. */
export function readStoredDemoKeys(dataDir: string, hasCardsRole: boolean): MasterKey[] {
  const files = hasCardsRole ? [platformFile, vaultFile, previousVaultFile] : [platformFile];
  return files.map((file) => readKey(dataDir, file)).filter((key) => key !== undefined);
}

/** With mode 0600. Two processes that start at the same time get the same key. */
function createKey(dataDir: string, file: string): MasterKey {
  const draft = writeDraftKey(dataDir, file);
  try {
    linkUnlessExists(draft, join(dataDir, file));
  } finally {
    rmSync(draft, { force: true });
  }
  return masterKeyReader.read(readFileSync(join(dataDir, file), 'utf8').trim());
}

function writeDraftKey(dataDir: string, file: string): string {
  // 0711: the account of the embedded PostgreSQL must pass through and need not list.
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const draft = join(dataDir, `${file}.${process.pid}.new`);
  const text = `${demoPrefix}${randomBytes(keyBytes).toString('base64')}\n`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  return draft;
}

/** If the file exists, it stays. */
function linkUnlessExists(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function readKey(dataDir: string, file: string): MasterKey | undefined {
  const text = readText(join(dataDir, file));
  return text === undefined ? undefined : masterKeyReader.read(text.trim());
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new ValueError(`cannot be read from ${path} (${code})`);
  }
}

function decodeKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  const key = Buffer.from(text, 'base64');
  return key.length === keyBytes ? key : undefined;
}
