// SQL of clearing files. One statement creates a file with its lines; one stores an acknowledgement.
import { type ClearingLine, duplicateSequenceReason } from '../../acquiring/index.ts';
import type { Database, Ids } from '../../platform/index.ts';
import { insertFileEvent } from './clearing-event-payloads.ts';

export type ClearingFileState = 'Made' | 'Acknowledged' | 'Settled' | 'Rejected';

export type ClearingFileRow = {
  fileId: string;
  linkId: string;
  sequence: number;
  institutionId: string;
  state: ClearingFileState;
  lineCount: number;
  /** Minor units by currency. */
  amounts: Readonly<Record<string, number>>;
  accepted: number;
  rejected: number;
  reason: string | undefined;
  acknowledgement: string | undefined;
  createdAt: string;
  acknowledgedAt: string | undefined;
};

export type ClearingLineRow = {
  line: number;
  transactionId: string;
  operationNumber: number;
  settlementDate: string;
  amount: number;
  currency: string;
  content: ClearingLine;
  status: 'Filed' | 'Accepted' | 'Rejected';
  code: string | undefined;
};

/** How much is open of a link, and since when, RFC 3339. */
export type LinkBacklogSample = { linkId: string; count: number; oldestAt: string };

type FileKey = { organizationId: string; fileId: string };
type AcknowledgementRecord = FileKey & { documentDigest: string; at: string };

export type ClearingStore = {
  /** Creates a file from the due lines. False when none is due or another process created it. */
  createFile(file: {
    organizationId: string;
    linkId: string;
    fileId: string;
    until: string | undefined;
    limit: number;
    institutionId: string;
    at: string;
  }): Promise<boolean>;
  /** Links with captures of days that have ended. */
  findLinksWithDueLines(
    at: string,
    limit: number,
  ): Promise<{ organizationId: string; linkId: string }[]>;
  find(key: FileKey): Promise<ClearingFileRow | undefined>;
  /** The newest first. */
  list(query: {
    organizationId: string;
    linkId: string | undefined;
    state: string | undefined;
    after: string | undefined;
    limit: number;
  }): Promise<ClearingFileRow[]>;
  /** What no acquirer has acknowledged, of all organisations; links without any are left out. */
  countOpenFiles(): Promise<LinkBacklogSample[]>;
  /** The same of captures of days that have ended, which no file holds. */
  countDueLines(at: string): Promise<LinkBacklogSample[]>;
  lines(
    query: FileKey & { after: number; limit: number; status?: string | undefined },
  ): Promise<ClearingLineRow[]>;
  /** Number of the first rejected line whose RRN differs from the file. */
  findReferenceMismatch(
    query: FileKey & { rejections: readonly { line: number; rrn: string }[] },
  ): Promise<number | undefined>;
  /** False where it was acknowledged already. */
  acknowledge(
    acknowledgement: AcknowledgementRecord & {
      accepted: number;
      rejections: readonly { line: number; code: string }[];
      job: { jobId: string; kind: string };
    },
  ): Promise<boolean>;
  /** Its lines wait for the next file, and its number too; false where it was acknowledged already. */
  rejectFile(rejection: AcknowledgementRecord & { reason: string }): Promise<boolean>;
  settleLines(key: FileKey, lines: readonly { line: number; accepted: boolean }[]): Promise<void>;
  /** Once no line is left. */
  settleFile(key: FileKey): Promise<void>;
};

/**
 * The lowest number of the link that no file has: one that was refused gives its own free, and the acquirer takes
 * nothing beyond a gap. Where another file had the number at the acquirer, it is used up there.
 */
const nextFileSequence = `SELECT coalesce(min(place) FILTER (WHERE sequence > place), count(*) + 1) FROM (
    SELECT sequence, row_number() OVER (ORDER BY sequence) AS place FROM clearing_files
    WHERE organization_id = $1 AND link_id = $2
      AND (state <> 'Rejected' OR reason = '${duplicateSequenceReason}')
    GROUP BY sequence) AS used`;

/** The greatest sum of a currency that JSON tells exactly: what is beyond goes into the next file, as with lines. */
const maxTotalAmount = Number.MAX_SAFE_INTEGER;

// Two processes may find different numbers free while a file is refused, so that the number does not keep them
// from the same lines: these are locked, and whoever comes second finds them filed.
const createFileSql = `WITH due AS (
    SELECT transaction_id, number, amount, currency, due_at FROM clearing_lines
    WHERE organization_id = $1 AND link_id = $2 AND file_id IS NULL
      AND ($4::timestamptz IS NULL OR due_at <= $4)
    ORDER BY due_at, transaction_id, number LIMIT $5 FOR UPDATE
  ), summed AS (
    SELECT transaction_id, number, amount, currency, due_at,
      sum(amount) OVER (PARTITION BY currency ORDER BY due_at, transaction_id, number) AS so_far
    FROM due
  ), picked AS (
    SELECT transaction_id, number, amount, currency,
      (row_number() OVER (ORDER BY due_at, transaction_id, number))::int AS line
    FROM summed WHERE so_far <= ${maxTotalAmount}
  ), sums AS (
    SELECT currency, sum(amount) AS amount FROM picked GROUP BY currency
  ), file AS (
    INSERT INTO clearing_files (organization_id, file_id, link_id, sequence, institution_id, state,
      line_count, amounts, accepted, rejected, created_at)
    SELECT $1, $3, $2, (${nextFileSequence}), $6, 'Made', (SELECT count(*) FROM picked),
      (SELECT jsonb_object_agg(currency, amount) FROM sums), 0, 0, $7
    WHERE EXISTS (SELECT 1 FROM picked)
    ON CONFLICT (organization_id, link_id, sequence) WHERE state <> 'Rejected' DO NOTHING
    RETURNING file_id
  ), filed AS (
    UPDATE clearing_lines l SET file_id = file.file_id, line = picked.line, status = 'Filed'
    FROM picked, file WHERE l.organization_id = $1 AND l.transaction_id = picked.transaction_id
      AND l.number = picked.number
  ), told AS (${insertFileEvent('made', '$8', '$7')})
  SELECT file_id FROM file`;

const dueLinksSql = `SELECT DISTINCT organization_id, link_id FROM clearing_lines
  WHERE file_id IS NULL AND due_at <= $1 LIMIT $2`;

const openFilesSql = `SELECT link_id, count(*)::int AS count, min(created_at) AS oldest_at
  FROM clearing_files WHERE state = 'Made' GROUP BY organization_id, link_id`;

const dueLinesSql = `SELECT link_id, count(*)::int AS count, min(due_at) AS oldest_at
  FROM clearing_lines WHERE file_id IS NULL AND due_at <= $1 GROUP BY organization_id, link_id`;

const fileKeySql = 'organization_id = $1 AND file_id = $2';

const findFile = `SELECT * FROM clearing_files WHERE ${fileKeySql}`;

const listFiles = `SELECT * FROM clearing_files WHERE organization_id = $1
    AND ($2::uuid IS NULL OR link_id = $2) AND ($3::text IS NULL OR state = $3)
    AND ($4::uuid IS NULL OR file_id < $4)
  ORDER BY file_id DESC LIMIT $5`;

const selectLines = `SELECT line, transaction_id, number, settlement_date::text AS settlement_date,
    amount, currency, content, status, code FROM clearing_lines
  WHERE ${fileKeySql} AND line > $3 AND ($5::text IS NULL OR status = $5) ORDER BY line LIMIT $4`;

const selectReferenceMismatch = `SELECT line FROM clearing_lines WHERE ${fileKeySql} AND $3::jsonb ? line::text
    AND content->'reference'->>'rrn' IS DISTINCT FROM $3::jsonb->>line::text
  ORDER BY line LIMIT 1`;

// What changes is named by its number in an array or an object: a join would be planned for a file of one line.
const acknowledgeFileSql = `WITH file AS (
    UPDATE clearing_files SET state = 'Acknowledged', accepted = $3, rejected = $4,
      acknowledgement = $6, acknowledged_at = $7
    WHERE ${fileKeySql} AND state = 'Made' RETURNING file_id
  ), marked AS (
    UPDATE clearing_lines l SET code = $5::jsonb->>l.line::text FROM file
    WHERE l.organization_id = $1 AND l.file_id = file.file_id AND $5::jsonb ? l.line::text
  ), job AS (
    INSERT INTO jobs (organization_id, job_id, kind, payload, due_at, attempts, created_at)
    SELECT $1, $8, $9, jsonb_build_object('fileId', file_id), $7, 0, $7 FROM file
  ), told AS (${insertFileEvent('acknowledged', '$10', '$7')})
  SELECT file_id FROM file`;

const rejectFileSql = `WITH file AS (
    UPDATE clearing_files SET state = 'Rejected', rejected = line_count, reason = $3,
      acknowledgement = $4, acknowledged_at = $5
    WHERE ${fileKeySql} AND state = 'Made' RETURNING file_id
  ), back AS (
    UPDATE clearing_lines l SET file_id = NULL, line = NULL, status = 'Waiting' FROM file
    WHERE l.organization_id = $1 AND l.file_id = file.file_id
  ), told AS (${insertFileEvent('rejected', '$6', '$5')})
  SELECT file_id FROM file`;

const settleLines = `UPDATE clearing_lines
  SET status = CASE WHEN line = ANY($4::integer[]) THEN 'Accepted' ELSE 'Rejected' END
  WHERE ${fileKeySql} AND line = ANY($3::integer[])`;

const finishFile = `WITH file AS (
    UPDATE clearing_files SET state = 'Settled'
    WHERE ${fileKeySql} AND state = 'Acknowledged' AND NOT EXISTS (
      SELECT 1 FROM clearing_lines WHERE ${fileKeySql} AND status = 'Filed')
    RETURNING file_id
  )
  ${insertFileEvent('settled', '$3', 'now()')}`;

type Raw = Record<string, unknown>;

const iso = (value: unknown) => new Date(value as string).toISOString();
const optionalText = (value: unknown) => (value === null ? undefined : String(value));

function toFile(row: Raw): ClearingFileRow {
  return {
    fileId: String(row['file_id']),
    linkId: String(row['link_id']),
    sequence: Number(row['sequence']),
    institutionId: String(row['institution_id']),
    state: row['state'] as ClearingFileState,
    lineCount: Number(row['line_count']),
    amounts: row['amounts'] as Record<string, number>,
    accepted: Number(row['accepted']),
    rejected: Number(row['rejected']),
    reason: optionalText(row['reason']),
    acknowledgement: optionalText(row['acknowledgement']),
    createdAt: iso(row['created_at']),
    acknowledgedAt: row['acknowledged_at'] === null ? undefined : iso(row['acknowledged_at']),
  };
}

function toLine(row: Raw): ClearingLineRow {
  return {
    line: Number(row['line']),
    transactionId: String(row['transaction_id']),
    operationNumber: Number(row['number']),
    settlementDate: String(row['settlement_date']),
    amount: Number(row['amount']),
    currency: String(row['currency']),
    content: row['content'] as ClearingLine,
    status: row['status'] as ClearingLineRow['status'],
    code: optionalText(row['code']),
  };
}

type Open = { link_id: string; count: number; oldest_at: Date };

const toBacklogSample = ({
  link_id: linkId,
  count,
  oldest_at: oldestAt,
}: Open): LinkBacklogSample => ({
  linkId,
  count,
  oldestAt: oldestAt.toISOString(),
});

/** @example const files = createClearingStore({ database, ids }); */
export function createClearingStore({
  database,
  ids,
}: {
  database: Database;
  ids: Ids;
}): ClearingStore {
  return {
    async createFile({ organizationId, linkId, fileId, until, limit, institutionId, at }) {
      const values = [organizationId, linkId, fileId, until ?? null, limit, institutionId, at];
      return (await database.query(createFileSql, [...values, ids.uuid()])).length > 0;
    },
    async findLinksWithDueLines(at, limit) {
      const rows = await database.query<Record<string, string>>(dueLinksSql, [at, limit]);
      return rows.map((row) => ({
        organizationId: String(row['organization_id']),
        linkId: String(row['link_id']),
      }));
    },
    async find({ organizationId, fileId }) {
      const [row] = await database.query(findFile, [organizationId, fileId]);
      return row === undefined ? undefined : toFile(row as Raw);
    },
    async list({ organizationId, linkId, state, after, limit }) {
      const values = [organizationId, linkId ?? null, state ?? null, after ?? null, limit];
      return (await database.query(listFiles, values)).map((row) => toFile(row as Raw));
    },
    async countOpenFiles() {
      return (await database.query<Open>(openFilesSql)).map(toBacklogSample);
    },
    async countDueLines(at) {
      return (await database.query<Open>(dueLinesSql, [at])).map(toBacklogSample);
    },
    async lines({ organizationId, fileId, after, limit, status }) {
      const values = [organizationId, fileId, after, limit, status ?? null];
      return (await database.query(selectLines, values)).map((row) => toLine(row as Raw));
    },
    async findReferenceMismatch({ organizationId, fileId, rejections }) {
      const rrnByLine = Object.fromEntries(rejections.map(({ line, rrn }) => [line, rrn]));
      const values = [organizationId, fileId, JSON.stringify(rrnByLine)];
      const [row] = await database.query<{ line: number }>(selectReferenceMismatch, values);
      return row?.line;
    },
    async acknowledge({ organizationId, fileId, accepted, rejections, documentDigest, at, job }) {
      const codes = Object.fromEntries(rejections.map(({ line, code }) => [line, code]));
      const codesJson = JSON.stringify(codes);
      const values = [organizationId, fileId, accepted, rejections.length, codesJson];
      const rows = await database.query(acknowledgeFileSql, [
        ...values,
        documentDigest,
        at,
        job.jobId,
        job.kind,
        ids.uuid(),
      ]);
      return rows.length > 0;
    },
    async rejectFile({ organizationId, fileId, reason, documentDigest, at }) {
      const values = [organizationId, fileId, reason, documentDigest, at, ids.uuid()];
      return (await database.query(rejectFileSql, values)).length > 0;
    },
    async settleLines({ organizationId, fileId }, lines) {
      if (lines.length === 0) return;
      const accepted = lines.filter((each) => each.accepted);
      const numbers = [lines, accepted].map((some) => some.map(({ line }) => line));
      await database.query(settleLines, [organizationId, fileId, ...numbers]);
    },
    async settleFile({ organizationId, fileId }) {
      await database.query(finishFile, [organizationId, fileId, ids.uuid()]);
    },
  };
}
