// What the QR room is built from; each operation takes these as its first argument.
import type { Kysely } from 'kysely';
import type { Caller } from '../http/index.ts';
import type {
  ChangeNotifier,
  Clock,
  DueClock,
  FailPoints,
  Ids,
  Log,
  Numbering,
} from '../platform/index.ts';
import type { Alarms } from './alarms.ts';
import type { Providers } from './providers/index.ts';
import type { Running } from './running.ts';
import type { QrStore } from './store.ts';

/** Who asks, and by which request. */
export type Asked = { readonly caller: Caller; readonly id: string };

/** What the audit hears of decisions. */
export type Tell = (
  trx: Kysely<unknown>,
  change: {
    asked: Asked;
    organizationId: string;
    action: string;
    entity: { type: string; id: string; merchantId: string };
    before: object;
    after: object;
  },
) => Promise<void>;

export type QrDeps = {
  store: QrStore;
  running: Running;
  providers: Providers;
  live: Pick<ChangeNotifier, 'publish' | 'subscribe'>;
  alarms: Alarms;
  tell: Tell;
  /** Something is due now: do not wait for the next look. */
  poke: () => void;
  /** A keyed mark of what must not be kept in clear. */
  markOf: (text: string) => string;
  clock: Clock;
  dueClock: DueClock;
  ids: Ids;
  log: Log;
  failPoints: FailPoints;
  numbering: Pick<Numbering, 'requireAvailable' | 'isRecoveryRequired'>;
  /** How long a consumer has to pay, where the provider does not say less. */
  payWithinMs: number;
};

/** How long a provider may take to answer, ms: after that the outcome is unknown. */
export const answerMs = 10_000;
/** Time that a process gets beyond that to make the answer durable, ms. */
export const graceMs = 5000;
/** How long a duplicate waits for the first one's answer beyond the provider's time, ms. */
export const duplicateWaitMs = 2000;
/** How long after its expiry a payment may still be told of by a provider, before it ends without it, ms. */
export const endGraceMs = 60_000;
/** How long a provider is told that a payment which has ended is not to be made, ms. */
export const cancelForMs = 86_400_000;
/** How long a refund is asked for that nobody answers, before somebody has to look at it, ms. */
export const refundForMs = 86_400_000;
/** The same of one that the provider says it works on: some pay back with the next files of their banks, ms. */
export const refundWorkForMs = 14 * 86_400_000;
/** Events of a provider that are kept of one payment. */
export const providerEventsMax = 200;
/**
 * Events of one payment among which pictures are kept: a code that changes every few seconds for as long
 * as a consumer has is well within, and a provider that sends nothing but pictures fills no table.
 */
export const displayEventsMax = 32;
/** Cancels and refunds of one payment, those that were declined too. */
export const operationsMax = 200;
/** Somebody else changed the payment in the middle of it: how often it is judged anew. */
export const rivalsMax = 50;
