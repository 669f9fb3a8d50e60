// Overload limits for test platforms, high enough that the server never refuses a request.
import type { LoadLimits } from '../../src/http/index.ts';

/**
 * Tests share a machine and often a process, so a slow moment must not cause an overload response.
 */
export const highLoadLimits: LoadLimits = { loopDelayMs: 60_000, running: 10_000 };
