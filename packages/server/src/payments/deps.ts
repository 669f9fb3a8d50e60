// Dependencies of the payments module.
import type { Acquiring } from '../acquiring/index.ts';
import type { Recorder } from '../audit/index.ts';
import type { Clock, DueClock, FailPoints, Ids, Jobs, Log, Metrics } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { Hsm, Vault } from '../vault/index.ts';
import type { ApprovalChecker } from './approvals/check-approval-code.ts';
import type { KsnStore } from './card-input/ksn-sql.ts';
import type { PinKsnStore } from './card-input/pin-ksn-sql.ts';
import type { TerminalClockCheck } from './card-input/terminal-clock-check.ts';
import type { OfflineStore } from './offline/offline-sql.ts';
import type { RecentTransactions } from './repository/recent-transactions.ts';
import type { RerouteStore } from './repository/reroute-sql.ts';
import type { TransactionRepository } from './repository/transaction-repository.ts';
import type { InFlightTransactions } from './runtime/in-flight-transactions.ts';
import type { StepUpStore } from './sale/step-up-sql.ts';

export type PaymentsDeps = {
  transactions: TransactionRepository;
  rerouteStore: RerouteStore;
  inFlightTransactions: InFlightTransactions;
  acquiring: Acquiring;
  provisioning: Pick<
    Provisioning,
    'resolve' | 'contract' | 'merchants' | 'stores' | 'institutionOf'
  >;
  approvals: ApprovalChecker;
  audit: Pick<Recorder, 'record'>;
  vault: Vault;
  hsm: Hsm;
  pinKsnStore: PinKsnStore;
  ksnStore: KsnStore;
  stepUpStore: StepUpStore;
  offlineStore: OfflineStore;
  terminalClock: TerminalClockCheck;
  jobs: Pick<Jobs, 'enqueue' | 'poke'>;
  clock: Clock;
  /** What due times are compared with. */
  dueClock: DueClock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  failPoints: FailPoints;
  /** Absent when this process publishes no transaction events. */
  recentTransactions?: Pick<RecentTransactions, 'add'> | undefined;
  /** How long an acquirer may take, ms. */
  acquirerTimeoutMs: number;
};
