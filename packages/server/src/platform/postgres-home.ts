// Places the embedded database: where its files are, where its socket is, and which process owns it.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  access,
  chown,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Account, canEnter } from './postgres-account.ts';

/** Linux cuts socket addresses at 108 bytes, one of them the end mark; macOS at 104. */
const socketPathBytesMax = 103;
export const socketName = '.s.PGSQL.5432';
/** Where root's data goes when the server's account cannot enter the data directory, such as below /root. */
const sharedPlace = '/var/lib';

/** The directory of the cluster: the one asked for, or the one noted in it. */
export async function openHome(
  dataDir: string,
  accountFor: (clusterDir: string) => Promise<Account>,
): Promise<{ home: string; account: Account }> {
  const asked = resolve(dataDir);
  // 0711 for those above: the server's account has to pass through, and need not list.
  await mkdir(asked, { recursive: true, mode: 0o711 });
  const note = join(asked, 'location');
  const noted = await readFile(note, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
  const home = noted ?? asked;
  const account = await accountFor(join(home, 'data'));
  await ownedDirectory(home, account);
  if (await canEnter(account, home)) return { home, account };
  const elsewhere = join(
    await access(sharedPlace).then(() => sharedPlace, tmpdir),
    `switchyard-${randomBytes(8).toString('hex')}`,
  );
  await ownedDirectory(elsewhere, account);
  await writeFile(note, `${elsewhere}\n`, { flush: true });
  return { home: elsewhere, account };
}

/** Made with mode 0700 and given to the account. */
export async function ownedDirectory(directory: string, account: Account): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account !== undefined) await chown(directory, account.uid, account.gid);
}

/** Beside the data; in the directory for temporary files where that path is too long for a socket. */
export async function socketDirectory(home: string, account: Account): Promise<string> {
  const beside = join(home, 'socket');
  if (Buffer.byteLength(join(beside, socketName)) <= socketPathBytesMax) {
    await ownedDirectory(beside, account);
    return beside;
  }
  const short = await mkdtemp(join(tmpdir(), 'switchyard-'));
  await ownedDirectory(short, account);
  return short;
}

/** The short directory goes with its server; the one beside the data stays. */
export async function dropSocketDirectory(home: string, directory: string): Promise<void> {
  if (directory !== join(home, 'socket')) await rm(directory, { recursive: true, force: true });
}

/**
 * One process starts and stops the server; others on the same data use it as guests. The mark of a process
 * that is dead counts for nothing.
 */
export async function claimOwnership(home: string): Promise<boolean> {
  const file = join(home, 'owner');
  const mine = await processMark(process.pid);
  for (;;) {
    try {
      await writeFile(file, mine, { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const theirs = await readFile(file, 'utf8').catch(() => '');
    const pid = Number(theirs.split(' ')[0]);
    if (theirs !== '' && (await processMark(pid)) === theirs) return false;
    // Renamed before it is removed: of two that see the same dead owner only one gets past this line.
    const dead = `${file}.dead-${process.pid}`;
    await rename(file, dead).catch(() => {});
    await rm(dead, { force: true });
  }
}

export async function dropOwnership(home: string): Promise<void> {
  await rm(join(home, 'owner'), { force: true });
}

/** Process id and, where the system tells it, the time of its start: ids come again. */
async function processMark(pid: number): Promise<string> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const startedAt = status?.slice(status.lastIndexOf(')') + 2).split(' ')[19];
  if (startedAt !== undefined) return `${pid} ${startedAt}`;
  return (await exists('/proc/self')) || !isAlive(pid) ? '' : `${pid} `;
}

/** A process that has ended but was not yet collected by its parent is as good as gone. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return status.charAt(status.lastIndexOf(')') + 2) !== 'Z';
  } catch {
    // No such file system here, or it ended just now, which the next look tells.
    return true;
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
