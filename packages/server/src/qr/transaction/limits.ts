// Defines the time limits and the maximum counts of QR payments.
import { dayMs } from '../../platform/index.ts';

/** The maximum answer time of a provider, ms; after it the outcome is unknown. */
export const providerTimeoutMs = 10_000;
/** Additional time in which a process makes the answer durable, ms. */
export const storeGraceMs = 5000;
/** Additional time in which a duplicate waits for the first answer, ms. */
export const duplicateWaitMs = 2000;
/** How long the server waits for an event of a live payment before it requests the status, ms. */
export const statusPollMs = 60_000;
/** How long a provider can report on an expired payment before the server ends it, ms. */
export const expiryGraceMs = 60_000;
/** How long the server repeats the cancel of an ended payment to its provider, ms. */
export const cancelRetryMs = dayMs;
/** How long the server retries an unanswered refund before an operator must decide, ms. */
export const refundRetryMs = dayMs;
/** The same limit for an acknowledged refund, ms. Some providers refund with the next bank file. */
export const acknowledgedRefundRetryMs = 14 * dayMs;
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
export const concurrentChangesMax = 50;
