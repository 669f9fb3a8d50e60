// The files that differ from a commit, with those that are not committed yet, as `npm test -- --changed` takes them.
import { execFileSync } from 'node:child_process';

const outputMaxBytes = 64 * 1024 * 1024;

/**
 * @param root the folder of the repository
 * @param since a branch, tag or commit; the files are compared with the newest commit that it shares with HEAD
 * @returns paths from the root, deleted files included
 * @throws Error with git's words when `since` names no commit
 */
export function changedFiles(root: string, since: string): string[] {
  const base = git(root, 'merge-base', since, 'HEAD')[0] ?? since;
  const changed = git(root, 'diff', '--name-only', '--no-renames', base);
  const added = git(root, 'ls-files', '--others', '--exclude-standard');
  return [...new Set([...changed, ...added])].toSorted();
}

function git(root: string, ...args: string[]): string[] {
  const output = execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: outputMaxBytes,
  });
  return output.split('\n').filter((line) => line !== '');
}
