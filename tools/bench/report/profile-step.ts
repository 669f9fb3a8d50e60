// Runs a step under a profiler: the server's CPU profile and the statements of its database.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../../packages/server/src/platform/index.ts';
import { type CpuProfile, type ProfileLine, summarizeProfile } from './profile-report.ts';
import { beginStatementCosts, readStatementCosts, type StatementCost } from './statement-costs.ts';

export type Profile = {
  functions: ProfileLine[];
  packages: ProfileLine[];
  statements: StatementCost[];
  /** On the JavaScript heap of the server, for each answered request. */
  allocatedBytesEach: number;
};

/** As `profiler.ts` writes it. */
type WrittenProfile = CpuProfile & { allocatedBytes: number };

const fileLimitMs = 20_000;
const lookEveryMs = 100;

/** A run of its own beside the one whose figures count, since profiling costs something. */
export async function profileStep(
  { profileFile, database }: { profileFile: string; database: Database },
  serverPid: number,
  run: () => Promise<{ answered: number }>,
): Promise<Profile> {
  rmSync(profileFile, { force: true });
  await beginStatementCosts(database);
  process.kill(serverPid, 'SIGUSR2');
  const step = await run();
  process.kill(serverPid, 'SIGUSR2');
  const statements = await readStatementCosts(database, step.answered);
  const until = performance.now() + fileLimitMs;
  while (!existsSync(profileFile)) {
    if (performance.now() > until) throw new Error('the server wrote no profile');
    await pause(lookEveryMs);
  }
  const profile: WrittenProfile = JSON.parse(readFileSync(profileFile, 'utf8'));
  const allocatedBytesEach = profile.allocatedBytes / step.answered;
  return { ...summarizeProfile(profile), statements, allocatedBytesEach };
}
