/** The only place where this package asks for the time of day. */

/**
 * Tells the time, milliseconds since 1970; a test hands in its own.
 *
 * @example
 * const clock: Clock = { now: () => 1_767_225_600_000 };
 */
export type Clock = { now(): number };

export const systemClock: Clock = { now: () => Date.now() };
