// The account that runs the embedded PostgreSQL, which refuses to run as root.
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Debian's database account first, because it owns nothing else. `nobody` exists everywhere. */
const candidates = ['postgres', 'nobody'];

/** Undefined: the account of this process. */
export type Account = { uid: number; gid: number } | undefined;

/** As root: the owner of existing data, otherwise the first account of the list that exists. */
export async function serverAccount(clusterDir: string): Promise<Account> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(clusterDir).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of candidates) {
    const [, , uid, gid] = lines.find(([candidate]) => candidate === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('the embedded PostgreSQL does not run as root, and no other account was found');
}

/** True if the account can enter the directory, through all directories above it. */
export async function canEnter(account: Account, directory: string): Promise<boolean> {
  if (account === undefined) return true;
  return runsSuccessfully('/bin/sh', ['-c', 'cd "$0"', directory], account);
}

export async function runsSuccessfully(
  file: string,
  args: string[],
  account: Account,
): Promise<boolean> {
  try {
    await run(file, args, { ...account, cwd: '/' });
    return true;
  } catch {
    return false;
  }
}
