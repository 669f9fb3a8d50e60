// After all tests: searches the temporary files that they left for the card data that they sent.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createByteSearch } from '../packages/server/test/byte-search.ts';
import { filesBelow, neverStored } from '../packages/server/test/leak-scan.ts';
import type { Fault } from './test-run.ts';

const ours = /^switchyard-/;

type Place = {
  /** What the test processes noted: name and value, a line each. */
  readonly secretsFile: string;
  /** When the run began, epoch ms. */
  readonly since: number;
  /** Where temporary files lie. */
  readonly folder: string;
  /** The run's own, with the secrets in it. */
  readonly but: string;
};

export function leftBehind({ secretsFile, since, folder, but }: Place): Fault[] {
  if (!existsSync(secretsFile)) return [];
  const lines = readFileSync(secretsFile, 'utf8').split('\n').filter(Boolean);
  const secrets = new Map(
    lines.map((line) => line.split('\t')).map(([name = '', value = '']) => [value, name]),
  );
  const search = createByteSearch(
    [...secrets].map(([value, name]) => [name, value] as const),
    neverStored,
  );
  return readdirSync(folder)
    .filter((name) => ours.test(name) && join(folder, name) !== but)
    .map((name) => join(folder, name))
    .filter((path) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= since)
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]))
    .flatMap((path) => {
      const found = search.find(readFileSync(path));
      return found === undefined
        ? []
        : [{ where: path, text: `card data was left behind: ${found}` }];
    });
}
