// What lies in the tarball of a package: its JavaScript, and everything that it needs beside it.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { defined } from '@switchyard/contract';
import { root } from '../test-runner/static-checks.ts';
import type { Built, Sources } from './build.ts';
import type { PackedFile } from './tarball.ts';

/** The packages that are handed to others; those that they need go with them. */
export const packed = ['contract', 'nexo', 'sdk-pos', 'sdk-provider', 'sdk-device', 'cli'] as const;

const scope = '@switchyard/';
const leastNode = '>=20';

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
};

const folderOf = (name: string): string =>
  name.startsWith(scope)
    ? join(root, 'packages', name.slice(scope.length))
    : join(root, 'node_modules', name);

function manifestOf(name: string): Manifest {
  return JSON.parse(readFileSync(join(folderOf(name), 'package.json'), 'utf8'));
}

/** Every package that one needs to run, itself left out. */
export function needsOf(name: string, known: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  let all = known;
  for (const next of Object.keys(manifestOf(name).dependencies ?? {})) {
    if (!all.has(next)) all = needsOf(next, new Set([...all, next]));
  }
  return all;
}

/** Where the compiler begins: what packages export, and the programs of commands. */
export function sourcesOf(names: readonly string[]): Sources {
  const doors: Record<string, string> = {};
  const programs: string[] = [];
  for (const name of names) {
    const { exports: exported = {}, bin } = manifestOf(name);
    const folder = `packages/${name.slice(scope.length)}`;
    for (const [door, file] of Object.entries(exported)) {
      doors[join(name, door)] = join(folder, file);
    }
    if (bin !== undefined) programs.push(`${folder}/src/main.ts`);
  }
  return { doors, entries: [...Object.values(doors), ...programs] };
}

/** `./src/index.ts` of the source is `./dist/index.js`, with its declarations beside it. */
function doorsOf(exported: Readonly<Record<string, string>>): Record<string, unknown> {
  const doors = Object.entries(exported).map(([door, source]) => {
    const base = source.replace(/^\.\/src\/(.+)\.ts$/, './dist/$1');
    if (base === source) throw new Error(`${source} is no door of a package`);
    return [door, { types: `${base}.d.ts`, default: `${base}.js` }];
  });
  return Object.fromEntries(doors);
}

function packedManifest(name: string, bundled: readonly string[]): Record<string, unknown> {
  const { exports: doors, ...manifest } = manifestOf(name);
  const { version, description, license, bin, dependencies } = manifest;
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    ...defined({ exports: doors === undefined ? undefined : doorsOf(doors), bin, dependencies }),
    ...(bundled.length === 0 ? {} : { bundleDependencies: bundled }),
    engines: { node: leastNode },
  };
}

function filesIn(folder: string): PackedFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, path: name.split(sep).join('/') }))
    .filter(({ name, path }) => {
      return !/(?:^|\/)node_modules\//.test(`${path}/`) && statSync(join(folder, name)).isFile();
    })
    .map(({ name, path }) => ({ path, bytes: readFileSync(join(folder, name)) }));
}

/** Files that users read, and those of a command that are JavaScript already. */
function asTheyAre(name: string): PackedFile[] {
  const folder = folderOf(name);
  const bin = existsSync(join(folder, 'bin')) ? filesIn(join(folder, 'bin')) : [];
  const readme = join(folder, 'README.md');
  return [
    { path: 'LICENSE', bytes: readFileSync(join(root, 'LICENSE')) },
    ...(existsSync(readme) ? [{ path: 'README.md', bytes: readFileSync(readme) }] : []),
    ...bin.map(({ path, bytes }) => ({ path: `bin/${path}`, bytes, isExecutable: true })),
  ];
}

function ownFiles(name: string, built: Built, bundled: readonly string[]): PackedFile[] {
  const compiled = built.get(name.slice(scope.length)) ?? [];
  if (compiled.length === 0) throw new Error(`nothing of ${name} was compiled`);
  const manifest = `${JSON.stringify(packedManifest(name, bundled), undefined, 2)}\n`;
  const head = { path: 'package.json', bytes: Buffer.from(manifest) };
  return [head, ...asTheyAre(name), ...compiled];
}

/**
 * The package with all that it needs below `node_modules`: it is installed without a registry, where
 * somebody else could hold the names of ours.
 */
export function contentOf(name: string, built: Built): PackedFile[] {
  const needs = [...needsOf(name)].toSorted();
  const beside = needs.flatMap((need) => {
    const files = need.startsWith(scope) ? ownFiles(need, built, []) : filesIn(folderOf(need));
    return files.map((file) => ({ ...file, path: `node_modules/${need}/${file.path}` }));
  });
  return [...ownFiles(name, built, needs), ...beside];
}

export const fullName = (short: string): string => scope + short;

/** As npm names it. */
export function tarballName(name: string): string {
  return `${name.replace('@', '').replace('/', '-')}-${manifestOf(name).version}.tgz`;
}
