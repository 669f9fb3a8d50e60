// What the built portal is made from: one hash over it tells whether a build is still the right one.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

/** Its own files, the values that it computes with, and the exact packages. */
const patterns = [
  'packages/portal/{src,public}/**/*',
  'packages/portal/*.{html,ts,json}',
  'packages/{money,nexo}/src/**/*.ts',
  'packages/{contract,money,nexo}/package.json',
  'package-lock.json',
];
const isNoSource = (path: string) => /\.test\.tsx?$/.test(path);

/** Of the files as they stand now, with their names. */
export function sourcesHash(root: string): string {
  const entries = globSync(patterns, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !isNoSource(path))
    .toSorted();
  const whole = createHash('sha256');
  for (const path of entries) {
    const name = path.slice(root.length).split(sep).join('/');
    const digest = createHash('sha256').update(readFileSync(path)).digest('hex');
    whole.update(`${name} ${digest}\n`);
  }
  return whole.digest('hex');
}
