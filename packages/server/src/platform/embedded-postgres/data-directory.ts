// Places the embedded database: where its files are, where its socket is, and how a process there is known.
import { chown, lstat, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Account, canEnter } from './server-account.ts';

/** Linux cuts socket addresses at 108 bytes, one of them the end mark; macOS at 104. */
const socketPathBytesMax = 103;
export const socketName = '.s.PGSQL.5432';
/**
 * The working directory of whoever asks, which we enter as root for the server: it needs no permission for
 * the directories above, so data below /root or in a private directory stays where it is.
 */
export const here = '/proc/self/cwd';

export type Place = {
  home: string;
  account: Account;
  /** Whether the account reaches the directory by its path; it is served as `here` otherwise. */
  passable: boolean;
};

export async function openHome(
  dataDir: string,
  accountFor: (clusterDir: string) => Promise<Account>,
): Promise<Place> {
  const home = resolve(dataDir);
  // 0711: the server's account has to pass through, and need not list. The directory stays ours.
  await mkdir(home, { recursive: true, mode: 0o711 });
  const account = await accountFor(join(home, 'data'));
  const passable = await canEnter(account, home);
  if (!passable && !(await exists(here))) {
    throw new Error(`user ${account?.uid}, who runs PostgreSQL, cannot enter ${home}`);
  }
  return { home, account, passable };
}

/** Made with mode 0700 and given to the account. */
export async function ownedDirectory(directory: string, account: Account): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (account !== undefined) await chown(directory, account.uid, account.gid);
}

/**
 * Beside the data; in the directory for temporary files where that path is too long for a socket or not
 * open to the account. The short one is noted, so that a start after a crash uses it again.
 */
export async function socketDirectory({ home, account, passable }: Place): Promise<string> {
  const beside = join(home, 'socket');
  if (passable && Buffer.byteLength(join(beside, socketName)) <= socketPathBytesMax) {
    await ownedDirectory(beside, account);
    return beside;
  }
  const note = join(home, socketNote);
  const noted = await readFile(note, 'utf8').catch(() => '');
  if (noted !== '' && (await isPrivate(noted, account))) return noted;
  const base = (await canEnter(account, tmpdir())) ? tmpdir() : '/tmp';
  const short = await mkdtemp(join(base, 'switchyard-socket-'));
  await ownedDirectory(short, account);
  await writeFile(note, short);
  return short;
}

const socketNote = 'socket-directory';

/** The short directory goes with its server; the one beside the data stays. */
export async function dropSocketDirectory(home: string, directory: string): Promise<void> {
  if (directory === join(home, 'socket')) return;
  await rm(directory, { recursive: true, force: true });
  await rm(join(home, socketNote), { force: true });
}

/** Nobody else can have put it there: temporary directories are open to all. */
async function isPrivate(directory: string, account: Account): Promise<boolean> {
  const found = await lstat(directory).catch(() => undefined);
  const uid = account?.uid ?? process.getuid?.();
  return found?.isDirectory() === true && found.uid === uid && (found.mode & 0o777) === 0o700;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
