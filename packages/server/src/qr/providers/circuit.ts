// Decides whether a provider that fails is still called: closed, open for a while, half open for one trial.
import type { CircuitState } from './types.ts';

/** The last calls, as far as they are of the last minute, say how a provider does. */
const remembered = 20;
const rememberedMs = 60_000;
const failuresLeast = 5;
const failedShare = 0.5;
const pauseFirstMs = 5_000;
const pauseMaxMs = 120_000;

export type CircuitLimits = { readonly pauseFirstMs?: number; readonly pauseMaxMs?: number };

type Call = { readonly at: number; readonly isGood: boolean };

/** A place in the queue to a provider, or how long nobody gets one. */
export type Entry =
  | { readonly isOpen: false; end(isGood: boolean): void }
  | { readonly isOpen: true; readonly retryAfterMs: number };

export type Circuit = {
  /** A real call. */
  enter(now: number): Entry;
  /** A look at the health; good ones end the pause, and only a real call closes the circuit. */
  look(now: number): Entry;
  state(now: number): CircuitState;
  failures(): number;
  /** Until the next look or trial. */
  retryAfterMs(now: number): number;
};

/** @example const circuit = createCircuit({ clock, onChange }); const entry = circuit.enter(clock.now()); */
export function createCircuit(deps: {
  readonly clock: { now(): number };
  readonly onChange: (state: CircuitState) => void;
  readonly limits?: CircuitLimits;
}): Circuit {
  const first = deps.limits?.pauseFirstMs ?? pauseFirstMs;
  const longest = deps.limits?.pauseMaxMs ?? pauseMaxMs;
  let calls: Call[] = [];
  let inRow = 0;
  let pauses = 0;
  let openUntil: number | undefined;
  let isTrying = false;
  /** Answers to calls of before it opened say nothing about now. */
  let round = 0;

  function open(now: number): void {
    openUntil = now + Math.min(longest, first * 2 ** pauses);
    pauses += 1;
    round += 1;
    calls = [];
    deps.onChange('open');
  }

  function close(): void {
    openUntil = undefined;
    pauses = 0;
    round += 1;
    calls = [];
    deps.onChange('closed');
  }

  function counted(isGood: boolean): void {
    const now = deps.clock.now();
    inRow = isGood ? 0 : inRow + 1;
    calls = [...calls.filter(({ at }) => now - at < rememberedMs).slice(1 - remembered)];
    calls.push({ at: now, isGood });
    const failed = calls.filter((call) => !call.isGood).length;
    if (failed >= failuresLeast && failed >= calls.length * failedShare) open(now);
  }

  function judged(isGood: boolean, isLook: boolean): void {
    isTrying = false;
    inRow = isGood ? 0 : inRow + 1;
    const now = deps.clock.now();
    if (!isGood) open(now);
    else if (!isLook) close();
    else {
      openUntil = now;
      deps.onChange('half_open');
    }
  }

  function once(act: (isGood: boolean) => void): Entry {
    let isEnded = false;
    return {
      isOpen: false,
      end(isGood) {
        if (isEnded) return;
        isEnded = true;
        act(isGood);
      },
    };
  }

  const shut = (now: number): Entry => ({
    isOpen: true,
    retryAfterMs: Math.max(1000, (openUntil ?? now) - now),
  });

  function trial(now: number, isLook: boolean): Entry {
    if (isTrying || now < (openUntil ?? now)) return shut(now);
    isTrying = true;
    return once((isGood) => judged(isGood, isLook));
  }

  return {
    enter(now) {
      if (openUntil !== undefined) return trial(now, false);
      const mine = round;
      return once((isGood) => {
        if (mine === round) counted(isGood);
      });
    },
    look: (now) => (openUntil === undefined ? once(() => {}) : trial(now, true)),
    state(now) {
      if (openUntil === undefined) return 'closed';
      return now < openUntil ? 'open' : 'half_open';
    },
    failures: () => inRow,
    retryAfterMs: (now) => Math.max(0, (openUntil ?? now) - now),
  };
}
