// Opens the database of a platform for one command, beside a running one or before its first start.
import { join } from 'node:path';
import {
  applicationName,
  createLog,
  type Database,
  type Log,
  openDatabase,
  type Settings,
  startEmbeddedPostgres,
} from '../../packages/server/src/platform/index.ts';

/** An embedded database that a platform has started is used and left running. */
export async function withDatabase<Result>(
  settings: Settings,
  { name, connections }: { readonly name: string; readonly connections: number },
  action: (open: { readonly database: Database; readonly log: Log }) => Promise<Result>,
): Promise<Result> {
  const { databaseUrl, dataDir, postgresBinDir: binDir } = settings;
  const log = createLog({ logLevel: 'warn', instanceName: name }, process.stderr);
  const postgres =
    databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), binDir, log })
      : undefined;
  const database = openDatabase({
    url: databaseUrl ?? postgres?.url ?? '',
    log,
    connections,
    preparedStatements: settings.preparedStatements === 'on',
    applicationName: applicationName(settings.instanceName, name),
  });
  try {
    return await action({ database, log });
  } finally {
    await database.close();
    await postgres?.stop();
  }
}
