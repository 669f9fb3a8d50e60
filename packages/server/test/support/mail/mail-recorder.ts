// Jobs and mail of one test: the test reads the mails, and no mail leaves the process.
import { randomUUID } from 'node:crypto';
import type { Job, JobHandler, Jobs, MailMessage } from '../../../src/platform/index.ts';

export type MailRecorder = {
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly mail: { send(message: MailMessage): Promise<void> };
  /** The jobs that the jobs table would contain. */
  readonly queuedJobs: Job[];
  /** Runs all due jobs and returns the mails that were sent since the last call. */
  deliver(): Promise<MailMessage[]>;
};

/** Treats each enqueued job as committed, because these tests check mail content and not timing. */
export function createMailRecorder(): MailRecorder {
  const handlers = new Map<string, JobHandler>();
  const queuedJobs: Job[] = [];
  const sent: MailMessage[] = [];
  return {
    queuedJobs,
    jobs: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      async enqueue({ organizationId, jobId = randomUUID(), kind, payload, dueAt = 0 }) {
        // These tests do not run jobs that are due later.
        if (dueAt > 0) return;
        queuedJobs.push({ organizationId, jobId, kind, payload, attempts: 0, dueAt });
      },
      wake: () => {},
    },
    mail: { send: async (message) => void sent.push(message) },
    async deliver() {
      for (let job = queuedJobs.shift(); job !== undefined; job = queuedJobs.shift()) {
        await handlers.get(job.kind)?.(job);
      }
      return sent.splice(0);
    },
  };
}

/** The link in the last mail. */
export function linkTokenIn(mails: readonly MailMessage[]): string {
  return /\/links\/([\w-]{43})/.exec(mails.at(-1)?.text ?? '')?.[1] ?? '';
}
