// After all tests: searches the temporary files that they left for the card data that they sent.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createByteSearch } from '../../packages/server/test/support/card-data/byte-search.ts';
import {
  filesBelow,
  findInFile,
  neverStoredMembers,
} from '../../packages/server/test/support/card-data/leak-scan.ts';
import type { TestRunFault } from './run-test-files.ts';

/** The folders of the test runner itself contain the names of the secrets, so they are left out. */
const ownFolderPattern = /^switchyard-(?!secrets-|results-)/;

type SearchedFolder = {
  /** What the test processes noted: name and value, a line each. */
  readonly secretsFile: string;
  /** When the run began, epoch ms. */
  readonly since: number;
  /** Where temporary files lie. */
  readonly folder: string;
  /** The folder of this run, with the secrets in it. */
  readonly exceptFolder: string;
};

export function findCardDataInFiles({
  secretsFile,
  since,
  folder,
  exceptFolder,
}: SearchedFolder): TestRunFault[] {
  if (!existsSync(secretsFile)) return [];
  const lines = readFileSync(secretsFile, 'utf8').split('\n').filter(Boolean);
  const secrets = new Map(
    lines.map((line) => line.split('\t')).map(([name = '', value = '']) => [value, name]),
  );
  const search = createByteSearch(
    [...secrets].map(([value, name]) => [name, value] as const),
    neverStoredMembers,
  );
  return readdirSync(folder)
    .filter((name) => ownFolderPattern.test(name) && join(folder, name) !== exceptFolder)
    .flatMap((name) => filesSince(join(folder, name), since))
    .flatMap((path) => {
      const match = findInFile(search, path);
      if (match === undefined) return [];
      return [{ where: path, text: `card data was left behind: ${match}` }];
    });
}

/** Other runs work in the same folder, and remove what is theirs while we look. */
function filesSince(path: string, since: number): string[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.mtimeMs < since) return [];
  return stats.isDirectory() ? filesBelow(path) : [path];
}
