/** Reads and writes small files that only their owner can read. */
import {
  chmodSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describeFileError, fail } from '../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';

const ownerOnly = 0o600;
const ownerFolder = 0o700;
const groupAndOthers = 0o077;

/** SWITCHYARD_CLI_HOME, else the folder of the XDG Base Directory Specification. */
export function configFolder({ env }: Pick<RuntimeEnvironment, 'env'>): string {
  if (env['SWITCHYARD_CLI_HOME']) return env['SWITCHYARD_CLI_HOME'];
  if (env['XDG_CONFIG_HOME']) return join(env['XDG_CONFIG_HOME'], 'switchyard');
  if (env['APPDATA'] && process.platform === 'win32') return join(env['APPDATA'], 'switchyard');
  return join(env['HOME'] || homedir(), '.config', 'switchyard');
}

/** Writes a temporary file and renames it: a reader never sees a part of the text. */
export function writePrivateFile(file: string, text: string): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: ownerFolder });
  const temporaryFile = `${file}.${process.pid}`;
  writeFileSync(temporaryFile, text, { mode: ownerOnly });
  chmodSync(temporaryFile, ownerOnly);
  renameSync(temporaryFile, file);
}

/** As `writePrivateFile`, but returns false if the file exists. */
export function createPrivateFile(file: string, text: string): boolean {
  const temporaryFile = `${file}.${process.pid}.first`;
  writePrivateFile(temporaryFile, text);
  try {
    linkSync(temporaryFile, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    unlinkSync(temporaryFile);
  }
}

/** undefined if the file does not exist. Removes the permissions of other users first. */
export function readPrivateFile(file: string): string | undefined {
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & groupAndOthers) !== 0)
      chmodSync(file, ownerOnly);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    return fail('fault', `${file} cannot be read: ${(error as Error).message}`);
  }
}

export function deletePrivateFile(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Reads a file that the user named on the command line or in a profile. */
export function readInputFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${describeFileError(error)}.`);
  }
}

/** Opens a new file that only its owner can read. It never overwrites one: that may be the only copy of a secret. */
export function openNewFile(file: string): number {
  try {
    return openSync(file, 'wx', ownerOnly);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return fail(
      'usage',
      code === 'EEXIST'
        ? `${file} exists already. Name a new file.`
        : `${file} cannot be written: ${code}.`,
    );
  }
}

export function createNewFile(file: string, text: string): void {
  const opened = openNewFile(file);
  writeFileSync(opened, text);
  closeSync(opened);
}
