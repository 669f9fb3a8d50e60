// SQL of clearing files. One statement creates a file with its lines; one stores an acknowledgement.
import type { ClearingFileLine, ClearingFileState } from '@switchyard/contract';
import {
  type ClearingAcknowledgement,
  type ClearingLine,
  duplicateSequenceReason,
} from '../../acquiring/index.ts';
import { bucketSql, type Database, type Ids } from '../../platform/index.ts';
import { insertOutboxRow } from '../repository/sql-statements.ts';

export type ClearingFileRow = {
  fileId: string;
  linkId: string;
  sequence: number;
  previousSequence: number;
  institutionId: string;
  state: ClearingFileState;
  lineCount: number;
  /** Minor units by currency, as text: a sum may exceed 2^53. */
  amounts: Readonly<Record<string, string>>;
  accepted: number;
  rejected: number;
  reason: string | null;
  /** SHA-256. */
  acknowledgementDigest: string | null;
  createdAt: Date;
  acknowledgedAt: Date | null;
};

export type ClearingLineRow = Omit<ClearingFileLine, 'code'> & {
  content: ClearingLine;
  code: string | null;
};

export type LinkBacklogSample = { linkId: string; count: number; oldestAt: Date };

/** Further due lines go into the next file. */
const maxLinesPerFile = 50_000;

type FileKey = { organizationId: string; fileId: string };
type AcknowledgementRecord = FileKey &
  Pick<ClearingAcknowledgement, 'accepted' | 'rejections' | 'rejectionReason'> & {
    documentDigest: string;
    at: string;
    job: { jobId: string; kind: string };
  };

const eventSequences = { made: 1, acknowledged: 2, rejected: 2, settled: 3 } as const;

/** For a statement with a CTE `file` that returns the `file_id` of a changed file. */
const insertFileEvent = (eventName: keyof typeof eventSequences, outboxId: string, at: string) =>
  insertOutboxRow({
    kind: `clearing.file_${eventName}`,
    subjectQuery: `SELECT ${bucketSql('file_id')} AS bucket, file_id AS id FROM file`,
    sequence: eventSequences[eventName],
    outboxId,
    at,
  });

/** More files than a link has in the part of the database that a restore may lose. */
const sequenceJump = 1000;
const currentJumps = 'coalesce((SELECT numbering_jumps FROM database_timeline), 0)';
/** A number that the acquirer knows from another file stays used. */
const isUsed = (file: string) =>
  `(${file}.state <> 'Rejected' OR ${file}.reason = '${duplicateSequenceReason}')`;

/**
 * The lowest number that a rejected file has freed, else the one after the last file. After a fail-over or restore of
 * the database numbers continue later, because files may be lost.
 */
const nextFileSequence = `SELECT coalesce((
      SELECT min(r.sequence) FROM clearing_files r WHERE r.organization_id = $1 AND r.link_id = $2
        AND NOT EXISTS (SELECT 1 FROM clearing_files u WHERE u.organization_id = $1 AND u.link_id = $2
          AND u.sequence = r.sequence AND ${isUsed('u')})
    ), (
      SELECT l.sequence + 1 + CASE WHEN l.numbering_jumps < ${currentJumps} THEN ${sequenceJump} ELSE 0 END
      FROM clearing_files l WHERE l.organization_id = $1 AND l.link_id = $2
      ORDER BY l.sequence DESC, l.numbering_jumps DESC LIMIT 1
    ), 1)`;

// While a file is rejected, two processes may find different free numbers. One of them files fewer lines than it has
// counted, because the other has them, and undoes its file.
const createFileSql = `WITH due AS (
    SELECT bucket, transaction_id, operation_number, amount, currency, due_at FROM clearing_lines
    WHERE organization_id = $1 AND link_id = $2 AND file_id IS NULL
      AND ($4::timestamptz IS NULL OR due_at <= $4)
    ORDER BY due_at, transaction_id, operation_number LIMIT $5
  ), picked AS (
    SELECT bucket, transaction_id, operation_number,
      (row_number() OVER (ORDER BY due_at, transaction_id, operation_number))::int AS line FROM due
  ), sums AS (
    SELECT currency, sum(amount)::text AS amount FROM due GROUP BY currency
  ), file AS (
    INSERT INTO clearing_files (organization_id, file_id, link_id, sequence, previous_sequence,
      numbering_jumps, institution_id, state, line_count, amounts, accepted, rejected, created_at)
    SELECT $1, $3, $2, n.sequence, coalesce((SELECT max(f.sequence) FROM clearing_files f
        WHERE f.organization_id = $1 AND f.link_id = $2 AND f.sequence < n.sequence), 0),
      ${currentJumps}, $6, 'Made', (SELECT count(*) FROM picked),
      (SELECT jsonb_object_agg(currency, amount) FROM sums), 0, 0, $7
    FROM (${nextFileSequence}) AS n(sequence)
    WHERE EXISTS (SELECT 1 FROM picked)
    ON CONFLICT (organization_id, link_id, sequence) WHERE state <> 'Rejected' DO NOTHING
    RETURNING file_id, line_count
  ), filed AS (
    UPDATE clearing_lines l SET file_id = file.file_id, line = picked.line, status = 'Filed'
    FROM picked, file WHERE l.bucket = picked.bucket AND l.transaction_id = picked.transaction_id
      AND l.operation_number = picked.operation_number AND l.file_id IS NULL
    RETURNING l.line
  ), outbox_insert AS (${insertFileEvent('made', '$8', '$7')})
  SELECT line_count = (SELECT count(*) FROM filed) AS "isComplete" FROM file`;

class LinesTakenError extends Error {}

const linksWithDueLinesSql = `SELECT DISTINCT organization_id AS "organizationId", link_id AS "linkId"
  FROM clearing_lines WHERE file_id IS NULL AND due_at <= $1 LIMIT $2`;

const countOpenFilesSql = `SELECT link_id AS "linkId", count(*)::int AS count, min(created_at) AS "oldestAt"
  FROM clearing_files WHERE state = 'Made' GROUP BY organization_id, link_id`;

const countDueLinesSql = `SELECT link_id AS "linkId", count(*)::int AS count, min(due_at) AS "oldestAt"
  FROM clearing_lines WHERE file_id IS NULL AND due_at <= $1 GROUP BY organization_id, link_id`;

const fileKeySql = 'organization_id = $1 AND file_id = $2';

const fileColumns = `file_id AS "fileId", link_id AS "linkId", sequence,
  previous_sequence AS "previousSequence",
  institution_id AS "institutionId", state, line_count AS "lineCount", amounts, accepted, rejected,
  reason, acknowledgement_digest AS "acknowledgementDigest", created_at AS "createdAt", acknowledged_at AS "acknowledgedAt"`;

const findFileSql = `SELECT ${fileColumns} FROM clearing_files WHERE ${fileKeySql}`;

export const findFilesSql = `SELECT ${fileColumns} FROM clearing_files
  WHERE organization_id = $1 AND file_id = ANY($2::uuid[])`;

const listFilesSql = `SELECT ${fileColumns} FROM clearing_files WHERE organization_id = $1
    AND ($2::uuid IS NULL OR link_id = $2) AND ($3::text IS NULL OR state = $3)
    AND ($4::uuid IS NULL OR file_id < $4)
  ORDER BY file_id DESC LIMIT $5`;

const listLinesSql = `SELECT line, transaction_id AS "transactionId", operation_number AS "operationNumber",
    settlement_date::text AS "settlementDate", amount, currency, content, status, code
  FROM clearing_lines
  WHERE ${fileKeySql} AND line > $3 AND ($5::text IS NULL OR status = $5) ORDER BY line LIMIT $4`;

const referenceMismatchSql = `SELECT line FROM clearing_lines WHERE ${fileKeySql} AND $3::jsonb ? line::text
    AND content->'reference'->>'rrn' IS DISTINCT FROM $3::jsonb->>line::text
  ORDER BY line LIMIT 1`;

// Lines are named in an array or an object: the planner expects a file of one line and would choose a slow join.
const acknowledgeFileSql = `WITH file AS (
    UPDATE clearing_files SET state = 'Acknowledged', accepted = $6, rejected = $7,
      acknowledgement_digest = $3, acknowledged_at = $4
    WHERE ${fileKeySql} AND state = 'Made' RETURNING file_id
  ), rejected_lines AS (
    UPDATE clearing_lines l SET code = $8::jsonb->>l.line::text FROM file
    WHERE l.organization_id = $1 AND l.file_id = file.file_id AND $8::jsonb ? l.line::text
  ), job_insert AS (
    INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at)
    SELECT ${bucketSql('$9::uuid')}, $1, $9, $10, jsonb_build_object('fileId', file_id), $4, 0, $4 FROM file
  ), outbox_insert AS (${insertFileEvent('acknowledged', '$5', '$4')})
  SELECT file_id FROM file`;

const rejectFileSql = `WITH file AS (
    UPDATE clearing_files SET state = 'Rejected', rejected = line_count, reason = $6,
      acknowledgement_digest = $3, acknowledged_at = $4
    WHERE ${fileKeySql} AND state = 'Made' RETURNING file_id
  ), freed_lines AS (
    UPDATE clearing_lines l SET file_id = NULL, line = NULL, status = 'Waiting' FROM file
    WHERE l.organization_id = $1 AND l.file_id = file.file_id
  ), outbox_insert AS (${insertFileEvent('rejected', '$5', '$4')})
  SELECT file_id FROM file`;

const settleLinesSql = `UPDATE clearing_lines
  SET status = CASE WHEN line = ANY($4::integer[]) THEN 'Accepted' ELSE 'Rejected' END
  WHERE ${fileKeySql} AND line = ANY($3::integer[])`;

const settleFileSql = `WITH file AS (
    UPDATE clearing_files SET state = 'Settled'
    WHERE ${fileKeySql} AND state = 'Acknowledged' AND NOT EXISTS (
      SELECT 1 FROM clearing_lines WHERE ${fileKeySql} AND status = 'Filed')
    RETURNING file_id
  )
  ${insertFileEvent('settled', '$3', 'now()')}`;

export function createClearingStore({ database, ids }: { database: Database; ids: Ids }) {
  return {
    /** Creates a file from the due lines. False when none is due or another process created it. */
    async createFile(
      file: FileKey & {
        linkId: string;
        institutionId: string;
        /** Lines that are due later are left out. Null: all lines. */
        until: string | null;
        at: string;
      },
    ): Promise<boolean> {
      const { organizationId, linkId, fileId, until, institutionId, at } = file;
      const values = [organizationId, linkId, fileId, until, maxLinesPerFile, institutionId, at];
      const create = database.transaction(async (trx) => {
        type Row = { isComplete: boolean };
        const [created] = await trx.query<Row>(createFileSql, [...values, ids.uuid()]);
        if (created?.isComplete === false) throw new LinesTakenError();
        return created !== undefined;
      });
      return create.catch((error: unknown) => {
        if (error instanceof LinesTakenError) return false;
        throw error;
      });
    },

    findLinksWithDueLines: (at: string, limit: number) =>
      database.query<{ organizationId: string; linkId: string }>(linksWithDueLinesSql, [at, limit]),

    async find({ organizationId, fileId }: FileKey): Promise<ClearingFileRow | undefined> {
      const [row] = await database.query<ClearingFileRow>(findFileSql, [organizationId, fileId]);
      return row;
    },

    /** The newest first. */
    list(
      organizationId: string,
      { acquirerLink, state }: { acquirerLink?: string; state?: string },
      { after, limit }: { after?: string | undefined; limit: number },
    ): Promise<ClearingFileRow[]> {
      const linkId = acquirerLink?.toLowerCase();
      return database.query(listFilesSql, [organizationId, linkId, state, after, limit]);
    },

    /** Unacknowledged files of all organisations; links without any are left out. */
    countOpenFiles: () => database.query<LinkBacklogSample>(countOpenFilesSql),

    /** Captures of ended settlement days that are in no file. */
    countDueLines: (at: string) => database.query<LinkBacklogSample>(countDueLinesSql, [at]),

    listLines(query: FileKey & { after: number; limit: number; status?: string | undefined }) {
      const { organizationId, fileId, after, limit, status } = query;
      const values = [organizationId, fileId, after, limit, status];
      return database.query<ClearingLineRow>(listLinesSql, values);
    },

    /** Number of the first rejected line whose RRN differs from the file. */
    async findReferenceMismatch(
      { organizationId, fileId }: FileKey,
      rejections: ClearingAcknowledgement['rejections'],
    ): Promise<number | undefined> {
      if (rejections.length === 0) return undefined;
      const rrnByLine = Object.fromEntries(rejections.map(({ line, rrn }) => [line, rrn]));
      const values = [organizationId, fileId, JSON.stringify(rrnByLine)];
      const [row] = await database.query<{ line: number }>(referenceMismatchSql, values);
      return row?.line;
    },

    /**
     * A rejection of the whole file frees its lines and its sequence number.
     *
     * @returns false if the file has an acknowledgement already
     */
    async storeAcknowledgement(record: AcknowledgementRecord): Promise<boolean> {
      const { organizationId, fileId, documentDigest, at, job } = record;
      const { accepted, rejections, rejectionReason } = record;
      const values = [organizationId, fileId, documentDigest, at, ids.uuid()];
      const codeByLine = Object.fromEntries(rejections.map(({ line, code }) => [line, code]));
      const counts = [accepted, rejections.length, JSON.stringify(codeByLine)];
      const stored =
        rejectionReason === undefined
          ? database.query(acknowledgeFileSql, [...values, ...counts, job.jobId, job.kind])
          : database.query(rejectFileSql, [...values, rejectionReason]);
      return (await stored).length > 0;
    },

    async settleLines(
      { organizationId, fileId }: FileKey,
      lines: readonly { line: number; accepted: boolean }[],
    ): Promise<void> {
      if (lines.length === 0) return;
      const accepted = lines.filter((each) => each.accepted);
      const numbers = [lines, accepted].map((some) => some.map(({ line }) => line));
      await database.query(settleLinesSql, [organizationId, fileId, ...numbers]);
    },

    /** Does nothing while a line has no outcome. */
    async settleFile({ organizationId, fileId }: FileKey): Promise<void> {
      await database.query(settleFileSql, [organizationId, fileId, ids.uuid()]);
    },
  };
}

export type ClearingStore = ReturnType<typeof createClearingStore>;
