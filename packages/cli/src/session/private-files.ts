/** Keeps small files that are for their owner alone. */
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fail, reasonOf } from '../runtime/command-error.ts';
import type { World } from '../runtime/runtime-environment.ts';

const ownerOnly = 0o600;
const ownerFolder = 0o700;
const others = 0o077;

/** After the XDG Base Directory Specification; SWITCHYARD_CLI_HOME says otherwise. */
export function configFolder({ env }: Pick<World, 'env'>): string {
  if (env['SWITCHYARD_CLI_HOME']) return env['SWITCHYARD_CLI_HOME'];
  if (env['XDG_CONFIG_HOME']) return join(env['XDG_CONFIG_HOME'], 'switchyard');
  if (env['APPDATA'] && process.platform === 'win32') return join(env['APPDATA'], 'switchyard');
  return join(env['HOME'] || homedir(), '.config', 'switchyard');
}

/** Under another name first: whoever reads it meanwhile never sees half of it. */
export function writePrivate(file: string, text: string): void {
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true, mode: ownerFolder });
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text, { mode: ownerOnly });
  chmodSync(unfinished, ownerOnly);
  renameSync(unfinished, file);
}

/** As `writePrivate`, where nothing of that name is there yet; false where something is. */
export function keepFirst(file: string, text: string): boolean {
  const beside = `${file}.${process.pid}.first`;
  writePrivate(beside, text);
  try {
    linkSync(beside, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    unlinkSync(beside);
  }
}

/** undefined where there is no such file; one that others can read is closed to them first. */
export function readPrivate(file: string): string | undefined {
  try {
    if (process.platform !== 'win32' && (statSync(file).mode & others) !== 0)
      chmodSync(file, ownerOnly);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    return fail('fault', `${file} cannot be read: ${(error as Error).message}`);
  }
}

export function removePrivate(file: string): void {
  try {
    unlinkSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** A file that the user named; the fault names it too. */
export function readNamed(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${reasonOf(error)}.`);
  }
}
