// Jobs and mail of one test alone: nothing is sent, and what was written is there to be read.
import { randomUUID } from 'node:crypto';
import type { Job, JobHandler, Jobs, MailMessage } from '../../src/platform/index.ts';

export type PostOffice = {
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly mail: { send(message: MailMessage): Promise<void> };
  /** What lies in the jobs table, as it would be read there. */
  readonly waiting: Job[];
  /** Does what is due until nothing is; tells the mails that were sent since the last time. */
  deliver(): Promise<MailMessage[]>;
};

/** Jobs of a transaction are taken as committed: for tests of what mails say, not of when. */
export function openPostOffice(): PostOffice {
  const handlers = new Map<string, JobHandler>();
  const waiting: Job[] = [];
  const sent: MailMessage[] = [];
  return {
    waiting,
    jobs: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      async enqueue({ organizationId, jobId = randomUUID(), kind, payload, dueAt = 0 }) {
        // What is to be done one day is nobody's business here.
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

/** The link in the mail that was sent last. */
export function linkIn(mails: readonly MailMessage[]): string {
  return /\/links\/([\w-]{43})/.exec(mails.at(-1)?.text ?? '')?.[1] ?? '';
}
