// The data directory of the embedded PostgreSQL: access for its account, and the directory of its socket.
import { chown, lstat, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Account, canEnter } from './server-account.ts';

/** Linux limits socket addresses to 108 bytes including the terminator, macOS to 104. */
const maxSocketPathBytes = 103;
export const socketName = '.s.PGSQL.5432';
/**
 * The working directory of a process. The server inherits it from this process, which runs as root,
 * so the account needs no access to the directories above, such as /root.
 */
export const workingDirectoryPath = '/proc/self/cwd';

export type DataDirectory = {
  home: string;
  account: Account;
  /** True if the account can access the directory by its path. Otherwise the server uses its working directory. */
  isAccessible: boolean;
};

export async function openDataDirectory(
  dataDir: string,
  accountFor: (clusterDir: string) => Promise<Account>,
): Promise<DataDirectory> {
  const home = resolve(dataDir);
  // 0711: the account of the server must pass through and need not list. This process owns the directory.
  await mkdir(home, { recursive: true, mode: 0o711 });
  const account = await accountFor(join(home, 'data'));
  const isAccessible = await canEnter(account, home);
  if (!isAccessible && !(await exists(workingDirectoryPath))) {
    throw new Error(`the account ${account?.uid}, which runs PostgreSQL, cannot access ${home}`);
  }
  return { home, account, isAccessible };
}

/** Creates the directory with mode 0700 and gives it to the account. */
export async function createOwnedDirectory(directory: string, account: Account): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account !== undefined) await chown(directory, account.uid, account.gid);
}

/**
 * In the data directory. If that path is too long for a socket, or the account cannot access it: in
 * the temporary directory, recorded in a file so that a start after a crash uses it again.
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

/** Removes a temporary socket directory together with its server. The one in the data directory stays. */
export async function removeSocketDirectory(home: string, directory: string): Promise<void> {
  if (directory === join(home, 'socket')) return;
  await rm(directory, { recursive: true, force: true });
  await rm(join(home, socketNoteFile), { force: true });
}

/** True if only the account can have created it: temporary directories are writable for all. */
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
