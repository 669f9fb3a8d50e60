/** The clock that this package needs. */

/**
 * Returns the time in milliseconds since 1970. A test can pass its own clock.
 *
 * @example
 * const clock: Clock = { now: () => 1_767_225_600_000 };
 */
export type Clock = { now(): number };
