// SQL for exports: the requests, their progress, and their parts.
import type { ExportFormat, ExportReport, ExportState } from '@switchyard/contract';
import type { Queries } from '../../platform/index.ts';

/** The merchant and store of exports of the whole organisation. */
export const wholeOrganizationId = '00000000-0000-0000-0000-000000000000';

export type ExportRow = {
  organizationId: string;
  exportId: string;
  merchantId: string;
  storeId: string;
  clientOperationId: string;
  report: ExportReport;
  format: ExportFormat;
  filters: Record<string, unknown>;
  state: ExportState;
  rows: number;
  bytes: number;
  parts: number;
  place: string | null;
  failure: string | null;
  createdAt: Date;
  updatedAt: Date;
  completedAt: Date | null;
  expiresAt: Date;
};

export type StoredPart = {
  readonly number: number;
  readonly firstByte: number;
  readonly content: Buffer;
};

/** The owner of exports: an organisation, one merchant or one store. */
export type ExportScope = {
  readonly organizationId: string;
  readonly merchantId: string | undefined;
  readonly storeId: string | undefined;
};

const columns = `organization_id AS "organizationId", export_id AS "exportId",
  merchant_id AS "merchantId", store_id AS "storeId", client_operation_id AS "clientOperationId",
  report, format, filters, state, rows, bytes, parts, place, failure, created_at AS "createdAt",
  updated_at AS "updatedAt", completed_at AS "completedAt", expires_at AS "expiresAt"`;

const ownedBySql = `organization_id = $1 AND ($2::uuid IS NULL OR merchant_id = $2)
  AND ($3::uuid IS NULL OR store_id = $3)`;

const ownerValues = ({ organizationId, merchantId, storeId }: ExportScope) => [
  organizationId,
  merchantId ?? null,
  storeId ?? null,
];

export type NewExport = Pick<
  ExportRow,
  'organizationId' | 'exportId' | 'clientOperationId' | 'report' | 'format' | 'filters'
> & { merchantId: string; storeId: string; at: string; expiresAt: string };

export type ExportStore = ReturnType<typeof createExportStore>;

export function createExportStore(database: Queries) {
  return {
    async countOpen(trx: Queries, organizationId: string): Promise<number> {
      const text = `SELECT count(*) AS open FROM report_exports
        WHERE organization_id = $1 AND state IN ('Pending', 'Running')`;
      const [row] = await trx.query<{ open: number }>(text, [organizationId]);
      return Number(row?.open ?? 0);
    },

    /** Returns false if the client's identifier is in use. */
    async insert(trx: Queries, made: NewExport): Promise<boolean> {
      const text = `INSERT INTO report_exports (organization_id, export_id, merchant_id, store_id,
          client_operation_id, report, format, filters, state, rows, bytes, parts, created_at,
          updated_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'Pending', 0, 0, 0, $9, $9, $10)
        ON CONFLICT (organization_id, client_operation_id, merchant_id, store_id) DO NOTHING
        RETURNING export_id`;
      const rows = await trx.query(text, [
        made.organizationId,
        made.exportId,
        made.merchantId,
        made.storeId,
        made.clientOperationId,
        made.report,
        made.format,
        JSON.stringify(made.filters),
        made.at,
        made.expiresAt,
      ]);
      return rows.length === 1;
    },

    async find(owner: ExportScope, exportId: string): Promise<ExportRow | undefined> {
      const text = `SELECT ${columns} FROM report_exports WHERE ${ownedBySql} AND export_id = $4`;
      const [row] = await database.query<ExportRow>(text, [...ownerValues(owner), exportId]);
      return row;
    },

    async findByClientId(
      owner: NewExport | Pick<NewExport, 'organizationId' | 'merchantId' | 'storeId'>,
      clientOperationId: string,
    ): Promise<ExportRow | undefined> {
      const text = `SELECT ${columns} FROM report_exports WHERE organization_id = $1
        AND client_operation_id = $2 AND merchant_id = $3 AND store_id = $4`;
      const { organizationId, merchantId, storeId } = owner;
      const [row] = await database.query<ExportRow>(text, [
        organizationId,
        clientOperationId,
        merchantId,
        storeId,
      ]);
      return row;
    },

    list(owner: ExportScope, page: { limit: number; after?: string }): Promise<ExportRow[]> {
      const text = `SELECT ${columns} FROM report_exports WHERE ${ownedBySql}
        AND ($4::uuid IS NULL OR export_id < $4) ORDER BY export_id DESC LIMIT $5`;
      return database.query<ExportRow>(text, [
        ...ownerValues(owner),
        page.after ?? null,
        page.limit,
      ]);
    },

    /**
     * Adds a part if the export still runs and no other process has added a part since. The content
     * may be empty, which only moves the position.
     */
    async addPart(
      row: ExportRow,
      step: { lines: number; bytes: number; content: Buffer; place: string | null; at: string },
    ): Promise<boolean> {
      const text = `WITH moved AS (
          UPDATE report_exports SET state = 'Running', rows = rows + $4, bytes = bytes + $5,
            parts = parts + 1, place = $6, updated_at = $7
          WHERE organization_id = $1 AND export_id = $2 AND parts = $3
            AND state IN ('Pending', 'Running')
          RETURNING bytes)
        INSERT INTO report_export_parts (organization_id, export_id, number, first_byte, bytes, content)
        SELECT $1, $2, $3, moved.bytes - $5, $5, $8 FROM moved RETURNING number`;
      const { organizationId, exportId, parts } = row;
      const added = await database.query(text, [
        organizationId,
        exportId,
        parts,
        step.lines,
        step.bytes,
        step.place,
        step.at,
        step.content,
      ]);
      return added.length === 1;
    },

    /** Returns false if the export had ended before. */
    async end(
      trx: Queries,
      { organizationId, exportId }: Pick<ExportRow, 'organizationId' | 'exportId'>,
      to: { state: ExportState; at: string; failure?: string },
    ): Promise<boolean> {
      const text = `UPDATE report_exports SET state = $3, updated_at = $4, failure = $5,
          completed_at = CASE WHEN $3 = 'Completed' THEN $4::timestamptz END
        WHERE organization_id = $1 AND export_id = $2 AND state IN ('Pending', 'Running')
        RETURNING export_id`;
      const values = [organizationId, exportId, to.state, to.at, to.failure ?? null];
      return (await trx.query(text, values)).length === 1;
    },

    /** Reads the parts after the number `after`, from the part that contains `firstByte`. */
    readParts(row: ExportRow, at: { after: number; firstByte: number }, limit: number) {
      const text = `SELECT number, first_byte AS "firstByte", content FROM report_export_parts
        WHERE organization_id = $1 AND export_id = $2 AND number > $3 AND first_byte + bytes > $4
        ORDER BY number LIMIT $5`;
      const values = [row.organizationId, row.exportId, at.after, at.firstByte, limit];
      return database.query<StoredPart>(text, values);
    },

    /** @returns the number of deleted parts */
    async deleteParts(organizationId: string, exportId: string, limit: number): Promise<number> {
      const text = `DELETE FROM report_export_parts WHERE organization_id = $1 AND export_id = $2
        AND number IN (SELECT number FROM report_export_parts
          WHERE organization_id = $1 AND export_id = $2 ORDER BY number LIMIT $3)
        RETURNING number`;
      return (await database.query(text, [organizationId, exportId, limit])).length;
    },

    async delete(trx: Queries, organizationId: string, exportId: string): Promise<void> {
      const text = 'DELETE FROM report_exports WHERE organization_id = $1 AND export_id = $2';
      await trx.query(text, [organizationId, exportId]);
    },
  };
}
