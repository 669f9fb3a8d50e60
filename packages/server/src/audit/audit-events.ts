// Publishes audit records as events: actor, action and entity, without the values before and after.
import { publishedActions } from '@switchyard/contract';
import type { Ids, OutboxEventData, OutboxEventMapper } from '../platform/index.ts';
import type { ChainedRecord } from './hash-chain.ts';

const prefix = 'audit.';

/** An outbox row: its subject is the chain, and its sequence the number of the record. */
export type AuditOutboxRow = {
  readonly outboxId: string;
  readonly kind: string;
  readonly sequence: number;
};

/** The outbox rows of the published records, for the same transaction. */
export function outboxRows(records: readonly ChainedRecord[], ids: Ids): AuditOutboxRow[] {
  return records.flatMap(({ record: { action, sequence } }) =>
    publishedActions.has(action)
      ? [{ outboxId: ids.uuid(), kind: `${prefix}${action}`, sequence }]
      : [],
  );
}

/** Selects the names of changed members only; values need the permission to read the audit. */
const factsText = `SELECT o.outbox_id AS "outboxId", r.action, r.entity_type AS "entityType",
    r.entity_id AS "entityId", r.merchant_id AS "merchantId", r.actor_kind AS "actorKind",
    r.actor_subject AS "actorSubject", r.request_id AS "requestId",
    CASE WHEN r.before_change IS NOT NULL AND r.after_change IS NOT NULL THEN ARRAY(
      SELECT m.name FROM (SELECT jsonb_object_keys(r.after_change || r.before_change) AS name) m
      WHERE r.before_change->m.name IS DISTINCT FROM r.after_change->m.name ORDER BY m.name
    ) END AS changed
  FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS o(organization_id, outbox_id, sequence)
  CROSS JOIN LATERAL (SELECT * FROM audit_records WHERE organization_id = o.organization_id
    AND sequence = o.sequence LIMIT 1) r`;

type FactsRow = {
  outboxId: string;
  action: string;
  entityType: string;
  entityId: string;
  merchantId: string | null;
  actorKind: string;
  actorSubject: string;
  requestId: string | null;
  changed: string[] | null;
};

/** Members that change with every change. */
const unpublishedMembers: ReadonlySet<string> = new Set(['updatedAt', 'version']);

function eventFacts(row: FactsRow): OutboxEventData {
  const { action, entityType, entityId, changed, requestId } = row;
  const merchantId = row.merchantId ?? (entityType === 'merchant' ? entityId : null);
  return {
    merchantId,
    type: publishedActions.get(action) ?? action,
    subjectId: entityId,
    data: {
      entity: { type: entityType, id: entityId },
      ...(changed === null
        ? {}
        : { changed: changed.filter((name) => !unpublishedMembers.has(name)) }),
      actor: { kind: row.actorKind, subject: row.actorSubject },
      ...(requestId === null ? {} : { requestId }),
    },
  };
}

/** The event source of the audit. */
export const auditEvents: OutboxEventMapper = {
  prefix,
  async read(rows, trx) {
    const eventRows = await trx.query<FactsRow>(factsText, [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.outboxId),
      rows.map((row) => row.sequence),
    ]);
    return new Map(eventRows.map((row) => [row.outboxId, eventFacts(row)]));
  },
};
