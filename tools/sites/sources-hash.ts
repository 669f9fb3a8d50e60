// The hash of the sources of a site: a build is current while the hash is the same.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

const isTest = (path: string) => /\.test\.tsx?$/.test(path);

/** Hashes the contents and names of the files that match the patterns, except tests. */
export function sourcesHash(root: string, patterns: readonly string[]): string {
  const paths = globSync(patterns, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !isTest(path))
    .toSorted();
  const whole = createHash('sha256');
  for (const path of paths) {
    const name = path.slice(root.length).split(sep).join('/');
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex');
    whole.update(`${name} ${digest}\n`);
  }
  return whole.digest('hex');
}
