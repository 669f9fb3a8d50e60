// Defines the dependencies and limits of the QR payments module.
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

/** The caller of a request, and the identifier of the request. */
export type Asked = { readonly caller: Caller; readonly id: string };

/** Writes a decision to the audit log, in the transaction of the change. */
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
  /** Starts the next poll at once, because a payment is due. */
  poke: () => void;
  /** A keyed digest (HMAC) of text that the server must not store in clear. */
  markOf: (text: string) => string;
  clock: Clock;
  dueClock: DueClock;
  ids: Ids;
  log: Log;
  failPoints: FailPoints;
  numbering: Pick<Numbering, 'requireAvailable' | 'isRecoveryRequired'>;
  /** The time in which a consumer can pay, unless the provider sets a shorter one. */
  payWithinMs: number;
};

/** The maximum answer time of a provider, ms; after it the outcome is unknown. */
export const answerMs = 10_000;
/** Additional time in which a process makes the answer durable, ms. */
export const graceMs = 5000;
/** Additional time in which a duplicate waits for the first answer, ms. */
export const duplicateWaitMs = 2000;
/** How long a provider can report on an expired payment before the server ends it, ms. */
export const endGraceMs = 60_000;
/** How long the server repeats the cancel of an ended payment to its provider, ms. */
export const cancelForMs = 86_400_000;
/** How long the server retries an unanswered refund before an operator must decide, ms. */
export const refundForMs = 86_400_000;
/** The same limit for an acknowledged refund, ms. Some providers refund with the next bank file. */
export const refundWorkForMs = 14 * 86_400_000;
/** The maximum number of provider events that the server stores for one payment. */
export const providerEventsMax = 200;
/**
 * The server stores displays only among the first events of a payment. The limit allows a code that
 * changes every few seconds, and stops a provider that sends displays without end.
 */
export const displayEventsMax = 32;
/** The maximum number of cancels and refunds of one payment, including declined ones. */
export const operationsMax = 200;
/** How often the server repeats a step after a concurrent change of the payment. */
export const rivalsMax = 50;
