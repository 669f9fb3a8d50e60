// Places the embedded database: where its files are, where its socket is, and how a process there is known.
import { chown, lstat, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Account, canEnter } from './server-account.ts';

/** Linux cuts socket addresses at 108 bytes, one of them the end mark; macOS at 104. */
const maxSocketPathBytes = 103;
export const socketName = '.s.PGSQL.5432';
/**
 * The working directory of whoever asks, which we enter as root for the server: it needs no permission for
 * the directories above, so data below /root or in a private directory stays where it is.
 */
export const workingDirectoryPath = '/proc/self/cwd';

export type DataDirectory = {
  home: string;
  account: Account;
  /** Whether the account reaches the directory by its path; it is served as `here` otherwise. */
  isAccessible: boolean;
};

export async function openDataDirectory(
  dataDir: string,
  accountFor: (clusterDir: string) => Promise<Account>,
): Promise<DataDirectory> {
  const home = resolve(dataDir);
  // 0711: the server's account has to pass through, and need not list. The directory stays ours.
  await mkdir(home, { recursive: true, mode: 0o711 });
  const account = await accountFor(join(home, 'data'));
  const isAccessible = await canEnter(account, home);
  if (!isAccessible && !(await exists(workingDirectoryPath))) {
    throw new Error(`user ${account?.uid}, who runs PostgreSQL, cannot enter ${home}`);
  }
  return { home, account, isAccessible };
}

/** Made with mode 0700 and given to the account. */
export async function createOwnedDirectory(directory: string, account: Account): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account !== undefined) await chown(directory, account.uid, account.gid);
}

/**
 * Beside the data; in the directory for temporary files where that path is too long for a socket or not
 * open to the account. The short one is noted, so that a start after a crash uses it again.
 */
export async function ensureSocketDirectory({
  home,
  account,
  isAccessible,
}: DataDirectory): Promise<string> {
  const beside = join(home, 'socket');
  if (isAccessible && Buffer.byteLength(join(beside, socketName)) <= maxSocketPathBytes) {
    await createOwnedDirectory(beside, account);
    return beside;
  }
  const noteFile = join(home, socketNoteFile);
  const notedDirectory = await readFile(noteFile, 'utf8').catch(() => '');
  if (notedDirectory !== '' && (await isPrivate(notedDirectory, account))) return notedDirectory;
  const base = (await canEnter(account, tmpdir())) ? tmpdir() : '/tmp';
  const shortDirectory = await mkdtemp(join(base, 'switchyard-socket-'));
  await createOwnedDirectory(shortDirectory, account);
  await writeFile(noteFile, shortDirectory);
  return shortDirectory;
}

const socketNoteFile = 'socket-directory';

/** The short directory goes with its server; the one beside the data stays. */
export async function removeSocketDirectory(home: string, directory: string): Promise<void> {
  if (directory === join(home, 'socket')) return;
  await rm(directory, { recursive: true, force: true });
  await rm(join(home, socketNoteFile), { force: true });
}

/** Nobody else can have put it there: temporary directories are open to all. */
async function isPrivate(directory: string, account: Account): Promise<boolean> {
  const stats = await lstat(directory).catch(() => undefined);
  const uid = account?.uid ?? process.getuid?.();
  return stats?.isDirectory() === true && stats.uid === uid && (stats.mode & 0o777) === 0o700;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
