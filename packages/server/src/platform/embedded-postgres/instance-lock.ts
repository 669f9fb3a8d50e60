// Which process starts and stops the embedded database; others on the same data use it as guests.
import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMarkAlive, processMark } from '../process/process-identity.ts';

/** In `file` stands who owns the place, or would; undefined where that is nobody yet. */
type Turn = { readonly file: string; readonly mark: string | undefined };

const heirPrefix = 'owner.after-';
/** `turn`: two marks can say the same where a loss of power left no word of them. */
const heirFile = (home: string, turn: number, mark: string): string =>
  join(home, `${heirPrefix}${turn}-${mark.replace(/\D+/g, '-').slice(0, 40)}`);

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function readMark(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}

/** From the owner over the heirs of the dead to who lives, or to the first free turn. */
async function readTurns(home: string): Promise<{ last: Turn; isTaken: boolean }> {
  let file = join(home, 'owner');
  for (let turn = 0; ; turn += 1) {
    const mark = await readMark(file);
    if (mark === undefined) return { last: { file, mark }, isTaken: false };
    if (isMarkAlive(mark)) return { last: { file, mark }, isTaken: true };
    file = heirFile(home, turn, mark);
  }
}

/** A link is there with all that it says, or not at all, and never takes the place of another. */
async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Only by who owns the place: whoever has just linked one of them looks who that is. */
async function dropHeirs(home: string): Promise<void> {
  const heirs = (await readdir(home)).filter((name) => name.startsWith(heirPrefix));
  await Promise.all(heirs.map((name) => rm(join(home, name), { force: true })));
}

/** With a file of its own that holds its mark. */
async function claimWith(home: string, own: string): Promise<boolean> {
  const owner = join(home, 'owner');
  for (;;) {
    const { last, isTaken } = await readTurns(home);
    if (isTaken) return false;
    if (!(await isLinked(own, last.file))) continue;
    if (last.file === owner) return true;
    // Whoever was faster has taken the place before it cleared the turns away: this one may lead nowhere by now.
    if ((await readTurns(home)).last.file === last.file) {
      await rename(own, owner);
      await dropHeirs(home);
      return true;
    }
    await rm(last.file, { force: true });
  }
}

/**
 * One process owns the place while it lives. The mark of a dead one is never taken away, since it may be
 * another's by then: each has one heir at most, who puts its own mark in its place.
 */
export async function claimOwnership(home: string): Promise<boolean> {
  if ((await readTurns(home)).isTaken) return false;
  // A name of its own: one that a kill has left may be the owner's file by another name.
  const own = join(home, `owner.new-${randomUUID()}`);
  await writeFile(own, processMark(process.pid));
  try {
    return await claimWith(home, own);
  } finally {
    await rm(own, { force: true });
  }
}

export async function dropOwnership(home: string): Promise<void> {
  await rm(join(home, 'owner'), { force: true });
}
