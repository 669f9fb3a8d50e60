// A PostgreSQL server for tests: copied while stopped, restored to a restore point, or run as a standby.
import { execFile } from 'node:child_process';
import { chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { copyTemplateCluster } from '../../../test/support/database/migrated-database-template.ts';
import { until } from '../../../test/support/wait-for-result.ts';
import { findBinaries } from './binaries.ts';
import {
  createOwnedDirectory,
  ensureSocketDirectory,
  openDataDirectory,
} from './data-directory.ts';
import { clusterDirectory, ensureCluster } from './database-cluster.ts';
import { serverAccount } from './server-account.ts';
import type { PostgresSettings } from './server-configuration.ts';
import { databaseUrl, type Postmaster, startPostmaster, stopPostmaster } from './server-process.ts';

const run = promisify(execFile);

const settings: PostgresSettings = {
  shared_buffers: '32MB',
  max_connections: '60',
  wal_level: 'replica',
  max_wal_senders: '4',
  wal_keep_size: '512MB',
  hot_standby: 'on',
  full_page_writes: 'on',
  fsync: 'off',
};

export type PostgresServer = Awaited<ReturnType<typeof postgresServer>>;

/**
 * @param home a directory that the server's account can pass through
 * @param backup the cluster that it begins with
 */
export async function postgresServer(home: string, backup?: string) {
  if (backup === undefined) await copyTemplateCluster(home);
  const directory = await openDataDirectory(home, serverAccount);
  const cluster = clusterDirectory(home);
  const binaries = await findBinaries(directory, undefined);
  const socketDir = await ensureSocketDirectory(directory);
  const url = databaseUrl(socketDir);
  const copyCluster = (from: string, to: string) => run('cp', ['-a', from, to]);
  if (backup !== undefined) await copyCluster(backup, cluster);
  let postmaster: Postmaster | undefined;

  async function query(text: string, database = url): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: database });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query(text)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Writes a signal file or a configuration file. */
  async function put(name: string, text = ''): Promise<void> {
    const file = join(cluster, name);
    await writeFile(file, text);
    const { account } = directory;
    if (account !== undefined) await chown(file, account.uid, account.gid);
  }

  return {
    url,
    home,
    socketDir,
    query,
    pid: () => postmaster?.pid ?? 0,

    async start(own: PostgresSettings = {}, { isStandby = false } = {}): Promise<void> {
      await ensureCluster(directory, binaries, { ...settings, ...own });
      await createOwnedDirectory(socketDir, directory.account);
      postmaster = await startPostmaster(directory, binaries.postgres, socketDir);
      await until(async () => {
        const rows = await query('SELECT pg_is_in_recovery() AS is').catch(() => []);
        return rows[0]?.['is'] === isStandby ? true : undefined;
      }, 'PostgreSQL to answer');
    },

    async stop(): Promise<void> {
      if (postmaster !== undefined) await stopPostmaster(postmaster);
      postmaster = undefined;
    },

    /** Copies the stopped cluster. */
    backUp: (to: string) => copyCluster(cluster, to),

    /** Replaces the stopped cluster by a backup, which recovers to a restore point, with the log of the old one. */
    async restore(from: string, restorePoint: string): Promise<void> {
      const old = `${cluster}-old`;
      await run('mv', [cluster, old]);
      await copyCluster(from, cluster);
      await put('recovery.signal');
      await put(
        'postgresql.auto.conf',
        `restore_command = 'cp "${old}/pg_wal/%f" "%p"'
recovery_target_name = '${restorePoint}'
recovery_target_action = 'promote'\n`,
      );
    },

    /** Replaces the stopped cluster by a copy, as a snapshot of the disk does. */
    async replace(from: string): Promise<void> {
      await rm(cluster, { recursive: true });
      await copyCluster(from, cluster);
    },

    /** Makes a stopped server, which began with a backup of the primary, its standby. */
    async follow(primary: { socketDir: string }): Promise<void> {
      await put('standby.signal');
      const conninfo = `host=${primary.socketDir} user=switchyard application_name=standby`;
      await put('postgresql.auto.conf', `primary_conninfo = '${conninfo}'\n`);
    },
  };
}
