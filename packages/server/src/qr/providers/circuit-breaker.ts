// Decides whether the server calls a failing provider: closed, open or half open for one trial.
import type { CircuitState } from './provider-types.ts';

/** The circuit judges the last calls within one minute. */
const callsRemembered = 20;
const rememberedMs = 60_000;
const failuresMin = 5;
const failedShare = 0.5;
const pauseFirstMs = 5_000;
const pauseMaxMs = 120_000;

export type CircuitBreakerLimits = { readonly pauseFirstMs?: number; readonly pauseMaxMs?: number };

type Call = { readonly at: number; readonly isSuccess: boolean };

/** A permitted call, or the time until the next permitted call. */
export type CircuitEntry =
  | { readonly isOpen: false; end(isSuccess: boolean): void }
  | { readonly isOpen: true; readonly retryAfterMs: number };

export type CircuitBreaker = {
  /** A call for a payment. */
  enterCall(now: number): CircuitEntry;
  /** A health check. Success ends the pause, but only a payment call closes the circuit. */
  enterHealthCheck(now: number): CircuitEntry;
  state(now: number): CircuitState;
  failures(): number;
  /** The time until the next health check or trial call. */
  retryAfterMs(now: number): number;
};

/** @example const circuit = createCircuitBreaker({ clock, onChange }); const entry = circuit.enterCall(clock.now()); */
export function createCircuitBreaker(deps: {
  readonly clock: { now(): number };
  readonly onChange: (state: CircuitState) => void;
  readonly limits?: CircuitBreakerLimits;
}): CircuitBreaker {
  const firstPauseMs = deps.limits?.pauseFirstMs ?? pauseFirstMs;
  const longestPauseMs = deps.limits?.pauseMaxMs ?? pauseMaxMs;
  let calls: Call[] = [];
  let consecutiveFailures = 0;
  let pauses = 0;
  let openUntil: number | undefined;
  let isTrialRunning = false;
  /** Counts the state changes, so that the circuit ignores answers to earlier calls. */
  let stateRound = 0;

  function open(now: number): void {
    openUntil = now + Math.min(longestPauseMs, firstPauseMs * 2 ** pauses);
    pauses += 1;
    stateRound += 1;
    calls = [];
    deps.onChange('open');
  }

  function close(): void {
    openUntil = undefined;
    pauses = 0;
    stateRound += 1;
    calls = [];
    deps.onChange('closed');
  }

  function recordCall(isSuccess: boolean): void {
    const now = deps.clock.now();
    consecutiveFailures = isSuccess ? 0 : consecutiveFailures + 1;
    calls = [...calls.filter(({ at }) => now - at < rememberedMs).slice(1 - callsRemembered)];
    calls.push({ at: now, isSuccess });
    const failed = calls.filter((call) => !call.isSuccess).length;
    if (failed >= failuresMin && failed >= calls.length * failedShare) open(now);
  }

  function applyTrialResult(isSuccess: boolean, isHealthCheck: boolean): void {
    isTrialRunning = false;
    consecutiveFailures = isSuccess ? 0 : consecutiveFailures + 1;
    const now = deps.clock.now();
    if (!isSuccess) open(now);
    else if (!isHealthCheck) close();
    else {
      openUntil = now;
      deps.onChange('half_open');
    }
  }

  function permittedCall(onEnd: (isSuccess: boolean) => void): CircuitEntry {
    let isEnded = false;
    return {
      isOpen: false,
      end(isSuccess) {
        if (isEnded) return;
        isEnded = true;
        onEnd(isSuccess);
      },
    };
  }

  const rejectedCall = (now: number): CircuitEntry => ({
    isOpen: true,
    retryAfterMs: Math.max(1000, (openUntil ?? now) - now),
  });

  function trial(now: number, isHealthCheck: boolean): CircuitEntry {
    if (isTrialRunning || now < (openUntil ?? now)) return rejectedCall(now);
    isTrialRunning = true;
    return permittedCall((isSuccess) => applyTrialResult(isSuccess, isHealthCheck));
  }

  return {
    enterCall(now) {
      if (openUntil !== undefined) return trial(now, false);
      const startedRound = stateRound;
      return permittedCall((isSuccess) => {
        if (startedRound === stateRound) recordCall(isSuccess);
      });
    },
    enterHealthCheck: (now) =>
      openUntil === undefined ? permittedCall(() => {}) : trial(now, true),
    state(now) {
      if (openUntil === undefined) return 'closed';
      return now < openUntil ? 'open' : 'half_open';
    },
    failures: () => consecutiveFailures,
    retryAfterMs: (now) => Math.max(0, (openUntil ?? now) - now),
  };
}
