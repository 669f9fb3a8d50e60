// Defines the dependencies of the QR payments module.
import type { Caller } from '../../http/index.ts';
import type {
  ChangeNotifier,
  Clock,
  DueClock,
  FailPoints,
  Ids,
  Log,
  Numbering,
  Queries,
} from '../../platform/index.ts';
import type { Providers } from '../providers/index.ts';
import type { QrStore } from '../repository/qr-store.ts';
import type { ReviewAlarms } from './review-alarms.ts';
import type { RunningPayments } from './running-payments.ts';

/** The caller of a request, and the identifier of the request. */
export type RequestIdentity = { readonly caller: Caller; readonly id: string };

/** Writes a decision to the audit log, in the transaction of the change. */
export type RecordAudit = (
  trx: Queries,
  change: {
    request: RequestIdentity;
    organizationId: string;
    action: string;
    entity: { type: string; id: string; merchantId: string };
    before: object;
    after: object;
  },
) => Promise<void>;

export type QrDeps = {
  store: QrStore;
  runningPayments: RunningPayments;
  providers: Providers;
  live: Pick<ChangeNotifier, 'publish' | 'subscribe'>;
  alarms: ReviewAlarms;
  recordAudit: RecordAudit;
  /** Starts the next poll at once, because a payment is due. */
  wakePoller: () => void;
  /** A keyed digest (HMAC) of text that the server must not store in clear. */
  digestOf: (text: string) => string;
  clock: Clock;
  dueClock: DueClock;
  ids: Ids;
  log: Log;
  failPoints: FailPoints;
  numbering: Pick<Numbering, 'requireAvailable' | 'isRecoveryRequired'>;
  /** The time in which a consumer can pay, unless the provider sets a shorter one. */
  payWithinMs: number;
};
