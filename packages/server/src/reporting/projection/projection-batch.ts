// One batch for one organisation: new feed events, or a part of the walk over all its payments.
import {
  listClearingFileIds,
  listTransactionIds,
  type RecentTransactions,
  readClearingTotals,
} from '../../payments/index.ts';
import { type Clock, type Database, isoTime } from '../../platform/index.ts';
import { walkQrPayments } from '../../qr/index.ts';
import { nil, type RunQuery, runIn } from '../infrastructure/run-query.ts';
import type { Dictionaries, Numbering } from './group-dictionary.ts';
import { notToldOf, project, type Subjects } from './project-payments.ts';
import {
  beginText,
  filesText,
  type HeldPosition,
  holdText,
  moveText,
  type News,
  newsText,
  type Position,
  type Stage,
  wipePart,
} from './projection-sql.ts';

/** The events of one transaction, in which each sum is written once. */
const eventsAtOnce = 2000;
const filesAtOnce = 20;

type Held = {
  readonly run: RunQuery;
  readonly organizationId: string;
  readonly numbering: Numbering;
  readonly at: string;
  readonly recent: RecentTransactions | undefined;
};

const cardKinds = ['transaction.', 'offline.'];
const filed = 'clearing.file_made';

function subjectsOf(news: readonly News[]): Subjects & { files: string[] } {
  const cards = new Map<string, number>();
  const qr = new Set<string>();
  const files = new Set<string>();
  for (const { type, subjectId, sequence } of news) {
    if (cardKinds.some((prefix) => type.startsWith(prefix))) {
      cards.set(subjectId, Math.max(sequence, cards.get(subjectId) ?? 0));
    } else if (type.startsWith('qr.')) qr.add(subjectId);
    else if (type === filed) files.add(subjectId);
  }
  return { cards, qr: [...qr], files: [...files] };
}

async function noteFiles({ run, organizationId }: Held, fileIds: readonly string[]): Promise<void> {
  for (const fileId of fileIds) {
    const sums = await readClearingTotals(run, organizationId, fileId);
    const rows = sums.map(({ lines, amount, ...key }) => ({ ...key, fileId, lines, amount }));
    if (rows.length > 0) await run(filesText, [organizationId, JSON.stringify(rows)]);
  }
}

type Walked = { readonly stage: Stage; readonly place: string; readonly isFull: boolean };

const nextStages: Readonly<Record<Stage, Stage>> = {
  Wiping: 'Cards',
  Cards: 'Qr',
  Qr: 'Files',
  Files: 'Following',
  Following: 'Following',
};

/** Processes a part of the walk; each stage starts at its first row. */
async function walk(held: Held, { stage, place }: Position): Promise<Walked> {
  const { run, organizationId } = held;
  const goOn = (ids: readonly string[], most: number): Walked =>
    ids.length === most
      ? { stage, place: ids.at(-1) ?? nil, isFull: true }
      : { stage: nextStages[stage], place: nil, isFull: stage !== 'Files' };
  switch (stage) {
    case 'Wiping': {
      const isLeft = await wipePart(run, organizationId);
      return { stage: isLeft ? 'Wiping' : 'Cards', place: nil, isFull: true };
    }
    case 'Cards': {
      const cards = await listTransactionIds(run, organizationId, place, eventsAtOnce);
      await project(run, held, { cards: notToldOf(cards), qr: [] });
      return goOn(cards, eventsAtOnce);
    }
    case 'Qr': {
      const qr = await walkQrPayments(run, organizationId, place, eventsAtOnce);
      await project(run, held, { cards: notToldOf([]), qr });
      return goOn(qr, eventsAtOnce);
    }
    case 'Files': {
      const files = await listClearingFileIds(run, organizationId, place, filesAtOnce);
      await noteFiles(held, files);
      return goOn(files, filesAtOnce);
    }
    default:
      return { stage, place, isFull: false };
  }
}

/** If events were deleted before the server read them, a walk over all payments replaces them. */
function afterForgotten(position: Position): Position {
  if (position.swept <= position.position) return position;
  const isWiping = position.stage === 'Wiping';
  return {
    ...position,
    position: position.swept,
    stage: isWiping ? 'Wiping' : 'Cards',
    place: nil,
  };
}

/** Sums of an older version lack values that this version reads, so the reports are rebuilt. */
function afterForeign({ isForeign, ...position }: HeldPosition): Position {
  return isForeign ? { ...position, stage: 'Wiping', place: nil } : position;
}

async function follow(held: Held, position: number): Promise<News[]> {
  const { run, organizationId } = held;
  const news = await run<News>(newsText, [organizationId, position, eventsAtOnce]);
  const { files, ...subjects } = subjectsOf(news);
  await project(run, held, subjects);
  await noteFiles(held, files);
  return news;
}

export type Turned = {
  /** The number of processed events. */
  readonly events: number;
  /** True if more events probably wait. */
  readonly isFull: boolean;
  /** True if another process holds the organisation. */
  readonly isHeld: boolean;
};

export type TurnDeps = {
  database: Database;
  clock: Clock;
  dictionaries: Dictionaries;
  /**
   * The sales that this process has committed; if absent, the server reads all from the database.
   */
  recent?: RecentTransactions | undefined;
  /** Pauses after this much work, so that other work of the process can run. */
  rest(workedMs: number): Promise<void>;
};

/**
 * Pauses after each statement, because a batch without pauses would delay sales for half a second.
 */
function withRests(run: RunQuery, rest: TurnDeps['rest']): RunQuery {
  let fromMs = performance.now();
  return async (text, values) => {
    const rows = await run<never>(text, values);
    await rest(performance.now() - fromMs);
    fromMs = performance.now();
    return rows;
  };
}

/** @example const { isFull } = await turn(deps, organizationId); */
export async function turn(deps: TurnDeps, organizationId: string): Promise<Turned> {
  const { database, clock, dictionaries } = deps;
  let numbering: Numbering | undefined;
  const now = clock.now();
  const turned = await database.transaction(async (trx): Promise<Turned> => {
    const run = withRests(runIn(trx), deps.rest);
    // Created with the transaction, because numbers of a rolled-back transaction are not valid.
    numbering = dictionaries.of(organizationId);
    const at = isoTime(now);
    const held: Held = { run, organizationId, numbering, at, recent: deps.recent };
    const [found] = await run<HeldPosition>(holdText, [organizationId]);
    if (found === undefined) return { events: 0, isFull: false, isHeld: true };
    const position = afterForgotten(afterForeign(found));
    const walked = await walk(held, position);
    // During the deletion of old reports, new lines would be deleted too.
    const isWiping = position.stage === 'Wiping';
    const news = isWiping ? [] : await follow(held, position.position);
    const last = news.at(-1);
    const isFull = news.length >= eventsAtOnce;
    // After a failover the feed may skip positions, so the head also counts as reached.
    const lastSeen = last?.position ?? position.position;
    const reached = isFull || isWiping ? lastSeen : Math.max(lastSeen, position.head);
    const asOf = isFull && last !== undefined ? last.createdAt.getTime() : now;
    const place = walked.stage === 'Following' ? null : walked.place;
    await run(moveText, [organizationId, reached, isoTime(asOf), walked.stage, place]);
    return { events: news.length, isFull: isFull || walked.isFull, isHeld: false };
  });
  if (!turned.isHeld) numbering?.keep();
  return turned;
}

/** Creates the row with the position of the reports of an organisation. */
export async function begin(
  { database, clock }: Pick<TurnDeps, 'database' | 'clock'>,
  organizationId: string,
): Promise<void> {
  await database.query(beginText, [organizationId, isoTime(clock.now())]);
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
