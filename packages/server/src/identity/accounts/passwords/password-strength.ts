// Asks a thread of its own how hard a password is to guess: started on first use, let go when idle.
import { Worker } from 'node:worker_threads';
import { refuse } from '@switchyard/contract';
import type { StrengthAnswer, StrengthQuestion } from './password-strength-worker.ts';

/** Each takes a few hundredths of a second; people set passwords rarely. */
const waitingMax = 32;
const answerMs = 20_000;
/** The word lists take 70 MB; they are there only while somebody chooses a password. */
const idleMs = 60_000;
const heapMb = 160;

export type PasswordStrength = {
  /** `words` count as known to whoever guesses: the user's and the realm's own. */
  isCommon(password: string, words: readonly string[]): Promise<boolean>;
  close(): Promise<void>;
};

type Waiting = { resolve(isCommon: boolean): void; reject(error: unknown): void };

export function createPasswordStrength(): PasswordStrength {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let nextId = 1;
  let timer: NodeJS.Timeout | undefined;

  function open(): Worker {
    const made = new Worker(new URL('./password-strength-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    made.on('message', ({ id, isCommon }: StrengthAnswer) => {
      waiting.get(id)?.resolve(isCommon);
      waiting.delete(id);
      // An answer shows that it works: the clock begins anew for those behind.
      watch();
    });
    made.on('error', (error) => lose(made, error));
    made.on('exit', () => lose(made, new Error('the thread for passwords ended')));
    return made;
  }

  function lose(lost: Worker, error: unknown): void {
    if (worker !== lost) return;
    worker = undefined;
    clearTimeout(timer);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  /** While somebody waits, the thread holds the process; idle, it holds nothing and goes in time. */
  function watch(): void {
    clearTimeout(timer);
    const current = worker;
    if (current === undefined) return;
    const isIdle = waiting.size === 0;
    if (isIdle) current.unref();
    else current.ref();
    timer = setTimeout(
      () => {
        lose(current, new Error('the thread for passwords did not answer'));
        void current.terminate();
      },
      isIdle ? idleMs : answerMs,
    );
    timer.unref();
  }

  return {
    isCommon: (password, words) => {
      if (waiting.size >= waitingMax) {
        refuse('overloaded', 'Too many people choose a password at this moment.', {
          retryAfterMs: 1_000,
        });
      }
      worker ??= open();
      const question: StrengthQuestion = { id: nextId, password, words };
      nextId += 1;
      const answer = new Promise<boolean>((resolve, reject) => {
        waiting.set(question.id, { resolve, reject });
      });
      worker.postMessage(question);
      watch();
      return answer;
    },

    async close() {
      const current = worker;
      if (current === undefined) return;
      lose(current, new Error('closed'));
      await current.terminate();
    },
  };
}
