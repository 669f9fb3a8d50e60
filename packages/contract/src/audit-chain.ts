/** The chain of the audit: what the hash of a record is taken over, and how a chain is verified. */
import type { AuditCheckpoint, AuditRecord } from './schemas/audit.ts';

/**
 * What stands in the place of the hash before the first record of an organisation.
 *
 * @example
 * const isFirst = record.previousHash === auditGenesis;
 */
export const auditGenesis = '0'.repeat(64);

/**
 * JSON in one spelling (after RFC 8785): members sorted by their names, no spaces, members that are
 * undefined left out. Equal values have equal texts.
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
 * The text whose SHA-256 in lower-case hexadecimal is the hash of a record: all of the record but
 * the hash, the hash of the record before it included.
 *
 * @example
 * record.hash === createHash('sha256').update(auditRecordText(record)).digest('hex');
 */
export function auditRecordText(record: Omit<AuditRecord, 'hash'>): string {
  return canonicalJson({ ...record, hash: undefined });
}

/**
 * The text that a checkpoint signs: all of the checkpoint but the signature.
 *
 * @example
 * const signature = sign(null, Buffer.from(auditCheckpointText(checkpoint)), privateKey);
 */
export function auditCheckpointText(checkpoint: Omit<AuditCheckpoint, 'signature'>): string {
  return canonicalJson({ ...checkpoint, signature: undefined });
}
