// `switchyard admin migrate`: applies the migrations without a start of the platform.
import type { CommandContext } from '../../packages/cli/src/command-line/command-runner.ts';
import { prepareDatabase } from '../../packages/server/src/application.ts';
import { withPlatformDatabase } from './platform-database.ts';

export async function migrateDatabase({ environment, output }: CommandContext): Promise<void> {
  await withPlatformDatabase(environment.env, 'migrate', prepareDatabase);
  output.printResult({ isUpToDate: true }, () => 'The schema of the database is up to date.\n');
}
