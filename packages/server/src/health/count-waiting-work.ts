// Counts the waiting work of an organisation up to a limit.
import { type Clock, isoTime, type Queries } from '../platform/index.ts';
import type { WaitingWork } from './health-status.ts';

/** Counting stops here to limit the cost. */
const maxCounted = 10_000;

export type WaitingWorkDeps = { readonly database: Queries; readonly clock: Clock };

const boundedCount = (column: string, from: string) =>
  `SELECT count(*) AS count, min(since) AS since
   FROM (SELECT ${column} AS since FROM ${from} LIMIT ${maxCounted}) AS waiting`;

/** A running job is due again when its lease ends. */
const jobsText = boundedCount('due_at', 'jobs WHERE organization_id = $1 AND due_at <= $2');
const outboxText = boundedCount(
  'created_at',
  'outbox WHERE organization_id = $1 AND created_at <= $2',
);
const webhooksText = boundedCount(
  'created_at',
  `webhook_deliveries WHERE organization_id = $1 AND created_at <= $2 AND status = 'Pending'`,
);

export function createWaitingWorkCounter({ database, clock }: WaitingWorkDeps) {
  async function count(text: string, organizationId: string): Promise<WaitingWork['jobs']> {
    const values = [organizationId, isoTime(clock.now())];
    const [row] = await database.query<{ count: number; since: Date | null }>(text, values);
    const since = row?.since ?? undefined;
    return { count: row?.count ?? 0, ...(since && { oldestAt: since.getTime() }) };
  }

  return {
    async countOf(organizationId: string): Promise<WaitingWork> {
      const [jobs, outbox, webhooks] = await Promise.all(
        [jobsText, outboxText, webhooksText].map((text) => count(text, organizationId)),
      );
      const noWork = { count: 0 };
      return { jobs: jobs ?? noWork, outbox: outbox ?? noWork, webhooks: webhooks ?? noWork };
    },
  };
}
