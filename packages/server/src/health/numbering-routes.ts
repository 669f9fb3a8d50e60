// Routes of the operator: the state of the numbering after a restored database, and its recovery.
import { defined, PlatformNumbering, throwProblem } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { type Audit, actorOf } from '../audit/index.ts';
import { type Caller, route } from '../http/index.ts';
import type { Database, LostWriteGuard, Metrics } from '../platform/index.ts';

type Ports = {
  readonly database: Pick<Database, 'transaction'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly timeline: LostWriteGuard;
  readonly isOperator: (organizationId: string) => Promise<boolean>;
};

const path = '/health/v1/numbering';
const shared = { tags: ['Health'], permission: 'onb.approve' } as const;

export function registerNumberingGauges(metrics: Metrics, timeline: LostWriteGuard): void {
  metrics.gauge({
    name: 'switchyard_numbering_recovery_required',
    help: '1 while new payments are refused because the restored database does not contain all confirmed payments',
    collect() {
      this.set(timeline.status().isRecoveryRequired ? 1 : 0);
    },
  });
  metrics.gauge({
    name: 'switchyard_numbering_jumps',
    help: 'How often the numbers skipped a margin after a fail-over or a restore of the database',
    collect() {
      this.set(timeline.status().jumps);
    },
  });
}

function viewNumbering({ status }: LostWriteGuard): PlatformNumbering {
  const { isRecoveryRequired, timeline, jumps } = status();
  return {
    status: isRecoveryRequired ? 'RecoveryRequired' : 'Available',
    jumps,
    ...defined({ timeline }),
  };
}

/** @example registerNumbering(http.app, { database, audit, timeline, isOperator: identity.isOperator }); */
export function registerNumbering(app: FastifyInstance, ports: Ports): void {
  const { database, audit, timeline } = ports;

  async function requireOperator({ organizationId, entityType }: Caller): Promise<void> {
    if (entityType === 'tenant' && (await ports.isOperator(organizationId))) return;
    throwProblem(
      'resource_not_found',
      'Only a token of the operator of the platform can use this operation.',
    );
  }

  route(app, {
    ...shared,
    method: 'GET',
    url: path,
    operationId: 'getNumberingState',
    summary: 'Get the state of the numbering',
    description:
      'For the operator of the platform. `RecoveryRequired`: the restored database does not contain all payments that the platform confirmed.',
    response: { 200: PlatformNumbering },
    errors: ['resource_not_found'],
    async handler({ caller }, reply) {
      await requireOperator(caller);
      await timeline.refresh();
      reply.header('cache-control', 'no-store');
      return viewNumbering(timeline);
    },
  });

  route(app, {
    ...shared,
    method: 'POST',
    url: `${path}/recover`,
    operationId: 'recoverNumbering',
    summary: 'Recover the numbering',
    description:
      'For the operator of the platform. The platform increases each number sequence, so that no number is used twice, and accepts new payments again. If no recovery is required, nothing changes.',
    response: { 200: PlatformNumbering },
    errors: ['resource_not_found', 'database_unavailable'],
    async handler({ caller, id }) {
      await requireOperator(caller);
      await timeline.refresh();
      const before = viewNumbering(timeline);
      await database.transaction(async (trx) => {
        if (!(await timeline.recover(trx))) return;
        await audit.record(trx, {
          ...actorOf(caller, id),
          organizationId: caller.organizationId,
          action: 'numbering.recovered',
          entity: { type: 'numbering', id: 'platform' },
          before,
          after: { ...before, status: 'Available', jumps: before.jumps + 1 },
        });
      });
      await timeline.refresh();
      return viewNumbering(timeline);
    },
  });
}
