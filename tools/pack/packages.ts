// The files of a packed package: manifest, JavaScript, declarations, and the packages that it loads.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { root } from '../test-runner/static-checks.ts';
import type { BuiltPackage, Source } from './build.ts';
import { compiledIn } from './bundle.ts';
import type { PackedFile } from './tarball.ts';

/** The packages that are handed to others. */
export const packed = ['contract', 'nexo', 'sdk-pos', 'sdk-provider', 'sdk-device', 'cli'] as const;

const scope = '@switchyard/';
/** Of Node 20.3 is the newest function that the packages use, `AbortSignal.any`. */
const leastNode = '>=20.3.0';

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

export function sourceOf(name: string): Source {
  const { exports: exported = {}, bin, devDependencies = {} } = manifestOf(name);
  const isCommand = bin !== undefined;
  const { '.': entry, ...others } = isCommand ? { '.': './src/main.ts' } : exported;
  if (entry === undefined || Object.keys(others).length > 0) {
    throw new Error(`${name} exports ${Object.keys(exported)}; a packed package exports "." alone`);
  }
  const needs = [...needsOf(name)].filter((need) => !need.startsWith(scope) && need !== compiledIn);
  return {
    name,
    entry: join('packages', name.slice(scope.length), entry),
    isCommand,
    external: [...needs, ...Object.keys(devDependencies)],
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

function packedManifest(name: string, bundled: readonly string[]): Record<string, unknown> {
  const { version, description, license, bin } = manifestOf(name);
  const dependencies = Object.fromEntries(bundled.map((need) => [need, manifestOf(need).version]));
  return {
    name,
    version,
    description,
    license,
    ...(bin === undefined ? libraryEntry : { type: 'module', bin }),
    ...(bundled.length === 0 ? {} : { dependencies, bundleDependencies: bundled }),
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

function compiledInLicense(): PackedFile {
  const { version } = manifestOf(compiledIn);
  const license = readFileSync(join(folderOf(compiledIn), 'license'), 'utf8');
  const text = `This package contains parts of ${compiledIn} ${version}, under this license:\n\n${license}`;
  return { path: 'THIRD-PARTY-LICENSES.txt', bytes: Buffer.from(text) };
}

/**
 * The package, with the packages of others that it loads below `node_modules`: npm installs it without a
 * registry.
 */
export function contentOf(
  name: string,
  { files, imports, holdsCompiledIn }: BuiltPackage,
): PackedFile[] {
  const loaded = imports.filter((need) => !need.startsWith(scope));
  const bundled = [...new Set(loaded.flatMap((need) => [need, ...needsOf(need)]))].toSorted();
  const manifest = `${JSON.stringify(packedManifest(name, bundled), undefined, 2)}\n`;
  const beside = bundled.flatMap((need) =>
    filesIn(folderOf(need)).map((file) => ({
      ...file,
      path: `node_modules/${need}/${file.path}`,
    })),
  );
  return [
    { path: 'package.json', bytes: Buffer.from(manifest) },
    ...asTheyAre(name),
    ...(holdsCompiledIn ? [compiledInLicense()] : []),
    ...files,
    ...beside,
  ];
}

export const fullName = (short: string): string => scope + short;

/** As npm names it. */
export function tarballName(name: string): string {
  return `${name.replace('@', '').replace('/', '-')}-${manifestOf(name).version}.tgz`;
}
