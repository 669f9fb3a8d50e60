// Reads the master key of the vault, and makes one for demo and test where none is set.
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Reader, ValueFault } from './setting-values.ts';

const keyBytes = 32;
/** A key of fewer different bytes was typed by a person, not drawn. */
const leastDistinctBytes = 12;
/** Demo keys carry their mark wherever they are copied, so that production can refuse them. */
const demoMark = 'demo:';
const fileName = 'vault.key';

export type VaultKey = { key: Buffer; demo: boolean };

export const vaultKeyReader: Reader<VaultKey> = {
  type: '32 bytes in base64 or hex',
  read(text) {
    const demo = text.startsWith(demoMark);
    const key = decoded(demo ? text.slice(demoMark.length) : text);
    if (key === undefined) throw new ValueFault('is not 32 bytes in base64 or hex');
    if (new Set(key).size < leastDistinctBytes) throw new ValueFault('is not a random key');
    return { key, demo };
  },
};

/** The key in the data directory, made on first use: mode 0600, and the same for two starts at once. */
export function demoVaultKey(dataDir: string): VaultKey {
  const file = join(dataDir, fileName);
  const standing = storedVaultKey(dataDir);
  if (standing !== undefined) return standing;
  // 0711: the account that runs the embedded database has to pass through, and need not list.
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const draft = `${file}.${process.pid}.new`;
  const text = `${demoMark}${randomBytes(keyBytes).toString('base64')}\n`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return vaultKeyReader.read(readFileSync(file, 'utf8').trim());
}

/** The demo key of a data directory, where there is one: also how production knows it without its mark. */
export function storedVaultKey(dataDir: string): VaultKey | undefined {
  try {
    return vaultKeyReader.read(readFileSync(join(dataDir, fileName), 'utf8').trim());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Error(`${join(dataDir, fileName)} cannot be read: ${String(error)}`, {
      cause: error,
    });
  }
}

function decoded(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  const key = Buffer.from(text, 'base64');
  return key.length === keyBytes ? key : undefined;
}
