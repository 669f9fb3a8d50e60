// One batch for one organisation: new feed events, or a part of the run over all its payments.
import {
  listClearingFileIds,
  listTransactionIds,
  type RecentTransactions,
  readClearingTotals,
} from '../../payments/index.ts';
import { type Clock, type Database, isoTime, nilUuid, type Queries } from '../../platform/index.ts';
import { listQrPaymentIds } from '../../qr/index.ts';
import type { DictionarySession, GroupDictionaries } from './group-dictionary.ts';
import { type PaymentsToProject, projectPayments, withoutFeedEvents } from './project-payments.ts';
import {
  deleteReportPart,
  type FeedEvent,
  feedEventsSql,
  insertPositionSql,
  insertSettlementFilesSql,
  type LockedPosition,
  lockPositionSql,
  type ProjectionPosition,
  type ProjectionStage,
  updatePositionSql,
} from './projection-sql.ts';

/** The events of one transaction, in which each sum is written once. */
const eventsAtOnce = 4000;
const filesAtOnce = 20;

type BatchContext = {
  readonly queries: Queries;
  readonly organizationId: string;
  readonly dictionary: DictionarySession;
  readonly at: string;
  readonly recent: RecentTransactions | undefined;
};

const cardEventPrefixes = ['transaction.', 'offline.'];
const clearingFileEvent = 'clearing.file_made';

function groupEvents(events: readonly FeedEvent[]): PaymentsToProject & { files: string[] } {
  const cards = new Map<string, number>();
  const qr = new Set<string>();
  const files = new Set<string>();
  for (const { type, subjectId, sequence } of events) {
    if (cardEventPrefixes.some((prefix) => type.startsWith(prefix))) {
      cards.set(subjectId, Math.max(sequence, cards.get(subjectId) ?? 0));
    } else if (type.startsWith('qr.')) qr.add(subjectId);
    else if (type === clearingFileEvent) files.add(subjectId);
  }
  return { cards, qr: [...qr], files: [...files] };
}

async function recordClearingFiles(
  { queries, organizationId }: BatchContext,
  fileIds: readonly string[],
): Promise<void> {
  for (const fileId of fileIds) {
    const sums = await readClearingTotals(queries, organizationId, fileId);
    const rows = sums.map(({ lines, amount, ...key }) => ({ ...key, fileId, lines, amount }));
    if (rows.length > 0)
      await queries.query(insertSettlementFilesSql, [organizationId, JSON.stringify(rows)]);
  }
}

type StageResult = {
  readonly stage: ProjectionStage;
  readonly place: string;
  readonly isFull: boolean;
};

const nextStages: Readonly<Record<ProjectionStage, ProjectionStage>> = {
  Wiping: 'Cards',
  Cards: 'Qr',
  Qr: 'Files',
  Files: 'Following',
  Following: 'Following',
};

/** Processes a part of the run; each stage starts at its first row. */
async function projectStage(
  context: BatchContext,
  { stage, place }: ProjectionPosition,
): Promise<StageResult> {
  const { queries, organizationId } = context;
  const toResult = (ids: readonly string[], limit: number): StageResult =>
    ids.length === limit
      ? { stage, place: ids.at(-1) ?? nilUuid, isFull: true }
      : { stage: nextStages[stage], place: nilUuid, isFull: stage !== 'Files' };
  switch (stage) {
    case 'Wiping': {
      const hasMore = await deleteReportPart(queries, organizationId);
      return { stage: hasMore ? 'Wiping' : 'Cards', place: nilUuid, isFull: true };
    }
    case 'Cards': {
      const cards = await listTransactionIds(queries, organizationId, place, eventsAtOnce);
      await projectPayments(queries, context, { cards: withoutFeedEvents(cards), qr: [] });
      return toResult(cards, eventsAtOnce);
    }
    case 'Qr': {
      const qr = await listQrPaymentIds(queries, organizationId, place, eventsAtOnce);
      await projectPayments(queries, context, { cards: withoutFeedEvents([]), qr });
      return toResult(qr, eventsAtOnce);
    }
    case 'Files': {
      const files = await listClearingFileIds(queries, organizationId, place, filesAtOnce);
      await recordClearingFiles(context, files);
      return toResult(files, filesAtOnce);
    }
    default:
      return { stage, place, isFull: false };
  }
}

/** If events were deleted before the server read them, a run over all payments replaces them. */
function restartAfterDeletedEvents(position: ProjectionPosition): ProjectionPosition {
  if (position.swept <= position.position) return position;
  const isWiping = position.stage === 'Wiping';
  return {
    ...position,
    position: position.swept,
    stage: isWiping ? 'Wiping' : 'Cards',
    place: nilUuid,
  };
}

/** Sums of an older version lack values that this version reads, so the reports are rebuilt. */
function restartAfterOlderVersion({ isForeign, ...position }: LockedPosition): ProjectionPosition {
  return isForeign ? { ...position, stage: 'Wiping', place: nilUuid } : position;
}

async function projectFeedEvents(context: BatchContext, position: number): Promise<FeedEvent[]> {
  const { queries, organizationId } = context;
  const events = await queries.query<FeedEvent>(feedEventsSql, [
    organizationId,
    position,
    eventsAtOnce,
  ]);
  const { files, ...payments } = groupEvents(events);
  await projectPayments(queries, context, payments);
  await recordClearingFiles(context, files);
  return events;
}

export type BatchResult = {
  /** The number of processed events. */
  readonly events: number;
  /** True if more events probably wait. */
  readonly isFull: boolean;
  /** True if another process holds the organisation. */
  readonly isLockedElsewhere: boolean;
};

export type ProjectionBatchDeps = {
  database: Database;
  clock: Clock;
  dictionaries: GroupDictionaries;
  /**
   * The sales that this process has committed; if absent, the server reads all from the database.
   */
  recent?: RecentTransactions | undefined;
  /** Pauses after this much work, so that other work of the process can run. */
  pauseAfter(workedMs: number): Promise<void>;
};

/**
 * Pauses after each statement, because a batch without pauses would delay sales for half a second.
 */
function withPauses(queries: Queries, pauseAfter: ProjectionBatchDeps['pauseAfter']): Queries {
  let startedMs = performance.now();
  return {
    ...queries,
    async query(statement, ...parameters) {
      const rows = await queries.query<never>(statement, ...parameters);
      await pauseAfter(performance.now() - startedMs);
      startedMs = performance.now();
      return rows;
    },
  };
}

/** @example const { isFull } = await runProjectionBatch(deps, organizationId); */
export async function runProjectionBatch(
  deps: ProjectionBatchDeps,
  organizationId: string,
): Promise<BatchResult> {
  const { database, clock, dictionaries } = deps;
  let dictionary: DictionarySession | undefined;
  const now = clock.now();
  const result = await database.transaction(async (trx): Promise<BatchResult> => {
    const queries = withPauses(trx, deps.pauseAfter);
    // Created with the transaction, because ids of a rolled-back transaction are not valid.
    dictionary = dictionaries.open(organizationId);
    const at = isoTime(now);
    const context: BatchContext = { queries, organizationId, dictionary, at, recent: deps.recent };
    const [locked] = await queries.query<LockedPosition>(lockPositionSql, [organizationId]);
    if (locked === undefined) return { events: 0, isFull: false, isLockedElsewhere: true };
    const position = restartAfterDeletedEvents(restartAfterOlderVersion(locked));
    const stageResult = await projectStage(context, position);
    // During the deletion of old reports, new lines would be deleted too.
    const isWiping = position.stage === 'Wiping';
    const events = isWiping ? [] : await projectFeedEvents(context, position.position);
    const last = events.at(-1);
    const isFull = events.length >= eventsAtOnce;
    // After a failover the feed may skip positions, so the head also counts as reached.
    const lastSeen = last?.position ?? position.position;
    const reached = isFull || isWiping ? lastSeen : Math.max(lastSeen, position.head);
    const asOf = isFull && last !== undefined ? last.createdAt.getTime() : now;
    const place = stageResult.stage === 'Following' ? null : stageResult.place;
    await queries.query(updatePositionSql, [
      organizationId,
      reached,
      isoTime(asOf),
      stageResult.stage,
      place,
    ]);
    return {
      events: events.length,
      isFull: isFull || stageResult.isFull,
      isLockedElsewhere: false,
    };
  });
  if (!result.isLockedElsewhere) dictionary?.cacheAfterCommit();
  return result;
}

/** Creates the row with the position of the reports of an organisation. */
export async function createReportPosition(
  { database, clock }: Pick<ProjectionBatchDeps, 'database' | 'clock'>,
  organizationId: string,
): Promise<void> {
  await database.query(insertPositionSql, [organizationId, isoTime(clock.now())]);
}

/**
 * Marks the reports of an organisation, so that the follower deletes and rebuilds them in steps.
 */
export async function rebuildReports(database: Database, organizationId: string): Promise<void> {
  await database.query(
    `INSERT INTO report_positions (organization_id, position, as_of, stage, place)
     VALUES ($1, coalesce((SELECT position FROM feed_heads WHERE organization_id = $1), 0), now(), 'Wiping', NULL)
     ON CONFLICT (organization_id) DO UPDATE SET stage = 'Wiping', place = NULL`,
    [organizationId],
  );
}
