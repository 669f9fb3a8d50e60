// Packs the published packages, and prints their files and hashes.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPackages } from './build.ts';
import {
  createPackageFiles,
  findDependencies,
  findSource,
  fullName,
  publishedPackages,
  tarballName,
} from './packages.ts';
import { createTarball } from './tarball.ts';

export type Tarball = { readonly name: string; readonly file: string; readonly sha256: string };

const usage = `npm run pack [-- --out <folder>]

Packs the packages contract, nexo, cli and the SDKs as tarballs for Node 20.3 and later. Each tarball
contains all its dependencies, so npm install <file> works without a registry.

  --out <folder>   output folder of the tarballs (dist)
`;

/** @example const [contract] = await pack('dist'); */
export async function pack(folder: string): Promise<Tarball[]> {
  const names = publishedPackages.map(fullName);
  const packageNames = names.flatMap((name) => [name, ...findDependencies(name)]).filter(isOwn);
  const built = await buildPackages(names, [...new Set(packageNames)].map(findSource));
  mkdirSync(folder, { recursive: true });
  return [...built].map(([name, content]) => {
    const bytes = createTarball(createPackageFiles(name, content));
    const file = join(folder, tarballName(name));
    writeFileSync(file, bytes);
    return { name, file, sha256: createHash('sha256').update(bytes).digest('hex') };
  });
}

function isOwn(name: string): boolean {
  return name.startsWith(fullName(''));
}

type Output = { write(text: string): unknown };

/** @returns the exit code */
export async function runPack(
  args: readonly string[],
  stdout: Output,
  stderr: Output,
): Promise<number> {
  let out: string;
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { out: { type: 'string', default: 'dist' }, help: { type: 'boolean' } },
    });
    if (values.help === true) {
      stdout.write(usage);
      return 0;
    }
    ({ out } = values);
  } catch (error) {
    stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  for (const { file, sha256 } of await pack(resolve(out))) stdout.write(`${sha256}  ${file}\n`);
  return 0;
}
