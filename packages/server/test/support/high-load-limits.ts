// What a platform of tests takes on before it turns anybody away.
import type { LoadLimits } from '../../src/http/index.ts';

/** Tests share a machine, and often a process: a busy moment of it is no answer of ours. */
export const patientLimits: LoadLimits = { loopDelayMs: 60_000, running: 10_000 };
