// The SQL of the request log: adds lines in batches and deletes the oldest ones.
import type { LoggedRequest, RequestSourceKind } from '@switchyard/contract';
import { isoTime, type Queries, toRecords } from '../platform/index.ts';
import type { RequestLogLine } from './request-log-line.ts';

type StoredLine = Omit<LoggedRequest, 'at' | 'source'> & { at: number };

const columns = `request_id, method, path, operation_id, status, code, errors, duration_ms, client_id,
  user_id, actor_organization_id, merchant_id, store_id, device_id`;

/**
 * The row of the head is locked until the commit, so that the lines of an organisation become visible in
 * the order of their numbers and a stream misses none. The same statement deletes surplus lines, twice as
 * many as it adds.
 */
const addLines = {
  name: 'add_request_log',
  text: `WITH given AS (
    SELECT r.*, row_number() OVER (PARTITION BY r.organization_id ORDER BY r.place) AS nth
    FROM jsonb_to_recordset($1::jsonb) AS r(place integer, organization_id uuid, at timestamptz,
      request_id text, method text, path text, operation_id text, status integer, code text,
      errors jsonb, duration_ms integer, client_id text, user_id text, actor_organization_id uuid,
      merchant_id uuid, store_id uuid, device_id uuid)
  ), counted AS (
    SELECT organization_id, count(*) AS added FROM given GROUP BY organization_id
  ), heads AS (
    INSERT INTO request_log_heads AS h (organization_id, sequence)
    SELECT organization_id, added FROM counted ORDER BY organization_id
    ON CONFLICT (organization_id) DO UPDATE SET sequence = h.sequence + EXCLUDED.sequence
    RETURNING organization_id, sequence
  ), lines AS (
    INSERT INTO request_log (organization_id, sequence, at, ${columns})
    SELECT organization_id, h.sequence - c.added + g.nth, at, ${columns}
    FROM given g JOIN counted c USING (organization_id) JOIN heads h USING (organization_id)
  ), old AS (
    SELECT h.organization_id, o.sequence FROM heads h JOIN counted c USING (organization_id)
    CROSS JOIN LATERAL (SELECT l.sequence FROM request_log l
      WHERE l.organization_id = h.organization_id AND l.sequence <= h.sequence - $2::bigint
      ORDER BY l.sequence LIMIT 2 * c.added) o
  ), gone AS (
    DELETE FROM request_log l USING old
    WHERE l.organization_id = old.organization_id AND l.sequence = old.sequence
  )
  SELECT organization_id AS "organizationId", sequence FROM heads`,
};

const deleteText = `DELETE FROM request_log WHERE (organization_id, sequence) IN (
  SELECT organization_id, sequence FROM request_log WHERE at < $1 ORDER BY at LIMIT $2)`;

/** The number of the newest line of an organisation. */
export type Head = { readonly organizationId: string; readonly sequence: number };

export type RequestLogFilters = {
  readonly organizationId: string;
  readonly merchantId?: string | undefined;
  readonly status?: string;
  readonly method?: string;
  readonly path?: string;
  readonly operationId?: string;
  readonly code?: string;
  readonly clientId?: string;
  readonly source?: RequestSourceKind;
  readonly requestId?: string;
  readonly from?: string;
  readonly to?: string;
};
export type LineRange = {
  readonly isAscending: boolean;
  readonly limit: number;
  /** After this one in the order of the list. */
  readonly cursor?: number | undefined;
  /** Newer than this one. */
  readonly after?: number | undefined;
};

type AddParameter = (value: unknown) => string;

/** Requests of portal pages have the client id of the built-in portal application. */
export type PortalClient = { readonly portalClientId: string };

function conditionsOf(
  filters: RequestLogFilters,
  { cursor, after, isAscending }: LineRange,
  { place: addParameter, portalClientId }: PortalClient & { readonly place: AddParameter },
) {
  const { status, path, from, to, source } = filters;
  const equal = {
    organization_id: filters.organizationId,
    merchant_id: filters.merchantId,
    method: filters.method,
    operation_id: filters.operationId,
    code: filters.code,
    client_id: filters.clientId,
    request_id: filters.requestId,
  };
  const all = Object.entries(equal).flatMap(([column, value]) =>
    value === undefined ? [] : [`${column} = ${addParameter(value)}`],
  );
  if (status?.endsWith('xx')) all.push(`status / 100 = ${addParameter(Number(status[0]))}`);
  else if (status !== undefined) all.push(`status = ${addParameter(Number(status))}`);
  if (source !== undefined) {
    all.push(`client_id ${source === 'Portal' ? '=' : '<>'} ${addParameter(portalClientId)}`);
  }
  if (path !== undefined) all.push(`starts_with(path, ${addParameter(path)})`);
  if (from !== undefined) all.push(`at >= ${addParameter(from)}`);
  if (to !== undefined) all.push(`at < ${addParameter(to)}`);
  if (after !== undefined) all.push(`sequence > ${addParameter(after)}`);
  if (cursor !== undefined) all.push(`sequence ${isAscending ? '>' : '<'} ${addParameter(cursor)}`);
  return all.join(' AND ');
}

const toLoggedRequest = (
  { at, ...line }: StoredLine,
  { portalClientId }: PortalClient,
): LoggedRequest => ({
  ...line,
  at: isoTime(at),
  source: line.clientId === portalClientId ? 'Portal' : 'Api',
});

export type RequestLogStore = ReturnType<typeof createRequestLogStore>;

export function createRequestLogStore(database: Queries, portal: PortalClient) {
  return {
    /** @returns how far the logs have come that have grown */
    async add(lines: readonly RequestLogLine[], rowsMax: number): Promise<Head[]> {
      const rows = lines.map((line, place) => ({ place, ...line }));
      return database.query<Head>(addLines, [JSON.stringify(rows), rowsMax]);
    },

    /** @returns how many were deleted */
    async deleteBefore(time: string, limit: number): Promise<number> {
      const rows = await database.query(`${deleteText} RETURNING 1 AS one`, [time, limit]);
      return rows.length;
    },

    async list(filters: RequestLogFilters, cut: LineRange): Promise<LoggedRequest[]> {
      const values: unknown[] = [];
      const addParameter: AddParameter = (value) => `$${values.push(value)}`;
      const rows = await database.query(
        `SELECT organization_id, sequence, at, ${columns} FROM request_log
         WHERE ${conditionsOf(filters, cut, { ...portal, place: addParameter })}
         ORDER BY sequence ${cut.isAscending ? '' : 'DESC'} LIMIT ${addParameter(cut.limit)}`,
        values,
      );
      return toRecords<StoredLine>(rows).map((line) => toLoggedRequest(line, portal));
    },

    /** How far the logs of these organisations have come; one without a line is left out. */
    heads: (organizationIds: readonly string[]): Promise<Head[]> =>
      database.query<Head>(
        `SELECT organization_id AS "organizationId", sequence FROM request_log_heads
         WHERE organization_id = ANY($1::uuid[])`,
        [organizationIds],
      ),
  };
}
