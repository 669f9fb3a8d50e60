// Lock on the data directory: one process starts and stops the embedded PostgreSQL, other processes only use it.
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcessAlive, readProcessIdentity } from '../process/process-identity.ts';

/**
 * `file` contains the identity of the process that holds the lock, or is the file that the next
 * holder creates (identity undefined).
 */
type LockFile = { readonly file: string; readonly identity: string | undefined };

const successorPrefix = 'owner.after-';
/** `index` separates two holders whose identities are equal because a power failure left empty files. */
const successorFile = (home: string, index: number, identity: string): string =>
  join(home, `${successorPrefix}${index}-${identity.replace(/\D+/g, '-').slice(0, 40)}`);

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function readIdentity(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Follows the chain of files: from the first holder over the successors of dead holders to a living
 * holder, or to the next free file.
 */
async function readLockChain(home: string): Promise<{ last: LockFile; isHeld: boolean }> {
  let file = join(home, 'owner');
  for (let index = 0; ; index += 1) {
    const identity = await readIdentity(file);
    if (identity === undefined) return { last: { file, identity }, isHeld: false };
    if (isSameProcessAlive(identity)) return { last: { file, identity }, isHeld: true };
    file = successorFile(home, index, identity);
  }
}

/** A hard link appears with its complete content or not at all, and never replaces a file. */
async function linkUnlessExists(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Only the holder may remove them: a process that has just linked a successor file checks the holder of the lock. */
async function removeSuccessors(home: string): Promise<void> {
  const successors = (await readdir(home)).filter((name) => name.startsWith(successorPrefix));
  await Promise.all(successors.map((name) => rm(join(home, name), { force: true })));
}

/** `ownFile` contains the identity of this process. */
async function acquireWith(home: string, ownFile: string): Promise<boolean> {
  const owner = join(home, 'owner');
  for (;;) {
    const { last, isHeld } = await readLockChain(home);
    if (isHeld) return false;
    if (!(await linkUnlessExists(ownFile, last.file))) continue;
    if (last.file === owner) return true;
    // Another process acquired the lock and then removed the successor files: this link may be obsolete.
    if ((await readLockChain(home)).last.file === last.file) {
      await rename(ownFile, owner);
      await removeSuccessors(home);
      return true;
    }
    await rm(last.file, { force: true });
  }
}

/**
 * One process holds the lock while it lives. The file of a dead holder is never deleted, because
 * another process may own it by now. Each dead holder has at most one successor file, whose creator
 * then replaces the first file.
 */
export async function acquireInstanceLock(home: string): Promise<boolean> {
  if ((await readLockChain(home)).isHeld) return false;
  // A unique name: a file left by a killed process may be a hard link to the owner's file.
  const ownFile = join(home, `owner.new-${randomUUID()}`);
  await writeFile(ownFile, readProcessIdentity(process.pid));
  try {
    return await acquireWith(home, ownFile);
  } finally {
    await rm(ownFile, { force: true });
  }
}

export async function releaseInstanceLock(home: string): Promise<void> {
  await rm(join(home, 'owner'), { force: true });
}
