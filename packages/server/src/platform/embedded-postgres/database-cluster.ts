// Creates the cluster of the embedded PostgreSQL completely or not at all, also if the first start is killed.
import { execFile } from 'node:child_process';
import { appendFile, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isProcessAlive } from '../process/process-identity.ts';
import { type Binaries, majorVersion } from './binaries.ts';
import {
  createOwnedDirectory,
  type DataDirectory,
  workingDirectoryPath,
} from './data-directory.ts';
import { type PostgresSettings, postgresConfiguration } from './server-configuration.ts';

const run = promisify(execFile);
export const superuser = 'switchyard';
const configurationFile = 'switchyard.conf';
const draftPrefix = 'data.new-';
/** From this version on PostgreSQL has a built-in UTF-8 locale and needs none of the system. */
const builtinLocaleSince = 17;

export function clusterDirectory(home: string): string {
  return join(home, 'data');
}

export async function ensureCluster(
  directory: DataDirectory,
  binaries: Binaries,
  settings: PostgresSettings,
): Promise<void> {
  const cluster = clusterDirectory(directory.home);
  const versionFile = await stat(join(cluster, 'PG_VERSION')).catch(() => undefined);
  const version = await majorVersion(binaries, directory.account);
  if (versionFile === undefined) await createCluster(directory, binaries, version);
  const configuration = postgresConfiguration(version, settings);
  await writeFile(join(cluster, configurationFile), configuration, { mode: 0o644 });
}

async function createCluster(
  { home, account, isAccessible }: DataDirectory,
  binaries: Binaries,
  version: number,
): Promise<void> {
  await removeDrafts(home);
  const draft = join(home, `${draftPrefix}${process.pid}`);
  await createOwnedDirectory(draft, account);
  const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  try {
    await run(
      binaries.initdb,
      [
        '-D',
        isAccessible ? draft : workingDirectoryPath,
        '-U',
        superuser,
        '--auth=trust',
        '--no-instructions',
        '--encoding=UTF8',
        '--locale=C',
        ...(version >= builtinLocaleSince ? locale : []),
      ],
      { ...account, cwd: draft, env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } },
    );
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(`initdb failed: ${stderr.trim() || String(error)}`, { cause: error });
  }
  await appendFile(join(draft, 'postgresql.conf'), `\ninclude_if_exists '${configurationFile}'\n`);
  try {
    await rename(draft, clusterDirectory(home));
  } catch (error) {
    // Another process created the cluster first.
    const { code } = error as NodeJS.ErrnoException;
    await rm(draft, { recursive: true, force: true });
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
  await flushDirectory(home);
}

/** Removes drafts of processes that were killed during the creation. */
async function removeDrafts(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const pid = Number(name.startsWith(draftPrefix) ? name.slice(draftPrefix.length) : Number.NaN);
    if (pid > 0 && !isProcessAlive(pid))
      await rm(join(home, name), { recursive: true, force: true });
  }
}

async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
