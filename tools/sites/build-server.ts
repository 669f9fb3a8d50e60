// Builds the bundle of the server, from which `npm start` starts while its sources are the same.
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { type BuildDeps, BuildFault, buildAlone, putInPlace } from './build.ts';
import { bundleServer } from './bundle-server.ts';

type ServerBundle = {
  serverBundleFolder: string;
  findServerBundle(root: string): string | undefined;
  hashSources(root: string, sources: readonly string[]): string;
};
const { serverBundleFolder, findServerBundle, hashSources } = createRequire(import.meta.url)(
  './server-bundle.cjs',
) as ServerBundle;

/** Not of a package: package-lock.json is the source of those. */
const isInRepository = (path: string) => !path.startsWith('..') && !path.includes('node_modules');

/** @returns false if the bundle is current */
export async function buildServer({ root, printLine }: BuildDeps): Promise<boolean> {
  const isCurrent = () => findServerBundle(root) !== undefined;
  if (isCurrent()) return false;
  return buildAlone({ key: 'server', name: 'the server' }, root, async () => {
    // Another process may have built it.
    if (isCurrent()) return false;
    const began = performance.now();
    await writeBundle(root);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    printLine(`Built the bundle of the server in ${seconds} s.`);
    return true;
  });
}

async function writeBundle(root: string): Promise<void> {
  // Times of files have fractions of a millisecond.
  const beganAt = Date.now() + 1;
  const made = await mkdtemp(join(root, '.cache', 'server-'));
  try {
    const bundle = await bundleServer(root, made);
    const paths = bundle.sources.map((path) => relative(root, path).split(sep).join('/'));
    const sources = [...paths.filter(isInRepository), 'package-lock.json'];
    for (const name of sources) {
      if ((await stat(join(root, name))).mtimeMs >= beganAt)
        throw new BuildFault(`${name} changed during the build`);
    }
    const manifest = { root, sources, hash: hashSources(root, sources) };
    await writeFile(join(made, 'manifest.json'), JSON.stringify(manifest));
    await putInPlace(made, join(root, serverBundleFolder));
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
