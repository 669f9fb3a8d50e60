// The clock of the simulators.

/** Milliseconds since 1970; a test passes its own clock. */
export type Clock = { now(): number };

export const systemClock: Clock = { now: () => Date.now() };
