// What the payments room is built from; each operation takes these as its first argument.
import type { Acquiring } from '../acquiring/index.ts';
import type { Recorder } from '../audit/index.ts';
import type { Clock, FailPoints, Ids, Jobs, Log, Metrics } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { Hsm, Vault } from '../vault/index.ts';
import type { Approvals } from './approvals/check-approval-code.ts';
import type { DataUses } from './card-input/ksn-sql.ts';
import type { PinCounters } from './card-input/pin-ksn-sql.ts';
import type { TerminalClock } from './card-input/terminal-clock-check.ts';
import type { OfflineStore } from './offline/offline-sql.ts';
import type { RecentSales } from './repository/recent-transactions.ts';
import type { Reroutes } from './repository/reroute-sql.ts';
import type { Store } from './repository/transaction-repository.ts';
import type { Running } from './runtime/in-flight-transactions.ts';
import type { StepUps } from './sale/step-up.ts';

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
