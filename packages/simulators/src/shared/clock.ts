// The only place where the simulator asks for the time of day.

/** Tells the time, as milliseconds since 1970; a test hands in its own. */
export type Clock = { now(): number };

export const systemClock: Clock = { now: () => Date.now() };
