// What the payments room is built from; each operation takes these as its first argument.
import type { Acquiring } from '../acquiring/index.ts';
import type { Recorder } from '../audit/index.ts';
import type { Clock, FailPoints, Ids, Jobs, Log, Metrics } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { Hsm, Vault } from '../vault/index.ts';
import type { Approvals } from './approvals/index.ts';
import type { DataUses } from './data-uses.ts';
import type { OfflineStore } from './offline/index.ts';
import type { PinCounters } from './pin-counters.ts';
import type { RecentSales } from './recent.ts';
import type { Reroutes } from './reroutes.ts';
import type { Running } from './running.ts';
import type { StepUps } from './step-up.ts';
import type { Store } from './store.ts';
import type { TerminalClock } from './terminal-clock.ts';

export type PaymentsDeps = {
  store: Store;
  reroutes: Reroutes;
  running: Running;
  acquiring: Acquiring;
  provisioning: Pick<
    Provisioning,
    'resolve' | 'contract' | 'merchants' | 'stores' | 'institutionOf'
  >;
  approvals: Approvals;
  audit: Pick<Recorder, 'record'>;
  vault: Vault;
  hsm: Hsm;
  pinCounters: PinCounters;
  dataUses: DataUses;
  stepUps: StepUps;
  offline: OfflineStore;
  terminalClock: TerminalClock;
  jobs: Pick<Jobs, 'enqueue' | 'poke'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  failPoints: FailPoints;
  /** Left out where nobody in this process tells of sales. */
  recent?: Pick<RecentSales, 'note'> | undefined;
  /** How long an acquirer may take, ms. */
  acquirerTimeoutMs: number;
};

/** Time that a process gets beyond the acquirer's to make an outcome durable, ms. */
export const graceMs = 5000;

/** How long a duplicate waits for the first one's answer beyond the acquirer's time, ms. */
export const duplicateWaitMs = 2000;
