// Creates audit records with number, time and the hash that links each record to the previous one.
import { hash } from 'node:crypto';
import { type AuditRecord, auditRecordText, defined } from '@switchyard/contract';
import { isoTime, isSecretMember } from '../platform/index.ts';
import type { AuditEntry } from './audit-entry.ts';

/** The end of a chain, from which the next record follows. */
export type ChainHead = {
  readonly sequence: number;
  readonly hash: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly checkpointSequence: number;
  /** How many numbers the next record skips. */
  readonly skipped: number;
};

const redacted = '[redacted]';
const ownMember = { enumerable: true, configurable: true, writable: true };
/** A request body has at most 32 levels, and a record adds a few. */
const maxDepth = 40;

/** Whether a secret exists, and when it changed, is not secret: `hasPassword`, `secretChangedAt`. */
const isSecret = (name: string, member: unknown): boolean =>
  isSecretMember(name) && typeof member !== 'boolean' && !name.endsWith('ChangedAt');

/** The value as the database returns it, so that the hash is equal: no dates, no characters that it cannot store. */
function storableValue(value: unknown, depth = 0): unknown {
  if (depth > maxDepth) throw new RangeError(`an audit value has more than ${maxDepth} levels`);
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '�');
  if (Array.isArray(value)) return value.map((item) => storableValue(item ?? null, depth + 1));
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== 'object' || value === null) return value;
  const storable: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    const copy = isSecret(name, member) ? redacted : storableValue(member, depth + 1);
    if (name === '__proto__') Object.defineProperty(storable, name, { value: copy, ...ownMember });
    else storable[name] = copy;
  }
  return storable;
}

const snapshotOf = (value: object) => storableValue(value) as Record<string, unknown>;

/** A record and its JSON with the hash, which is stored unchanged. */
export type ChainedRecord = { readonly record: AuditRecord; readonly text: string };

function chainRecord(entry: AuditEntry, head: ChainHead, now: number): ChainedRecord {
  const { organizationId, actor, action, entity, before, after, requestId } = entry;
  const content = {
    organizationId,
    sequence: head.sequence + head.skipped + 1,
    // Clocks of processes differ, but time must not go backwards in a chain.
    at: isoTime(Math.max(now, head.at)),
    actor,
    action,
    entity,
    ...defined({
      before: before === undefined ? undefined : snapshotOf(before),
      after: after === undefined ? undefined : snapshotOf(after),
      requestId,
    }),
    previousHash: head.hash,
  };
  const text = auditRecordText(content);
  const digest = hash('sha256', text, 'hex');
  return {
    record: { ...content, hash: digest },
    text: `${text.slice(0, -1)},"hash":"${digest}"}`,
  };
}

/** The records of the entries in their order, after the end of the chain. */
export function chainOf(
  entries: readonly AuditEntry[],
  head: ChainHead,
  now: number,
): ChainedRecord[] {
  const all: ChainedRecord[] = [];
  let end = head;
  for (const entry of entries) {
    const one = chainRecord(entry, end, now);
    const { record } = one;
    all.push(one);
    const { sequence, hash: lastHash } = record;
    end = { ...head, sequence, hash: lastHash, at: Date.parse(record.at), skipped: 0 };
  }
  return all;
}
