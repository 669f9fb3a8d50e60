// Store-and-forward queue of each acquirer link: blocking, backlog and gauges.
import { defined } from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import type { Clock, Database, Job, Metrics } from '../../platform/index.ts';
import { alertAfterAttempts } from '../transaction/time-limits.ts';

type Gauges<Sample> = Readonly<Record<string, { help: string; value: (sample: Sample) => number }>>;

export const elapsedSeconds = (at: string, now: number): number =>
  Math.max(0, now - Date.parse(at)) / 1000;

export type LinkGaugePorts = {
  metrics: Metrics;
  acquiring: Pick<Acquiring, 'listLinkHealth'>;
  clock: Clock;
};

/** A link without a sample has the value 0. If the samples cannot be read, the gauges keep their values. */
export function registerLinkGauges<Sample extends { linkId: string }>(
  { metrics, acquiring }: LinkGaugePorts,
  prefix: string,
  gauges: Gauges<Sample>,
  readSamples: () => Promise<Sample[]>,
): void {
  // One read serves all gauges of a scrape.
  let pendingRead: Promise<Sample[] | undefined> | undefined;
  for (const [name, { help, value }] of Object.entries(gauges)) {
    metrics.gauge({
      name: `switchyard_${prefix}_${name}`,
      help,
      labelNames: ['link'],
      async collect() {
        pendingRead ??= readSamples()
          .catch(() => undefined)
          .finally(() => {
            pendingRead = undefined;
          });
        const samples = await pendingRead;
        if (samples === undefined) return;
        this.reset();
        for (const { linkId } of acquiring.listLinkHealth()) this.set({ link: linkId }, 0);
        for (const sample of samples) this.set({ link: sample.linkId }, value(sample));
      },
    });
  }
}

/** Note on a job without a response. Later messages of the link must wait for it. */
export const noResponseNote = 'Unanswered';

// After the alert a message no longer blocks the others: it may be one that the host cannot process.
const selectBlockingJob = `SELECT 1 FROM jobs
  WHERE organization_id = $1 AND queue_id = $2 AND job_id < $3 AND last_error = '${noResponseNote}'
    AND attempts <= ${alertAfterAttempts} LIMIT 1`;

const isReversal = `payload->>'kind' = 'Reversal'`;

const selectBacklog = `SELECT queue_id AS "linkId", count(*)::int AS length, min(created_at) AS "oldestAt",
    max(attempts)::int AS attempts,
    (count(*) FILTER (WHERE attempts >= ${alertAfterAttempts}))::int AS alerts,
    (count(*) FILTER (WHERE ${isReversal}))::int AS reversals,
    min(created_at) FILTER (WHERE ${isReversal}) AS "oldestReversalAt"
  FROM jobs WHERE queue_id IS NOT NULL AND ($1::uuid IS NULL OR organization_id = $1)
  GROUP BY organization_id, queue_id`;

type BacklogRow = {
  linkId: string;
  length: number;
  oldestAt: Date;
  /** Of the message with most attempts. */
  attempts: number;
  /** Messages that have reached the alert threshold. */
  alerts: number;
  reversals: number;
  oldestReversalAt: Date | null;
};

/** Times are RFC 3339. */
type LinkBacklog = Omit<BacklogRow, 'oldestAt' | 'oldestReversalAt'> & {
  oldestAt: string;
  oldestReversalAt?: string;
};

/** @example const linkQueue = createLinkQueue({ database }); if (await linkQueue.isBlocked(job)) … */
export function createLinkQueue({ database }: { database: Database }) {
  return {
    /** True while an earlier message of the link has no response. */
    async isBlocked({ organizationId, queueId, jobId }: Job): Promise<boolean> {
      if (queueId === undefined) return false;
      return (await database.query(selectBlockingJob, [organizationId, queueId, jobId])).length > 0;
    },
    /** The queues that are not empty, of one organisation or of all organisations. */
    async backlog(organizationId?: string): Promise<LinkBacklog[]> {
      const rows = await database.query<BacklogRow>(selectBacklog, [organizationId ?? null]);
      return rows.map(({ oldestAt, oldestReversalAt, ...row }) => ({
        ...row,
        oldestAt: oldestAt.toISOString(),
        ...defined({ oldestReversalAt: oldestReversalAt?.toISOString() }),
      }));
    },
  };
}

export type LinkQueue = ReturnType<typeof createLinkQueue>;

export function registerBacklogGauges(
  linkQueue: Pick<LinkQueue, 'backlog'>,
  ports: LinkGaugePorts,
): void {
  const { clock } = ports;
  const gauges: Gauges<LinkBacklog> = {
    length: {
      help: 'Messages in the queue of an acquirer link that are unsent or without a response',
      value: ({ length }) => length,
    },
    oldest_seconds: {
      help: 'Age of the oldest message in the queue of an acquirer link, in seconds',
      value: ({ oldestAt }) => elapsedSeconds(oldestAt, clock.now()),
    },
    attempts: {
      help: 'Highest number of attempts of a message in the queue of an acquirer link',
      value: ({ attempts }) => attempts,
    },
    stuck_messages: {
      help: 'Messages in the queue of an acquirer link that have reached the alert threshold',
      value: ({ alerts }) => alerts,
    },
    reversals: {
      help: 'Reversals in the queue of an acquirer link',
      value: ({ reversals }) => reversals,
    },
    oldest_reversal_seconds: {
      help: 'Age of the oldest reversal in the queue of an acquirer link, in seconds',
      value: ({ oldestReversalAt: at }) => (at === undefined ? 0 : elapsedSeconds(at, clock.now())),
    },
  };
  registerLinkGauges(ports, 'acquirer_queue', gauges, () => linkQueue.backlog());
}
