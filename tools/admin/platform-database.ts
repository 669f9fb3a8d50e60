// Opens the database of a platform for one command, beside a running platform or before its first start.
import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { readDataDirectory } from '@switchyard/contract';
import { type Author, commandAuthor, createAudit } from '../../packages/server/src/audit/index.ts';
import {
  applicationName,
  createJobs,
  createLog,
  createMetrics,
  type Database,
  type Log,
  omitCardSettings,
  openDatabase,
  readSettings,
  requireDatabaseAccess,
  requirePlatformKey,
  type Settings,
  startEmbeddedPostgres,
  systemClock,
  systemIdGenerator,
} from '../../packages/server/src/platform/index.ts';

type Variables = Readonly<Record<string, string | undefined>>;

export type OpenPlatform = {
  readonly settings: Settings;
  readonly database: Database;
  readonly log: Log;
  /** The author of the changes of the command. */
  readonly author: Author;
};

/** A container can run as an account without a name. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.()}`;
  }
}

/** No command sees a card, so the settings of card keys are left out. */
export async function withPlatformDatabase(
  env: Variables,
  command: string,
  action: (platform: OpenPlatform) => Promise<void>,
): Promise<void> {
  const settings = readSettings(omitCardSettings(env));
  const { databaseUrl, dataDir, postgresBinDir: binDir } = settings;
  const log = createLog({ logLevel: 'warn', instanceName: command }, process.stderr);
  // An embedded database that a platform has started is used and left running.
  const postgres =
    databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), binDir, log })
      : undefined;
  const database = openDatabase({
    url: databaseUrl ?? postgres?.url ?? '',
    log,
    connections: 2,
    preparedStatements: settings.preparedStatements === 'on',
    engine: settings.databaseEngine,
    applicationName: applicationName(settings.instanceName, command),
  });
  try {
    const author = commandAuthor(`admin ${command}`, `${accountName()}@${hostname()}`);
    await action({ settings, database, log, author });
  } finally {
    await database.close();
    await postgres?.stop();
  }
}

/** @throws Error if no platform was started in the data directory: the command would create an empty one */
export function requireExistingPlatform(env: Variables): void {
  const hasDatabase = 'SWITCHYARD_DATABASE_URL' in env || 'SWITCHYARD_DATABASE_URL_FILE' in env;
  const dataDir = resolve(readDataDirectory(env));
  if (!hasDatabase && !existsSync(join(dataDir, 'postgres')))
    throw new Error(
      `${dataDir} contains no platform; set SWITCHYARD_DATA_DIR to its data directory, or set SWITCHYARD_DATABASE_URL`,
    );
}

/** @throws Error if no platform was started in the data directory, or its database is not available */
export async function withExistingPlatform(
  env: Variables,
  command: string,
  action: (platform: OpenPlatform) => Promise<void>,
): Promise<void> {
  requireExistingPlatform(env);
  await withPlatformDatabase(env, command, async (platform) => {
    const { database, settings } = platform;
    await requireDatabaseAccess(database, settings.databaseUrl);
    await action(platform);
  });
}

/**
 * The job runner is not started: a running platform executes the jobs.
 *
 * @throws SettingsError with the platform key of another database, which would write unreadable secrets
 */
export async function createAuditAndJobs({ settings, database, log, author }: OpenPlatform) {
  await requirePlatformKey(database, settings.platformKey);
  const parts = { database, clock: systemClock, ids: systemIdGenerator, log };
  const jobs = createJobs({ ...parts, metrics: createMetrics({ processMetrics: false }) });
  const audit = createAudit({ ...parts, masterKey: settings.platformKey, jobs, author });
  return { ...parts, jobs, recordChange: audit.recordChange };
}
