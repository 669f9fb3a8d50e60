// The SQL of the audit: heads that are locked, records and checkpoints that are only ever added.
import { type AuditRecord, auditGenesis } from '@switchyard/contract';
import { CompiledQuery, type Kysely } from 'kysely';
import { isoTime } from '../platform/index.ts';
import type { Head } from './chain.ts';

type HeadRow = { sequence: number; hash: string; at: Date; checkpoint_sequence: number };

async function run<Of>(
  trx: Kysely<unknown>,
  text: string,
  values: readonly unknown[],
): Promise<Of[]> {
  return (await trx.executeQuery<Of>(CompiledQuery.raw(text, [...values]))).rows;
}

const headText = `SELECT sequence, hash, at, checkpoint_sequence FROM audit_heads
  WHERE organization_id = $1 FOR UPDATE`;

/** Until the transaction ends, nobody else adds to this chain. */
export async function lockHead(trx: Kysely<unknown>, organizationId: string): Promise<Head> {
  let [row] = await run<HeadRow>(trx, headText, [organizationId]);
  if (row === undefined) {
    await run(
      trx,
      `INSERT INTO audit_heads (organization_id, sequence, hash, at, checkpoint_sequence)
       VALUES ($1, 0, $2, $3, 0) ON CONFLICT (organization_id) DO NOTHING`,
      [organizationId, auditGenesis, isoTime(0)],
    );
    [row] = await run<HeadRow>(trx, headText, [organizationId]);
  }
  if (row === undefined) throw new Error('the head of a chain is gone');
  const { sequence, hash, at, checkpoint_sequence } = row;
  return { sequence, hash, at: at.getTime(), checkpointSequence: checkpoint_sequence };
}

/** Members of the first jsonb are columns, so one statement takes one record and ten thousand alike. */
const appendText = `WITH added AS (
    INSERT INTO audit_records (organization_id, sequence, at, actor_subject, actor_client_id,
      actor_kind, action, entity_type, entity_id, merchant_id, before_change, after_change,
      request_id, previous_hash, hash)
    SELECT $1, r.sequence, r.at, r.actor->>'subject', r.actor->>'clientId', r.actor->>'kind',
      r.action, r.entity->>'type', r.entity->>'id', (r.entity->>'merchantId')::uuid, r.before,
      r.after, r."requestId", r."previousHash", r.hash
    FROM jsonb_to_recordset($2::jsonb) AS r(sequence bigint, at timestamptz, actor jsonb,
      action text, entity jsonb, before jsonb, after jsonb, "requestId" text,
      "previousHash" text, hash text)
  )
  UPDATE audit_heads SET sequence = $3, hash = $4, at = $5 WHERE organization_id = $1`;

export async function append(
  trx: Kysely<unknown>,
  organizationId: string,
  records: readonly AuditRecord[],
  last: AuditRecord,
): Promise<void> {
  const values = [organizationId, JSON.stringify(records), last.sequence, last.hash, last.at];
  await run(trx, appendText, values);
}
