// The public interface of health: the state of the platform, and the waiting work of an organisation.
import { PlatformHealth, throwProblem } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { route } from '../http/index.ts';
import { type Clock, isoTime, type Queries } from '../platform/index.ts';

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

/** Normally work waits for a few seconds. */
const degradedAfterSeconds = 60;

type Queues = PlatformHealth['queues'];
type WaitingWork = {
  readonly [Name in keyof Queues]: { readonly count: number; readonly oldestAt?: number };
};
type Component = { readonly name: string; readonly isUp: boolean };

function healthOf(
  now: number,
  components: readonly Component[],
  { jobs, outbox, webhooks }: WaitingWork,
): PlatformHealth {
  const viewQueue = ({ count, oldestAt = now }: WaitingWork['jobs']) => ({
    waiting: count,
    oldestSeconds: Math.max(0, Math.floor((now - oldestAt) / 1000)),
  });
  const queues = {
    jobs: viewQueue(jobs),
    outbox: viewQueue(outbox),
    webhooks: viewQueue(webhooks),
  };
  // An unavailable webhook receiver is not an error of the platform, so webhooks do not count.
  const isLate = [queues.jobs, queues.outbox].some(
    (queue) => queue.oldestSeconds >= degradedAfterSeconds,
  );
  const isDown = components.some(({ isUp }) => !isUp);
  return {
    at: new Date(now).toISOString(),
    status: isLate || isDown ? 'Degraded' : 'Up',
    components: components.map(({ name, isUp }) => ({ name, status: isUp ? 'Up' : 'Down' })),
    queues,
  };
}
