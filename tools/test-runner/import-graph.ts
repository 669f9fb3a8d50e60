// Which files import which, over the whole repository, and which test files a change reaches.
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { SourceFile } from '../architecture-rules/source-files.ts';

/** For each file, from the top of the repository, the files that import it or name it in a text. */
export type Importers = ReadonlyMap<string, ReadonlySet<string>>;

const packagePattern = /^@switchyard\/([a-z0-9-]+)(\/testing)?$/;
/** Texts such as `'../../src/main.ts'` in a test that starts a process, or `docs/how-to/refund.md` in a test of a guide. */
const pathPattern = /['"`]([\w./@-]+\.(?:ts|tsx|cjs|mjs|json|md|sql|html|css))['"`]/g;

/**
 * Reads the importers of every file. Type-only imports count: a changed type can break the importer's test.
 *
 * @param files the repository's source files, tests included
 * @param root the folder of the repository, to look up files that are named in texts
 */
export function readImporters(files: readonly SourceFile[], root: string): Importers {
  const importers = new Map<string, Set<string>>();
  for (const file of files) {
    for (const target of importedFiles(file, root)) {
      const importersOfTarget = importers.get(target);
      if (importersOfTarget === undefined) importers.set(target, new Set([file.path]));
      else importersOfTarget.add(file.path);
    }
  }
  return importers;
}

function importedFiles({ path, text, imports }: SourceFile, root: string): string[] {
  const folder = posix.dirname(path);
  const imported = imports.flatMap(({ from }) => {
    if (from.startsWith('.')) return [posix.join(folder, from)];
    const [, name, testing] = packagePattern.exec(from) ?? [];
    const file = testing === undefined ? 'index.ts' : 'testing.fixture.ts';
    return name === undefined ? [] : [`packages/${name}/src/${file}`];
  });
  const pathsInText = [...text.matchAll(pathPattern)].flatMap(([, name = '']) => [
    posix.join(folder, name),
    posix.normalize(name),
  ]);
  return [...imported, ...pathsInText.filter((name) => existsSync(join(root, name)))];
}

/**
 * The test files that the changed files reach, nearest first: a changed test, the tests that import a changed file,
 * the tests that import an importer, and so on.
 */
export function testsReachedBy(changed: readonly string[], importers: Importers): string[] {
  const reached = new Set(changed);
  for (const path of reached) {
    for (const importer of importers.get(path) ?? []) reached.add(importer);
  }
  return [...reached].filter((path) => path.endsWith('.test.ts'));
}
