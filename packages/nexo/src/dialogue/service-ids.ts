/** Identifications of services: ten characters that do not come again. */

const perMs = 1024;
const length = 10;

/**
 * The parameters of a source of ServiceIDs.
 *
 * Source: ADR 0049.
 *
 * @example
 * const deps: ServiceIdDeps = { now: () => Date.parse('2026-03-01'), randomBelow: (limit) => limit - 1 };
 */
export type ServiceIdDeps = {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A random integer from 0 to below a limit: `randomInt` of `node:crypto`. */
  readonly randomBelow: (limit: number) => number;
  /** The last one that was given out, where it was kept over a restart. */
  readonly last?: string;
};

/**
 * Makes a source of ServiceIDs. Each ServiceID is the time in ten characters of base 36 and larger
 * than the previous one. It is not used again within 48 hours, also after a restart, if the clock
 * is not set back or the caller passes the `last` one. Ten random bits for each millisecond
 * separate two tills with the same `SaleID`; give each till its own `SaleID`.
 *
 * Source: nexo Sale to POI 3.0, `ServiceID`, 1 to 10 characters; vendors' rule of 48 hours.
 *
 * @param deps - a clock, chance, and the last one
 * @returns a function that gives the next one
 * @example
 * const nextServiceId = createServiceIds({ now: Date.now, randomBelow: randomInt });
 * nextServiceId(); // 'GQ3ZK81T0F'
 */
export function createServiceIds({ now, randomBelow, last }: ServiceIdDeps): () => string {
  let latest = last === undefined ? 0 : numberOf(last);
  return () => {
    latest = Math.max(latest + 1, now() * perMs + randomBelow(perMs));
    return latest.toString(36).toUpperCase().padStart(length, '0').slice(-length);
  };
}

/** A text that is none of ours does not hold the next ones up. */
function numberOf(id: string): number {
  return /^[0-9A-Z]{10}$/.test(id) ? Number.parseInt(id, 36) : 0;
}
