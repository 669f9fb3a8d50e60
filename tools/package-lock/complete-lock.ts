// Completes package-lock.json after `npm install` against a registry mirror that lacks the builds of
// other platforms: npm then leaves them out, and `npm ci` refuses the lock on every machine.
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

type LockedPackage = {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  hasInstallScript?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};
export type LockFile = { packages: Record<string, LockedPackage> };

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const processors = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x'];

/** The optional packages that the lock's own packages name and that have no entry in it. */
export function missingPlatforms(lock: LockFile): { name: string; entry: LockedPackage }[] {
  return Object.values(lock.packages).flatMap((wanting) =>
    Object.entries(wanting.optionalDependencies ?? {})
      .filter(([name]) => lock.packages[`node_modules/${name}`] === undefined)
      .map(([name, version]) => ({ name, entry: platformEntry(name, version, wanting.dev) })),
  );
}

/** The entry that npm writes for a build of another platform, derived from its name. */
function platformEntry(name: string, version: string, dev: boolean | undefined): LockedPackage {
  const os = systems.find((system) => name.includes(system));
  const cpu = processors.find((processor) => name.includes(`-${processor}`));
  if (os === undefined || cpu === undefined) throw new Error(`${name} names no platform we know`);
  const libc = name.includes('musl') ? ['musl'] : name.includes('gnu') ? ['glibc'] : undefined;
  return {
    version,
    cpu: [cpu],
    ...(dev ? { dev } : {}),
    ...(libc ? { libc } : {}),
    optional: true,
    os: [os],
  };
}

/** The same lock with the missing entries in npm's order. */
export function completeLock(lock: LockFile): LockFile {
  const added = missingPlatforms(lock).map(
    ({ name, entry }) => [`node_modules/${name}`, entry] as const,
  );
  const packages = [...Object.entries(lock.packages), ...added];
  packages.sort(([one], [other]) => one.localeCompare(other, 'en'));
  return { ...lock, packages: Object.fromEntries(packages) };
}

if (import.meta.main) {
  const file = resolve(import.meta.dirname, '../..', 'package-lock.json');
  const lock = JSON.parse(readFileSync(file, 'utf8')) as LockFile;
  const missing = missingPlatforms(lock);
  if (missing.length > 0) writeFileSync(file, `${JSON.stringify(completeLock(lock), null, 2)}\n`);
  console.log(`${missing.length} builds of other platforms added to package-lock.json`);
}
