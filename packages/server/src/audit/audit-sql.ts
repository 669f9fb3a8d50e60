// The SQL of the audit: locks heads, and only ever adds records and checkpoints.
import {
  type AuditCheckpoint,
  type AuditKey,
  type AuditRecord,
  auditGenesis,
  defined,
} from '@switchyard/contract';
import {
  bucketSql,
  type Database,
  isoTime,
  publicSigningKey,
  type Queries,
  toRecords,
} from '../platform/index.ts';
import type { AuditOutboxRow } from './audit-events.ts';
import type { ChainHead } from './hash-chain.ts';

type StoredCheckpoint = Omit<AuditCheckpoint, 'organizationId' | 'at'> & { at: number };
type StoredRecord = Omit<AuditRecord, 'at' | 'actor' | 'entity'> & {
  at: number;
  actorSubject: string;
  actorClientId: string;
  actorKind: AuditRecord['actor']['kind'];
  actorOrganizationId?: string;
  entityType: string;
  entityId: string;
  merchantId?: string;
};

const headText = `SELECT sequence, hash, at, checkpoint_sequence, skipped FROM audit_heads
  WHERE organization_id = $1 FOR UPDATE`;

/** Until the transaction ends, no other transaction adds to this chain. */
export async function lockHead(trx: Queries, organizationId: string): Promise<ChainHead> {
  const readHead = async () => toRecords<ChainHead>(await trx.query(headText, [organizationId]))[0];
  let head = await readHead();
  if (head === undefined) {
    await trx.query(
      `INSERT INTO audit_heads (organization_id, sequence, hash, at, checkpoint_sequence)
       VALUES ($1, 0, $2, $3, 0) ON CONFLICT (organization_id) DO NOTHING`,
      [organizationId, auditGenesis, isoTime(0)],
    );
    head = await readHead();
  }
  if (head === undefined)
    throw new Error('the head of an audit chain was not found after its creation');
  return head;
}

/** One statement adds any number of records, given as a JSON array. */
const appendText = `WITH added AS (
    INSERT INTO audit_records (organization_id, sequence, at, actor_subject, actor_client_id,
      actor_kind, actor_organization_id, action, entity_type, entity_id, merchant_id,
      before_change, after_change, request_id, previous_hash, hash)
    SELECT $1, r.sequence, r.at, r.actor->>'subject', r.actor->>'clientId', r.actor->>'kind',
      (r.actor->>'organizationId')::uuid, r.action, r.entity->>'type', r.entity->>'id', (r.entity->>'merchantId')::uuid, r.before,
      r.after, r."requestId", r."previousHash", r.hash
    FROM jsonb_to_recordset($2::jsonb) AS r(sequence bigint, at timestamptz, actor jsonb,
      action text, entity jsonb, before jsonb, after jsonb, "requestId" text,
      "previousHash" text, hash text)
  ), published AS (
    INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT ${bucketSql('$1::uuid')}, $1, o.outbox_id, o.kind, $1, o.sequence, $5
    FROM unnest($6::uuid[], $7::text[], $8::integer[]) AS o(outbox_id, kind, sequence)
  )
  UPDATE audit_heads SET sequence = $3, hash = $4, at = $5, skipped = 0 WHERE organization_id = $1`;

type RecordBatch = {
  readonly organizationId: string;
  /** The JSON of each record with its hash. */
  readonly texts: readonly string[];
  readonly last: AuditRecord;
  /** The outbox rows of the published records. */
  readonly outboxRows: readonly AuditOutboxRow[];
};

export async function appendRecords(trx: Queries, addition: RecordBatch): Promise<void> {
  const { organizationId, texts, last, outboxRows } = addition;
  await trx.query(appendText, [
    organizationId,
    `[${texts.join(',')}]`,
    last.sequence,
    last.hash,
    last.at,
    outboxRows.map(({ outboxId }) => outboxId),
    outboxRows.map(({ kind }) => kind),
    outboxRows.map(({ sequence }) => sequence),
  ]);
}

/** Also stores the public key, which verifies the checkpoint later. */
const checkpointText = `WITH key AS (
    INSERT INTO audit_keys (key_id, public_key, created_at) VALUES ($5, $7, $4)
    ON CONFLICT (key_id) DO NOTHING
  ), signed AS (
    INSERT INTO audit_checkpoints (organization_id, sequence, hash, at, key_id, signature)
    VALUES ($1, $2, $3, $4, $5, $6)
  )
  UPDATE audit_heads SET checkpoint_sequence = $2 WHERE organization_id = $1`;

export async function addCheckpoint(
  trx: Queries,
  { organizationId, sequence, hash, at, keyId, signature }: AuditCheckpoint,
  publicKey: string,
): Promise<void> {
  const values = [organizationId, sequence, hash, at, keyId, signature, publicKey];
  await trx.query(checkpointText, values);
}

export async function listCheckpoints(
  database: Database,
  organizationId: string,
  limit: number,
  after = '0',
): Promise<AuditCheckpoint[]> {
  const rows = await database.query(
    `SELECT sequence, hash, at, key_id, signature FROM audit_checkpoints
     WHERE organization_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
    [organizationId, after, limit],
  );
  return toRecords<StoredCheckpoint>(rows).map(({ at, ...checkpoint }) => ({
    organizationId,
    ...checkpoint,
    at: isoTime(at),
  }));
}

/** An upper bound of the number of signing keys. */
const maxKeys = 99;

export async function listKeys(database: Database, exceptKeyId: string): Promise<AuditKey[]> {
  const rows = await database.query<{ key: string }>(
    `SELECT public_key AS key FROM audit_keys WHERE key_id <> $1
     ORDER BY created_at DESC, key_id LIMIT ${maxKeys}`,
    [exceptKeyId],
  );
  return rows.map(({ key }) => publicSigningKey(key));
}

export async function lastSequence(database: Database, organizationId: string): Promise<number> {
  const [head] = await database.query<{ sequence: number }>(
    'SELECT sequence FROM audit_heads WHERE organization_id = $1',
    [organizationId],
  );
  return head?.sequence ?? 0;
}

export type RecordFilters = {
  readonly organizationId: string;
  readonly merchantId?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly entityType?: string;
  readonly entityId?: string;
  readonly requestId?: string;
  readonly from?: string;
  readonly to?: string;
  /** The last sequence to include. */
  readonly upTo?: number;
};
type SequenceRange = {
  readonly isAscending: boolean;
  readonly limit: number;
  readonly after?: number;
};

const recordColumns = `organization_id, sequence, at, actor_subject, actor_client_id, actor_kind,
  actor_organization_id, action, entity_type, entity_id, merchant_id, before_change AS before, after_change AS after,
  request_id, previous_hash, hash`;

/** Time does not go backwards in a chain, so a time range is a range of sequences. */
const spanEnds = {
  from: (at: string) => `sequence >= (SELECT sequence FROM audit_records
    WHERE organization_id = $1 AND at >= ${at} ORDER BY at, sequence LIMIT 1)`,
  to: (at: string) => `sequence <= (SELECT sequence FROM audit_records
    WHERE organization_id = $1 AND at < ${at} ORDER BY at DESC, sequence DESC LIMIT 1)`,
};

function conditionsOf(filters: RecordFilters, values: unknown[]): string {
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const { from, to, upTo } = filters;
  const equal = {
    organization_id: filters.organizationId,
    merchant_id: filters.merchantId,
    actor_subject: filters.actor,
    action: filters.action,
    entity_type: filters.entityType,
    entity_id: filters.entityId,
    request_id: filters.requestId,
  };
  return [
    ...Object.entries(equal)
      .filter(([, value]) => value !== undefined)
      .map(([column, value]) => `${column} = ${addParameter(value)}`),
    ...(from === undefined ? [] : [spanEnds.from(addParameter(from))]),
    ...(to === undefined ? [] : [spanEnds.to(addParameter(to))]),
    ...(upTo === undefined ? [] : [`sequence <= ${addParameter(upTo)}`]),
  ].join(' AND ');
}

export async function listRecords(
  database: Database,
  filters: RecordFilters,
  { isAscending, limit, after }: SequenceRange,
): Promise<AuditRecord[]> {
  const values: unknown[] = [];
  const conditions = [conditionsOf(filters, values)];
  if (after !== undefined) {
    conditions.push(`sequence ${isAscending ? '>' : '<'} $${values.push(after)}`);
  }
  const rows = await database.query(
    `SELECT ${recordColumns} FROM audit_records WHERE ${conditions.join(' AND ')}
     ORDER BY sequence ${isAscending ? '' : 'DESC'} LIMIT $${values.push(limit)}`,
    values,
  );
  return toRecords<StoredRecord>(rows).map(recordOf);
}

export async function findRecord(
  database: Database,
  within: Pick<RecordFilters, 'organizationId' | 'merchantId'>,
  sequence: number,
): Promise<AuditRecord | undefined> {
  const cut = { isAscending: true, limit: 1, after: sequence - 1 };
  const [record] = await listRecords(database, { ...within, upTo: sequence }, cut);
  return record;
}

/** The record as it was hashed: absent members stay absent. */
function recordOf(stored: StoredRecord): AuditRecord {
  const { at, actorSubject, actorClientId, actorKind, actorOrganizationId, ...others } = stored;
  const { entityType, entityId, merchantId, ...record } = others;
  return {
    ...record,
    at: isoTime(at),
    actor: {
      subject: actorSubject,
      clientId: actorClientId,
      kind: actorKind,
      ...defined({ organizationId: actorOrganizationId }),
    },
    entity: { type: entityType, id: entityId, ...defined({ merchantId }) },
  };
}
