// Estimates in a worker thread how easy a password is to guess; the thread starts on first use and stops when idle.
import { Worker } from 'node:worker_threads';
import { throwProblem } from '@switchyard/contract';
import type { StrengthRequest, StrengthResponse } from './password-strength-worker.ts';

/** One check takes a few hundredths of a second, and users set passwords rarely. */
const maxPendingChecks = 32;
const responseTimeoutMs = 20_000;
/** The word lists take 70 MB, so the thread stops when no password is being chosen. */
const idleTimeoutMs = 60_000;
const workerHeapMb = 160;

export type PasswordStrength = {
  /** `words`: words that an attacker knows, such as names of the user and the realm. */
  isCommon(password: string, words: readonly string[]): Promise<boolean>;
  close(): Promise<void>;
};

type PendingCheck = { resolve(isCommon: boolean): void; reject(error: unknown): void };

export function createPasswordStrength(): PasswordStrength {
  const pendingChecks = new Map<number, PendingCheck>();
  let worker: Worker | undefined;
  let nextId = 1;
  let timer: NodeJS.Timeout | undefined;

  function startWorker(): Worker {
    const newWorker = new Worker(new URL('./password-strength-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: workerHeapMb },
    });
    newWorker.on('message', ({ id, isCommon }: StrengthResponse) => {
      pendingChecks.get(id)?.resolve(isCommon);
      pendingChecks.delete(id);
      // A response shows that the thread works: the time-out starts again for the next checks.
      resetTimer();
    });
    newWorker.on('error', (error) => dropWorker(newWorker, error));
    newWorker.on('exit', () =>
      dropWorker(newWorker, new Error('the password strength thread ended')),
    );
    return newWorker;
  }

  function dropWorker(failedWorker: Worker, error: unknown): void {
    if (worker !== failedWorker) return;
    worker = undefined;
    clearTimeout(timer);
    for (const { reject } of pendingChecks.values()) reject(error);
    pendingChecks.clear();
  }

  /** A pending check keeps the process alive; an idle thread does not, and stops after a while. */
  function resetTimer(): void {
    clearTimeout(timer);
    const current = worker;
    if (current === undefined) return;
    const isIdle = pendingChecks.size === 0;
    if (isIdle) current.unref();
    else current.ref();
    timer = setTimeout(
      () => {
        dropWorker(current, new Error('the password strength thread did not respond'));
        void current.terminate();
      },
      isIdle ? idleTimeoutMs : responseTimeoutMs,
    );
    timer.unref();
  }

  return {
    isCommon: (password, words) => {
      if (pendingChecks.size >= maxPendingChecks) {
        throwProblem(
          'overloaded',
          'Too many password checks at the same time. Retry the request later.',
          {
            retryAfterMs: 1_000,
          },
        );
      }
      worker ??= startWorker();
      const request: StrengthRequest = { id: nextId, password, words };
      nextId += 1;
      const response = new Promise<boolean>((resolve, reject) => {
        pendingChecks.set(request.id, { resolve, reject });
      });
      worker.postMessage(request);
      resetTimer();
      return response;
    },

    async close() {
      const current = worker;
      if (current === undefined) return;
      dropWorker(current, new Error('closed'));
      await current.terminate();
    },
  };
}
