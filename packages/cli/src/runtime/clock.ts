/** Tests replace the clock of the machine. */
export type Clock = { now(): number };

export const systemClock: Clock = { now: () => Date.now() };
