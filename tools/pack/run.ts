// Packs the packages that are handed to others, and tells where they lie.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.ts';
import { contentOf, fullName, needsOf, packed, sourcesOf, tarballName } from './packages.ts';
import { tarballOf } from './tarball.ts';

export type Tarball = { readonly name: string; readonly file: string; readonly sha256: string };

const usage = `npm run pack [-- --out <folder>]

Packs contract, the kits and cli as tarballs that Node 20 and later run. Each holds everything
that it needs: npm install <file> asks no registry.

  --out <folder>   where they go (dist)
`;

/** @example const [contract] = pack('dist'); */
export function pack(folder: string): Tarball[] {
  const names = packed.map(fullName);
  const own = new Set(names.flatMap((name) => [name, ...needsOf(name)]).filter(isOwn));
  const built = build(sourcesOf([...own]));
  mkdirSync(folder, { recursive: true });
  return names.map((name) => {
    const bytes = tarballOf(contentOf(name, built));
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
export function runPack(args: readonly string[], stdout: Output, stderr: Output): number {
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
  for (const { file, sha256 } of pack(resolve(out))) stdout.write(`${sha256}  ${file}\n`);
  return 0;
}
