// The public interface of health: the state of the platform, and the waiting work of an organisation.
import { PlatformHealth, throwProblem } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { route } from '../http/index.ts';
import { createWaitingWorkCounter, type WaitingWorkDeps } from './count-waiting-work.ts';
import { healthOf } from './health-status.ts';

export { registerNumbering, registerNumberingGauges } from './numbering-routes.ts';

export type HealthDeps = WaitingWorkDeps & {
  /** The components that this process needs, by name; each check ends by itself. */
  readonly checks: Readonly<Record<string, () => Promise<boolean>>>;
};

/** @example registerHealth(http.app, { database, clock, checks: { database: database.healthy } }); */
export function registerHealth(app: FastifyInstance, deps: HealthDeps): void {
  const queues = createWaitingWorkCounter(deps);

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
        queues.countOf(caller.organizationId),
      ]);
      return healthOf(deps.clock.now(), components, waiting);
    },
  });
}
