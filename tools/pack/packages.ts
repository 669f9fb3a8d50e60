// The files of a packed package: manifest, JavaScript, declarations, and the packages that it loads.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { repositoryRoot } from '../repository-root.ts';
import type { BuiltPackage, Source } from './build.ts';
import { inlinedPackage } from './bundle.ts';
import type { PackedFile } from './tarball.ts';

/** The packages that are published. */
export const publishedPackages = [
  'contract',
  'nexo',
  'sdk-pos',
  'sdk-provider',
  'sdk-device',
  'cli',
] as const;

const scope = '@switchyard/';
/** `AbortSignal.any`, the newest function that the packages use, exists since Node 20.3. */
const minimumNode = '>=20.3.0';

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly exports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
};

const packageFolder = (name: string): string =>
  name.startsWith(scope)
    ? join(repositoryRoot, 'packages', name.slice(scope.length))
    : join(repositoryRoot, 'node_modules', name);

function readManifest(name: string): Manifest {
  return JSON.parse(readFileSync(join(packageFolder(name), 'package.json'), 'utf8'));
}

/** All packages that a package needs at run time, without itself. */
export function findDependencies(
  name: string,
  known: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  let all = known;
  for (const next of Object.keys(readManifest(name).dependencies ?? {})) {
    if (!all.has(next)) all = findDependencies(next, new Set([...all, next]));
  }
  return all;
}

export function findSource(name: string): Source {
  const { exports: exported = {}, bin, devDependencies = {} } = readManifest(name);
  const isCommand = bin !== undefined;
  const entries: Manifest['exports'] = isCommand ? { '.': './src/main.ts' } : exported;
  // Support for our tests is never packed.
  const { '.': entry, './testing': _testSupport, ...others } = entries;
  if (entry === undefined || Object.keys(others).length > 0) {
    throw new Error(`${name} exports ${Object.keys(exported)}; a packed package exports "." alone`);
  }
  const external = [...findDependencies(name)].filter(
    (dependency) => !dependency.startsWith(scope) && dependency !== inlinedPackage,
  );
  return {
    name,
    entry: join('packages', name.slice(scope.length), entry),
    isCommand,
    external: [...external, ...Object.keys(devDependencies)],
  };
}

/** Conditions for every kind of program; `main` and `types` are for compilers that read no `exports`. */
const libraryEntry = {
  type: 'commonjs',
  main: './dist/index.js',
  types: './dist/index.d.ts',
  exports: {
    '.': {
      import: { types: './dist/index.d.mts', default: './dist/index.mjs' },
      require: { types: './dist/index.d.ts', default: './dist/index.js' },
    },
    './package.json': './package.json',
  },
};

function createManifest(name: string, bundled: readonly string[]): Record<string, unknown> {
  const { version, description, license, bin } = readManifest(name);
  const dependencies = Object.fromEntries(
    bundled.map((dependency) => [dependency, readManifest(dependency).version]),
  );
  return {
    name,
    version,
    description,
    license,
    ...(bin === undefined ? libraryEntry : { type: 'module', bin }),
    ...(bundled.length === 0 ? {} : { dependencies, bundleDependencies: bundled }),
    engines: { node: minimumNode },
  };
}

function readFiles(folder: string): PackedFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => ({ name, path: name.split(sep).join('/') }))
    .filter(({ name, path }) => {
      return !/(?:^|\/)node_modules\//.test(`${path}/`) && statSync(join(folder, name)).isFile();
    })
    .map(({ name, path }) => ({ path, bytes: readFileSync(join(folder, name)) }));
}

/** Files that users read, and those of a command that are JavaScript already. */
function readCopiedFiles(name: string): PackedFile[] {
  const folder = packageFolder(name);
  const bin = existsSync(join(folder, 'bin')) ? readFiles(join(folder, 'bin')) : [];
  const readme = join(folder, 'README.md');
  return [
    { path: 'LICENSE', bytes: readFileSync(join(repositoryRoot, 'LICENSE')) },
    ...(existsSync(readme) ? [{ path: 'README.md', bytes: readFileSync(readme) }] : []),
    ...bin.map(({ path, bytes }) => ({ path: `bin/${path}`, bytes, isExecutable: true })),
  ];
}

function readInlinedPackageLicense(): PackedFile {
  const { version } = readManifest(inlinedPackage);
  const license = readFileSync(join(packageFolder(inlinedPackage), 'license'), 'utf8');
  const text = `This package contains parts of ${inlinedPackage} ${version}, under this license:\n\n${license}`;
  return { path: 'THIRD-PARTY-LICENSES.txt', bytes: Buffer.from(text) };
}

/**
 * The package, with the packages of others that it loads below `node_modules`: npm installs it without a
 * registry.
 */
export function createPackageFiles(
  name: string,
  { files, imports, containsInlinedPackage }: BuiltPackage,
): PackedFile[] {
  const loaded = imports.filter((dependency) => !dependency.startsWith(scope));
  const bundled = [
    ...new Set(loaded.flatMap((dependency) => [dependency, ...findDependencies(dependency)])),
  ].toSorted();
  const manifest = `${JSON.stringify(createManifest(name, bundled), undefined, 2)}\n`;
  const bundledFiles = bundled.flatMap((dependency) =>
    readFiles(packageFolder(dependency)).map((file) => ({
      ...file,
      path: `node_modules/${dependency}/${file.path}`,
    })),
  );
  return [
    { path: 'package.json', bytes: Buffer.from(manifest) },
    ...readCopiedFiles(name),
    ...(containsInlinedPackage ? [readInlinedPackageLicense()] : []),
    ...files,
    ...bundledFiles,
  ];
}

export const fullName = (shortName: string): string => scope + shortName;

/** As npm names it. */
export function tarballName(name: string): string {
  return `${name.replace('@', '').replace('/', '-')}-${readManifest(name).version}.tgz`;
}
