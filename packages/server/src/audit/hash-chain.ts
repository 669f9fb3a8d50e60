// Makes records of entries: each with its number, its time and the hash that ties it to the one before.
import { hash } from 'node:crypto';
import { type AuditRecord, auditRecordText, defined } from '@switchyard/contract';
import { isoTime, isSecretMember } from '../platform/index.ts';
import type { AuditEntry } from './audit-entry.ts';

/** The end of a chain, as the next record needs it. */
export type ChainHead = {
  readonly sequence: number;
  readonly hash: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly checkpointSequence: number;
  /** Numbers that the next record leaves out. */
  readonly skipped: number;
};

const redacted = '[redacted]';
const ownMember = { enumerable: true, configurable: true, writable: true };
/** A body of a request nests 32 levels at most, and a record has a few around what came with one. */
const maxDepth = 40;

/** Whether there is one, and since when, may be told: `hasPassword`, `secretChangedAt`. */
const isSecret = (name: string, member: unknown): boolean =>
  isSecretMember(name) && typeof member !== 'boolean' && !name.endsWith('ChangedAt');

/** As the database gives it back, so that the hash is the same: no dates, no characters it cannot hold. */
function storableValue(value: unknown, depth = 0): unknown {
  if (depth > maxDepth) throw new RangeError('the audit keeps no value that lies so deep');
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

/** A record, and its text with the hash: spelt once for both, and kept as it is. */
export type ChainedRecord = { readonly record: AuditRecord; readonly text: string };

function chainRecord(entry: AuditEntry, head: ChainHead, now: number): ChainedRecord {
  const { organizationId, actor, action, entity, before, after, requestId } = entry;
  const content = {
    organizationId,
    sequence: head.sequence + head.skipped + 1,
    // Processes have clocks of their own; in a chain time does not run backwards.
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

/** The records of the entries, in their order, behind the end of the chain. */
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
