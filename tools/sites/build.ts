// Builds a site (the portal or the documentation) if its sources have changed since the last build.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { sourcesHash } from './sources-hash.ts';

const cacheFolder = '.cache';
/** The server reads the process ID in it, to tell users that the pages of this site are being built. */
const lockFolderOf = ({ key }: LockedSite): string => `${cacheFolder}/build-${key}.lock`;
/** A file of the built folder: the hash of the sources that it was built from. */
const stampName = '.built-from';
const compressible = new Set(['.js', '.css', '.svg', '.json', '.html']);
const minCompressedBytes = 1024;
/** The highest quality, 11, takes ten times as long for 3 % less. */
const brotliQuality = 9;
const buildLimitMs = 300_000;
const pollMs = 100;
/** The time in which a process writes its ID into a lock that it has made. */
const newLockMs = 5_000;
/** Only the owner can read a temporary folder, but the server may run as another account. */
const readableToAll = 0o755;

export class BuildFault extends Error {
  override name = 'BuildFault';
}

export type Site = {
  /** For commands and files: `portal`. */
  readonly key: string;
  /** For messages: "the portal". */
  readonly name: string;
  /** Relative to the root of the repository. */
  readonly builtFolder: string;
  /** Glob patterns of all files that the build reads. */
  readonly sources: readonly string[];
  /** Without this file there is nothing to build, as in an installation without sources. */
  readonly entry: string;
  /** Builds the pages in the folder. */
  bundle(root: string, folder: string): Promise<void>;
};

type LockedSite = Pick<Site, 'key' | 'name'>;

export type BuildDeps = {
  readonly root: string;
  printLine(line: string): void;
};

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function isHeld(lock: string): Promise<boolean> {
  const pid = Number(await readIfPresent(join(lock, 'pid')));
  if (pid > 0) return isAlive(pid);
  // A lock that has just disappeared is not deleted: another process may already have made its own.
  const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs < newLockMs;
}

/** Of two processes that build at the same time, the second waits and then finds a current build. */
async function withLock<T>(site: LockedSite, root: string, work: () => Promise<T>): Promise<T> {
  const lock = join(root, lockFolderOf(site));
  await mkdir(join(lock, '..'), { recursive: true });
  for (const deadline = Date.now() + buildLimitMs; ; ) {
    try {
      await mkdir(lock);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (Date.now() > deadline)
      throw new BuildFault(
        `another process has not finished building ${site.name}; if no other build runs, delete ${lock}`,
      );
    if (await isHeld(lock)) await new Promise((resolve) => setTimeout(resolve, pollMs));
    else await rm(lock, { recursive: true, force: true });
  }
  try {
    await writeFile(join(lock, 'pid'), String(process.pid));
    return await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

let lastBuild: Promise<unknown> = Promise.resolve();

/** Runs one bundler at a time, because each needs much memory. */
function afterOtherBuilds<T>(work: () => Promise<T>): Promise<T> {
  const build = lastBuild.then(work);
  lastBuild = build.catch(() => {});
  return build;
}

/** Builds while no other process builds the same site, and this process builds nothing else. */
export const buildAlone = <T>(site: LockedSite, root: string, work: () => Promise<T>): Promise<T> =>
  withLock(site, root, () => afterOtherBuilds(work));

/** Runs the script of a bundler; its output is in the error if it fails. */
export function runBundler(
  tool: string,
  script: string,
  args: readonly string[],
  cwd: string,
): Promise<void> {
  if (!existsSync(script)) {
    throw new BuildFault(`${tool} is not installed: run npm ci with the packages of development`);
  }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: buildLimitMs,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new BuildFault(`${tool} ended with ${code}\n${output.trim()}`));
    });
  });
}

/** Writes compressed copies beside the larger files, so that no request has to compress them. */
async function compressAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => entry.isFile() && compressible.has(extname(entry.name)))
    .map(({ parentPath, name }) => join(parentPath, name));
  await Promise.all(
    paths.map(async (path) => {
      const plain = await readFile(path);
      if (plain.length < minCompressedBytes) return;
      const [small, zipped] = await Promise.all([
        promisify(brotliCompress)(plain, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
            [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
          },
        }),
        promisify(gzip)(plain, { level: constants.Z_BEST_COMPRESSION }),
      ]);
      await Promise.all([writeFile(`${path}.br`, small), writeFile(`${path}.gz`, zipped)]);
    }),
  );
}

/** Replaces the old build; between the two renames there is none. */
export async function putInPlace(made: string, built: string): Promise<void> {
  await chmod(made, readableToAll);
  const old = `${made}.old`;
  await rename(built, old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(made, built);
  await rm(old, { recursive: true, force: true });
}

/**
 * @returns false if the build is current
 * @throws BuildFault with the output of the bundler
 */
export async function buildSite(site: Site, { root, printLine }: BuildDeps): Promise<boolean> {
  const built = join(root, site.builtFolder);
  const hash = () => sourcesHash(root, site.sources);
  const isCurrent = async () =>
    existsSync(join(built, 'index.html')) &&
    (await readIfPresent(join(built, stampName))) === hash();
  if (!existsSync(join(root, site.entry)) || (await isCurrent())) return false;
  const build = async () => {
    if (await isCurrent()) return false;
    const began = performance.now();
    printLine(`Building ${site.name} because its sources have changed …`);
    const made = await mkdtemp(join(root, cacheFolder, 'site-'));
    try {
      // A source that changes from here on belongs to the next build.
      const builtFrom = hash();
      await site.bundle(root, made);
      await compressAll(made);
      await writeFile(join(made, stampName), builtFrom);
      await putInPlace(made, built);
    } finally {
      await rm(made, { recursive: true, force: true });
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    printLine(`Built ${site.name} in ${seconds} s.`);
    return true;
  };
  return buildAlone(site, root, build);
}
