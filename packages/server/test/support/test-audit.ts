// The audit for module tests: it records events, and no job makes checkpoints.
import { type Audit, createAudit } from '../../src/audit/index.ts';
import type { Clock, Database } from '../../src/platform/index.ts';

export const testAudit = (database: Database, clock: Clock): Audit =>
  createAudit({
    database,
    clock,
    masterKey: Buffer.alloc(32, 1),
    jobs: { handle: () => {}, enqueue: async () => {} },
  });
