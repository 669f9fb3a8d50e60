// Decides whether the server calls a failing provider: closed, open or half open for one trial.
import type { CircuitState } from './provider-types.ts';

/** The circuit judges the last calls within one minute. */
const remembered = 20;
const rememberedMs = 60_000;
const failuresLeast = 5;
const failedShare = 0.5;
const pauseFirstMs = 5_000;
const pauseMaxMs = 120_000;

export type CircuitLimits = { readonly pauseFirstMs?: number; readonly pauseMaxMs?: number };

type Call = { readonly at: number; readonly isGood: boolean };

/** A permitted call, or the time until the next permitted call. */
export type Entry =
  | { readonly isOpen: false; end(isGood: boolean): void }
  | { readonly isOpen: true; readonly retryAfterMs: number };

export type Circuit = {
  /** A call for a payment. */
  enter(now: number): Entry;
  /** A health check. Success ends the pause, but only a payment call closes the circuit. */
  look(now: number): Entry;
  state(now: number): CircuitState;
  failures(): number;
  /** The time until the next health check or trial call. */
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
  /** Counts the state changes, so that the circuit ignores answers to earlier calls. */
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
