// A recorder for tests of rooms: records for real, and nobody signs checkpoints.
import { createAudit, type Recorder } from '../src/audit/index.ts';
import type { Clock, Database } from '../src/platform/index.ts';

export const testRecorder = (database: Database, clock: Clock): Recorder =>
  createAudit({
    database,
    clock,
    masterKey: Buffer.alloc(32, 1),
    jobs: { handle: () => {}, enqueue: async () => {} },
  });
