// Builds the portal where it is not built from what stands there now: beside the old one, then in its place.
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
import { sourcesHash } from './sources.ts';

const packageFolder = 'packages/portal';
const builtFolder = `${packageFolder}/dist`;
const cacheFolder = '.cache';
const lockFolder = `${cacheFolder}/portal.lock`;
/** In the built folder: of which sources it was made. */
const stampName = '.built-from';
const compressible = new Set(['.js', '.css', '.svg', '.json', '.html']);
const leastBytes = 1024;
const buildLimitMs = 300_000;
const pollMs = 100;
/** Only its owner can read a temporary folder, but the server may run as another account. */
const readableToAll = 0o755;

export class BuildFault extends Error {
  override name = 'BuildFault';
}

export type BuildDeps = {
  readonly root: string;
  printLine(line: string): void;
  /** Makes the pages in a folder; left out: Vite. */
  bundle?(root: string, folder: string): Promise<void>;
};

async function readIfThere(path: string): Promise<string | undefined> {
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
  const pid = Number(await readIfThere(join(lock, 'pid')));
  if (pid > 0) return isAlive(pid);
  // Made a moment ago, perhaps, by one who has not written his name yet.
  // One that has gone meanwhile is nobody's to take away: another may have made his own.
  const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs < 5_000;
}

/** Two starts at once build once: the other waits, and finds it done. */
async function withLock<T>(lock: string, work: () => Promise<T>): Promise<T> {
  await mkdir(join(lock, '..'), { recursive: true });
  for (const deadline = Date.now() + buildLimitMs; ; ) {
    try {
      await mkdir(lock);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (Date.now() > deadline)
      throw new BuildFault(`another build has not ended; if no other build runs, delete ${lock}`);
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

/** Its words are shown where it fails, and nowhere else. */
function runVite(root: string, folder: string): Promise<void> {
  const script = join(root, 'node_modules/vite/bin/vite.js');
  if (!existsSync(script)) {
    throw new BuildFault('Vite is not installed: run npm ci with the packages of development');
  }
  const args = [script, 'build', '--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: join(root, packageFolder),
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
      else reject(new BuildFault(`Vite ended with ${code}\n${output.trim()}`));
    });
  });
}

/** Beside each file that is worth it, so that no request pays for it. */
async function compressAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const paths = entries
    .filter((entry) => entry.isFile() && compressible.has(extname(entry.name)))
    .map(({ parentPath, name }) => join(parentPath, name));
  await Promise.all(
    paths.map(async (path) => {
      const plain = await readFile(path);
      if (plain.length < leastBytes) return;
      const [small, zipped] = await Promise.all([
        promisify(brotliCompress)(plain, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
            [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
          },
        }),
        promisify(gzip)(plain, { level: constants.Z_BEST_COMPRESSION }),
      ]);
      await Promise.all([writeFile(`${path}.br`, small), writeFile(`${path}.gz`, zipped)]);
    }),
  );
}

/** A server in between sees the old pages or the new ones, and for a blink none. */
async function putInPlace(made: string, built: string): Promise<void> {
  const old = `${made}.old`;
  await rename(built, old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await rename(made, built);
  await rm(old, { recursive: true, force: true });
}

/**
 * @returns false where there was nothing to do
 * @throws BuildFault with the words of the tool
 */
export async function buildPortal({
  root,
  printLine,
  bundle = runVite,
}: BuildDeps): Promise<boolean> {
  const built = join(root, builtFolder);
  const isFresh = async () =>
    (await readIfThere(join(built, stampName))) === sourcesHash(root) &&
    existsSync(join(built, 'index.html'));
  if (!existsSync(join(root, packageFolder, 'index.html')) || (await isFresh())) return false;
  return withLock(join(root, lockFolder), async () => {
    if (await isFresh()) return false;
    const began = performance.now();
    printLine('Building the portal because its sources have changed …');
    const made = await mkdtemp(join(root, cacheFolder, 'portal-'));
    try {
      // What changes from here on belongs to the next build.
      const hash = sourcesHash(root);
      await bundle(root, made);
      await chmod(made, readableToAll);
      await compressAll(made);
      await writeFile(join(made, stampName), hash);
      await putInPlace(made, built);
    } finally {
      await rm(made, { recursive: true, force: true });
    }
    printLine(`The portal is built (${((performance.now() - began) / 1000).toFixed(1)} s).`);
    return true;
  });
}
