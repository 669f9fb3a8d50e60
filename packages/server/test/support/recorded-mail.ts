// Jobs and mail of one test: the test reads the mails, and no mail leaves the process.
import { randomUUID } from 'node:crypto';
import type { Job, JobHandler, Jobs, MailMessage } from '../../src/platform/index.ts';

export type PostOffice = {
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly mail: { send(message: MailMessage): Promise<void> };
  /** The jobs that the jobs table would contain. */
  readonly waiting: Job[];
  /** Runs all due jobs and returns the mails that were sent since the last call. */
  deliver(): Promise<MailMessage[]>;
};

/** Treats each enqueued job as committed, because these tests check mail content and not timing. */
export function openPostOffice(): PostOffice {
  const handlers = new Map<string, JobHandler>();
  const waiting: Job[] = [];
  const sent: MailMessage[] = [];
  return {
    waiting,
    jobs: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      async enqueue({ organizationId, jobId = randomUUID(), kind, payload, dueAt = 0 }) {
        // These tests do not run jobs that are due later.
        if (dueAt > 0) return;
        waiting.push({ organizationId, jobId, kind, payload, attempts: 0, dueAt });
      },
      wake: () => {},
    },
    mail: { send: async (message) => void sent.push(message) },
    async deliver() {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
        await handlers.get(job.kind)?.(job);
      }
      return sent.splice(0);
    },
  };
}

/** The link in the last mail. */
export function linkIn(mails: readonly MailMessage[]): string {
  return /\/links\/([\w-]{43})/.exec(mails.at(-1)?.text ?? '')?.[1] ?? '';
}
