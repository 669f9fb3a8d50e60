// Disables a failing endpoint and publishes an event about it in one transaction.
import { type AuditRecorder, platformAuthor } from '../../audit/index.ts';
import {
  bucketSql,
  type Clock,
  type Database,
  type Ids,
  isoTime,
  type OutboxEventData,
  type OutboxEventMapper,
} from '../../platform/index.ts';
import { disableEndpoint } from '../endpoints/endpoint-sql.ts';
import { auditEntityOf, stripUrlQuery, toAuditView } from '../endpoints/endpoint-view.ts';
import type { DisabledCause } from './delivery-dispatcher.ts';
import type { EndpointKey } from './send-deliveries-sql.ts';

const endpointDisabledKind = 'endpoint.disabled';

const insertOutboxText = `INSERT INTO outbox
  (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
  VALUES (${bucketSql('$3::uuid')}, $1, $2, '${endpointDisabledKind}', $3, $4, $5)`;

export type DisableDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: AuditRecorder;
};

/**
 * Returns whether it disabled the endpoint; it does not if the URL has changed.
 *
 * @example const disableEndpoint = createDisableEndpoint(deps); await disableEndpoint({ ...key, url }, 'Gone');
 */
export function createDisableEndpoint({ database, clock, ids, audit }: DisableDeps) {
  return (
    { organizationId, endpointId, url }: EndpointKey & { url: string },
    cause: DisabledCause,
  ) =>
    database.transaction(async (trx): Promise<boolean> => {
      const now = isoTime(clock.now());
      const key = { organizationId, endpointId, url };
      const row = await disableEndpoint(trx, key, cause, now);
      if (row === undefined) return false;
      const values = [organizationId, ids.uuid(), endpointId, row.version, now];
      await trx.query(insertOutboxText, values);
      await audit.record(trx, {
        organizationId,
        ...platformAuthor,
        action: 'endpoint.disabled',
        entity: auditEntityOf(row),
        after: toAuditView(row),
      });
      return true;
    });
}

/** The facts of `endpoint.` events about disabled endpoints. */
export const endpointEventMapper: OutboxEventMapper = {
  prefix: 'endpoint.',
  async read(rows, trx): Promise<ReadonlyMap<string, OutboxEventData>> {
    const endpointRows = await trx.query(
      `SELECT e.organization_id, e.endpoint_id, e.url, e.disabled_reason, e.owner_merchant_id,
         l.succeeded_at
       FROM webhook_endpoints AS e JOIN webhook_delivery_queues AS l
         ON l.organization_id = e.organization_id AND l.endpoint_id = e.endpoint_id
       WHERE e.organization_id = ANY($1::uuid[]) AND e.endpoint_id = ANY($2::uuid[])`,
      [rows.map(({ organizationId }) => organizationId), rows.map(({ subjectId }) => subjectId)],
    );
    const byId = new Map(endpointRows.map((endpoint) => [endpoint['endpoint_id'], endpoint]));
    const facts = rows.flatMap(({ outboxId, subjectId }): [string, OutboxEventData][] => {
      const endpoint = byId.get(subjectId);
      // The endpoint was deleted, so the server publishes no event.
      if (endpoint === undefined) return [];
      const at = endpoint['succeeded_at'];
      const data = {
        endpointId: subjectId,
        url: stripUrlQuery(String(endpoint['url'])),
        reason: String(endpoint['disabled_reason'] ?? 'Requested'),
        ...(at instanceof Date ? { lastSuccessAt: isoTime(at.getTime()) } : {}),
      };
      const owner = endpoint['owner_merchant_id'];
      return [[outboxId, { merchantId: typeof owner === 'string' ? owner : null, data }]];
    });
    return new Map(facts);
  },
};
