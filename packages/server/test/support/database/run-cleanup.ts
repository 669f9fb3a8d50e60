// Runs clean-up jobs until nothing is left to delete.
import type { CleanupJob } from '../../../src/platform/index.ts';

export async function runCleanup(jobs: readonly CleanupJob[]): Promise<void> {
  for (const job of jobs) while (await job.deleteBatch());
}
