// Time limits and retry delays of payments, in milliseconds.

/** Time that a process has, after the acquirer's time-out, to store an outcome. */
export const commitGraceMs = 5000;

/** How long a repeated request waits for the first one, beyond the acquirer's time-out. */
export const duplicateRequestWaitMs = 2000;

/** How long an outcome that only this process knows is retried while the database is unavailable. */
export const databaseRetryMs = 120_000;

/** Delay before an unavailable acquirer link is tried again. */
export const linkRetryMs = 2000;

/** Attempts without a response after which a message raises an alert. */
export const alertAfterAttempts = 6;

const retryDelaysMs = [1000, 2000, 5000, 10_000, 30_000, 60_000] as const;
const maxRetryDelayMs = 300_000;

export const retryDelayMs = (attempts: number): number =>
  retryDelaysMs[attempts] ?? maxRetryDelayMs;
