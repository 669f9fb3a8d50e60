// Adds audit records to the chain of their organisation, in the transaction of the change.
import { setImmediate as turn } from 'node:timers/promises';
import {
  type Clock,
  hourMs,
  type Ids,
  type Jobs,
  type Queries,
  systemIdGenerator,
} from '../platform/index.ts';
import type { AuditEntry, AuditRecorder } from './audit-entry.ts';
import { outboxRows } from './audit-events.ts';
import { appendRecords, lockHead } from './audit-sql.ts';
import { type ChainedRecord, type ChainHead, chainOf } from './hash-chain.ts';

/** The limit of one statement; callers split longer lists. */
const maxEntries = 10_000;
/** The maximum number of records between two checkpoints. */
const recordsPerCheckpoint = 1_000;
/** After so many records, other tasks of the event loop may run. */
const recordsPerTurn = 100;
const checkpointAfterMs = hourMs;
export const checkpointJobKind = 'audit-checkpoint';

export type AuditRecorderDeps = {
  readonly clock: Clock;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue'>;
  readonly ids?: Ids;
};

async function chainAll(entries: readonly AuditEntry[], head: ChainHead, now: number) {
  const all: ChainedRecord[] = [];
  let end = head;
  for (let from = 0; from < entries.length; from += recordsPerTurn) {
    if (from > 0) await turn();
    const part = chainOf(entries.slice(from, from + recordsPerTurn), end, now);
    const last = part.at(-1)?.record;
    if (last !== undefined) {
      const { sequence, hash } = last;
      end = { ...end, sequence, hash, at: Date.parse(last.at), skipped: 0 };
    }
    all.push(...part);
  }
  return all;
}

/** @example const { record } = createAuditRecorder({ clock, jobs }); */
export function createAuditRecorder({
  clock,
  jobs,
  ids = systemIdGenerator,
}: AuditRecorderDeps): AuditRecorder {
  /** The first record after a checkpoint schedules the next checkpoint; each full thousand schedules one at once. */
  function nextCheckpoint(head: ChainHead, sequence: number, now: number): number | undefined {
    const thousands = (count: number) =>
      Math.floor((count - head.checkpointSequence) / recordsPerCheckpoint);
    if (thousands(sequence) > thousands(head.sequence)) return now;
    return head.sequence === head.checkpointSequence ? now + checkpointAfterMs : undefined;
  }

  async function recordAll(trx: Queries, entries: readonly AuditEntry[]): Promise<void> {
    const organizationId = entries[0]?.organizationId;
    if (organizationId === undefined) return;
    if (entries.length > maxEntries) throw new RangeError(`more than ${maxEntries} audit entries`);
    if (entries.some((entry) => entry.organizationId !== organizationId)) {
      throw new RangeError('audit entries of one call must belong to one organisation');
    }
    const head = await lockHead(trx, organizationId);
    const now = clock.now();
    const chained = await chainAll(entries, head, now);
    const last = chained.at(-1)?.record;
    if (last === undefined) return;
    const texts = chained.map(({ text }) => text);
    await appendRecords(trx, { organizationId, texts, last, outboxRows: outboxRows(chained, ids) });
    const dueAt = nextCheckpoint(head, last.sequence, now);
    if (dueAt === undefined) return;
    await jobs.enqueue({ organizationId, kind: checkpointJobKind, payload: {}, dueAt }, trx);
  }

  return { record: (trx, entry) => recordAll(trx, [entry]), recordAll };
}
