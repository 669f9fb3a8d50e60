/**
 * The hash chain of the audit: the text that is hashed for a record, and the text of a checkpoint.
 */
import type { AuditCheckpoint, AuditRecord } from './schemas/platform/audit.ts';

/**
 * The value of `previousHash` in the first record of an organisation.
 *
 * @example
 * const isFirst = record.previousHash === auditGenesis;
 */
export const auditGenesis = '0'.repeat(64);

/**
 * Canonical JSON (after RFC 8785): members sorted by name, no spaces, and no undefined members.
 * Equal values have equal texts.
 *
 * @example
 * canonicalJson({ b: 1, a: ['x'] }); // '{"a":["x"],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  let members = '';
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/**
 * The text of a record's hash, which is its SHA-256 in lower-case hexadecimal. It contains the
 * whole record without `hash`, so it includes the hash of the previous record.
 *
 * @example
 * record.hash === createHash('sha256').update(auditRecordText(record)).digest('hex');
 */
export function auditRecordText(record: Omit<AuditRecord, 'hash'>): string {
  return canonicalJson({ ...record, hash: undefined });
}

/**
 * The text that a checkpoint signs: the whole checkpoint without the signature.
 *
 * @example
 * const signature = sign(null, Buffer.from(auditCheckpointText(checkpoint)), privateKey);
 */
export function auditCheckpointText(checkpoint: Omit<AuditCheckpoint, 'signature'>): string {
  return canonicalJson({ ...checkpoint, signature: undefined });
}
