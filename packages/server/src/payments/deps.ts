// What the payments room is built from; each operation takes these as its first argument.
import type { Acquiring } from '../acquiring/index.ts';
import type { Clock, FailPoints, Ids, Jobs, Log, Metrics } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { Vault } from '../vault/index.ts';
import type { Approvals } from './approvals/index.ts';
import type { Running } from './running.ts';
import type { Store } from './store.ts';

export type PaymentsDeps = {
  store: Store;
  running: Running;
  acquiring: Acquiring;
  provisioning: Pick<Provisioning, 'resolve' | 'contract' | 'merchants' | 'stores'>;
  approvals: Approvals;
  vault: Vault;
  jobs: Pick<Jobs, 'enqueue' | 'poke'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  failPoints: FailPoints;
  /** How long an acquirer may take, ms. */
  acquirerTimeoutMs: number;
};

/** Time that a process gets beyond the acquirer's to make an outcome durable, ms. */
export const graceMs = 5000;

/** How long a duplicate waits for the first one's answer beyond the acquirer's time, ms. */
export const duplicateWaitMs = 2000;
