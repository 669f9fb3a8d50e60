// The public interface of health: the state of the platform, and the waiting work of an organisation.
import { PlatformHealth, throwProblem } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { route } from '../http/index.ts';
import { type Clock, isoTime, type Queries } from '../platform/index.ts';
import { healthOf, type WaitingWork } from './health-status.ts';

export { registerNumbering, registerNumberingGauges } from './numbering-routes.ts';

type HealthDeps = {
  readonly database: Queries;
  readonly clock: Clock;
  /** The components that this process needs, by name; each check ends by itself. */
  readonly checks: Readonly<Record<string, () => Promise<boolean>>>;
};

/** @example registerHealth(http.app, { database, clock, checks: { database: database.healthy } }); */
export function registerHealth(app: FastifyInstance, deps: HealthDeps): void {
  async function componentsNow() {
    const checks = Object.entries(deps.checks).map(async ([name, check]) => {
      const isUp = await check().catch(() => false);
      return { name, isUp };
    });
    return Promise.all(checks);
  }

  route(app, {
    method: 'GET',
    url: '/health/v1/components',
    operationId: 'getPlatformHealth',
    summary: 'Get the health of the platform',
    description:
      'The components that the answering process needs, and the waiting work of the organisation. ' +
      'The acquirer links show whether acquirers can be reached.',
    tags: ['Health'],
    permission: 'audit.read',
    response: { 200: PlatformHealth },
    errors: [],
    priority: 'list',
    async handler({ caller }, reply) {
      if (caller.entityType !== 'tenant') {
        throwProblem(
          'permission_denied',
          'Only a token of the organisation can call the operation, not a token of a merchant.',
        );
      }
      reply.header('cache-control', 'no-store');
      const [components, waiting] = await Promise.all([
        componentsNow(),
        countWaitingWork(deps, caller.organizationId),
      ]);
      return healthOf(deps.clock.now(), components, waiting);
    },
  });
}

/** Counting stops here to limit the cost. */
const maxCounted = 10_000;

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

/** Counts the waiting work of an organisation up to a limit. */
async function countWaitingWork(
  { database, clock }: Pick<HealthDeps, 'database' | 'clock'>,
  organizationId: string,
): Promise<WaitingWork> {
  const values = [organizationId, isoTime(clock.now())];
  async function count(text: string): Promise<WaitingWork['jobs']> {
    const [row] = await database.query<{ count: number; since: Date | null }>(text, values);
    const since = row?.since ?? undefined;
    return { count: row?.count ?? 0, ...(since && { oldestAt: since.getTime() }) };
  }
  const [jobs, outbox, webhooks] = await Promise.all([
    count(jobsText),
    count(outboxText),
    count(webhooksText),
  ]);
  return { jobs, outbox, webhooks };
}
