// Runs a step under watch: the server's CPU profile and the statements of its database.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type BenchEnvironment, readProfile } from '../environment/bench-environment.ts';
import { type ProfileLine, summarizeProfile } from './profile-report.ts';
import { beginStatementCosts, readStatementCosts, type StatementCost } from './statement-costs.ts';

export type Profile = {
  functions: ProfileLine[];
  packages: ProfileLine[];
  statements: StatementCost[];
};

const fileLimitMs = 20_000;
const lookEveryMs = 100;

/** A run of its own beside the one whose figures count, since being watched costs something. */
export async function profileStep(
  { server, folder, database }: Pick<BenchEnvironment, 'server' | 'folder' | 'database'>,
  run: () => Promise<{ answered: number }>,
): Promise<Profile> {
  const file = readProfile(folder);
  rmSync(file, { force: true });
  await beginStatementCosts(database);
  process.kill(server.pid, 'SIGUSR2');
  const step = await run();
  process.kill(server.pid, 'SIGUSR2');
  const statements = await readStatementCosts(database, step.answered);
  const until = performance.now() + fileLimitMs;
  while (!existsSync(file)) {
    if (performance.now() > until) throw new Error('the server wrote no profile');
    await pause(lookEveryMs);
  }
  return { ...summarizeProfile(JSON.parse(readFileSync(file, 'utf8'))), statements };
}
