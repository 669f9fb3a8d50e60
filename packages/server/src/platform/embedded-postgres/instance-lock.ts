// Which process starts and stops the embedded database; others on the same data use it as guests.
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSameProcessAlive, readProcessIdentity } from '../process/process-identity.ts';

/** In `file` stands who owns the place, or would; undefined where that is nobody yet. */
type LockFile = { readonly file: string; readonly identity: string | undefined };

const successorPrefix = 'owner.after-';
/** `turn`: two marks can say the same where a loss of power left no word of them. */
const successorFile = (home: string, index: number, identity: string): string =>
  join(home, `${successorPrefix}${index}-${identity.replace(/\D+/g, '-').slice(0, 40)}`);

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function readIdentity(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}

/** From the owner over the heirs of the dead to who lives, or to the first free turn. */
async function readLockChain(home: string): Promise<{ last: LockFile; isHeld: boolean }> {
  let file = join(home, 'owner');
  for (let index = 0; ; index += 1) {
    const identity = await readIdentity(file);
    if (identity === undefined) return { last: { file, identity }, isHeld: false };
    if (isSameProcessAlive(identity)) return { last: { file, identity }, isHeld: true };
    file = successorFile(home, index, identity);
  }
}

/** A link is there with all that it says, or not at all, and never takes the place of another. */
async function linkUnlessExists(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Only by who owns the place: whoever has just linked one of them looks who that is. */
async function removeSuccessors(home: string): Promise<void> {
  const successors = (await readdir(home)).filter((name) => name.startsWith(successorPrefix));
  await Promise.all(successors.map((name) => rm(join(home, name), { force: true })));
}

/** With a file of its own that holds its mark. */
async function acquireWith(home: string, ownFile: string): Promise<boolean> {
  const owner = join(home, 'owner');
  for (;;) {
    const { last, isHeld } = await readLockChain(home);
    if (isHeld) return false;
    if (!(await linkUnlessExists(ownFile, last.file))) continue;
    if (last.file === owner) return true;
    // Whoever was faster has taken the place before it cleared the turns away: this one may lead nowhere by now.
    if ((await readLockChain(home)).last.file === last.file) {
      await rename(ownFile, owner);
      await removeSuccessors(home);
      return true;
    }
    await rm(last.file, { force: true });
  }
}

/**
 * One process owns the place while it lives. The mark of a dead one is never taken away, since it may be
 * another's by then: each has one heir at most, who puts its own mark in its place.
 */
export async function acquireInstanceLock(home: string): Promise<boolean> {
  if ((await readLockChain(home)).isHeld) return false;
  // A name of its own: one that a kill has left may be the owner's file by another name.
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
