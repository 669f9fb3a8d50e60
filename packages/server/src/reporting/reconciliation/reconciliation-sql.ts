// SQL for reconciliations: the lines of a file, the compared movements, and the results.
import type {
  ReconciliationOutcome,
  ReconciliationResolution,
  ReconciliationState,
  SettlementLine,
} from '@switchyard/contract';
import type { Queries } from '../../platform/index.ts';
import { organizationFilter, textKeySql, uuidKeySql } from '../infrastructure/index-keys-sql.ts';
import type {
  AcquirerLine,
  ComparedLine,
  Difference,
  PlatformMovement,
} from './match-movements.ts';
import type { FileLine } from './read-settlement-file.ts';

export type Balance = {
  currency: string;
  theirs: string;
  operations: string;
  ledger: string;
  fees: string;
};

export type ReconciliationRow = {
  organizationId: string;
  reconciliationId: string;
  linkId: string;
  fromDay: string;
  toDay: string;
  name: string | null;
  state: ReconciliationState;
  place: string;
  lines: number;
  lastNumber: number;
  matched: number;
  different: number;
  missingHere: number;
  missingThere: number;
  open: number;
  balances: Balance[];
  failure: string | null;
  createdAt: Date;
  completedAt: Date | null;
};

export type StoredAcquirerLine = SettlementLine & { line: number };
/** Movements of comparisons by an older version have no terminal. */
export type StoredPlatformMovement = Omit<PlatformMovement, 'sequence' | 'terminalId'> &
  Partial<Pick<PlatformMovement, 'terminalId'>>;

export type ItemRow = {
  number: number;
  outcome: ReconciliationOutcome;
  differences: Difference[];
  theirs: StoredAcquirerLine | null;
  ours: StoredPlatformMovement | null;
  resolution: ReconciliationResolution | null;
  note: string | null;
  resolvedBy: string | null;
  resolvedAt: Date | null;
};

export type PlatformMovementKey = { paymentId: string; sequence: number };
export type Counts = Record<'matched' | 'different' | 'missingHere' | 'missingThere', number>;

type ReconciliationKey = Pick<ReconciliationRow, 'organizationId' | 'reconciliationId'>;

const columns = `organization_id AS "organizationId", reconciliation_id AS "reconciliationId",
  link_id AS "linkId", from_day::text AS "fromDay", to_day::text AS "toDay", name, state, place, lines,
  last_number AS "lastNumber", matched, different, missing_here AS "missingHere",
  missing_there AS "missingThere", open, balances, failure, created_at AS "createdAt",
  completed_at AS "completedAt"`;

const itemColumns = `number, outcome, differences, theirs, ours, resolution, note,
  resolved_by AS "resolvedBy", resolved_at AS "resolvedAt"`;

/** The acquirer may use another settlement day, so movements of nearby days are compared too. */
const nearbyDays = 7;

export const insertReconciliationSql = `INSERT INTO reconciliations (organization_id, reconciliation_id, link_id, from_day,
    to_day, name, state, place, lines, last_number, matched, different, missing_here, missing_there, open,
    balances, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, 'Receiving', '', 0, 0, 0, 0, 0, 0, 0, '[]', $7)`;

const addLinesSql = `WITH added AS (
    INSERT INTO reconciliation_items (organization_id, reconciliation_id, number, outcome, differences,
      retrieval_reference, theirs)
    SELECT $1, $2, (r.theirs->>'line')::int, 'MissingHere', '[]',
      r.theirs->>'retrievalReferenceNumber', r.theirs
    FROM jsonb_to_recordset($3::jsonb) AS r(theirs jsonb) RETURNING 1)
  UPDATE reconciliations SET lines = lines + $4, last_number = greatest(last_number, $5)
  WHERE organization_id = $1 AND reconciliation_id = $2 AND state = 'Receiving'
  RETURNING lines`;

/** The reference at which a page of the file ends; no row for the last page. */
const pageEndSql = `SELECT retrieval_reference AS bound FROM reconciliation_items
  WHERE organization_id = $1 AND reconciliation_id = $2 AND retrieval_reference > $3
    AND theirs IS NOT NULL
  ORDER BY retrieval_reference, number OFFSET $4 LIMIT 1`;

const acquirerLinesSql = `SELECT number, theirs FROM reconciliation_items
  WHERE organization_id = $1 AND reconciliation_id = $2 AND theirs IS NOT NULL
    AND retrieval_reference > $3 AND ($4::text IS NULL OR retrieval_reference <= $4)
  ORDER BY retrieval_reference, number LIMIT $5`;

const movementColumns = `payment_id AS "transactionId", number AS "sequence", kind AS type,
    retrieval_reference AS "retrievalReferenceNumber",
    acquirer_merchant_number AS "acquirerMerchantId", terminal AS "terminalId",
    amount, currency, settlement_date::text AS "settlementDate", merchant_id AS "merchantId"`;

/**
 * The acquirer may use another settlement day, so the range includes nearby days. Each reference is
 * one index look-up, at any table size.
 */
export const movementsSql = `SELECT ${movementColumns} FROM unnest($3::text[]) r(reference)
  CROSS JOIN LATERAL (SELECT * FROM report_all_movements
    WHERE reference_key = ${textKeySql('r.reference', '$1')}
      AND ${organizationFilter} AND retrieval_reference = r.reference
    OFFSET 0) m
  WHERE link_id = $2 AND amount > 0
    AND settlement_date BETWEEN $4::date - ${nearbyDays} AND $5::date + ${nearbyDays}
  ORDER BY retrieval_reference, settlement_date, payment_id, number`;

const recordMatchesSql = `UPDATE reconciliation_items i SET outcome = r.outcome, differences = r.differences,
    payment_id = r.payment_id, sequence = r.sequence, ours = r.ours
  FROM jsonb_to_recordset($3::jsonb) AS r(number integer, outcome text, differences jsonb,
    payment_id uuid, sequence integer, ours jsonb)
  WHERE i.organization_id = $1 AND i.reconciliation_id = $2 AND i.number = r.number`;

const nextOfDaySql = `AND link_id = $3 AND settlement_date = $4
      AND (payment_id, number) > ($5::uuid, $6::int)
    ORDER BY payment_id, number LIMIT $7`;
/** The next movements of a day by operations, in the order of the primary key. */
const operationsOfDaySql = `SELECT * FROM report_all_movements
    WHERE NOT is_sale AND organization_id = $1 ${nextOfDaySql}`;
/** The next movements of a day by sales, in the order of the index that begins with `link_key`. */
const salesOfDaySql = `SELECT * FROM report_all_movements
    WHERE is_sale AND link_key = ${uuidKeySql('$3', '$1')} AND ${organizationFilter} ${nextOfDaySql}`;

/** Inserts the movements of one day that match no line of the file, one page at a time. */
export const recordMissingSql = `WITH page AS (
    SELECT m.payment_id, m.number, m.retrieval_reference,
      to_jsonb(of) - 'sequence' AS ours
    FROM ((${operationsOfDaySql}) UNION ALL (${salesOfDaySql})) m
    CROSS JOIN LATERAL (SELECT ${movementColumns}) of
    ORDER BY m.payment_id, m.number LIMIT $7
  ), missed AS (
    INSERT INTO reconciliation_items (organization_id, reconciliation_id, number, outcome, differences,
      retrieval_reference, payment_id, sequence, ours)
    SELECT $1, $2, $8::int + row_number() OVER (ORDER BY payment_id, number), 'MissingThere', '[]',
      retrieval_reference, payment_id, number, ours
    FROM page WHERE NOT EXISTS (SELECT 1 FROM reconciliation_items i
      WHERE i.organization_id = $1 AND i.reconciliation_id = $2 AND i.payment_id = page.payment_id
        AND i.sequence = page.number)
    RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM missed) AS missed, payment_id AS "paymentId", number AS sequence
  FROM page ORDER BY payment_id, number`;

/** Resolves the items of earlier files that lacked a movement of this file. */
const resolveEarlierItemsSql = `WITH found AS (
    UPDATE reconciliation_items i SET resolution = 'FoundLater', resolved_by = 'platform',
      resolved_at = $3, note = 'In the file of reconciliation ' || $2::text
    FROM jsonb_to_recordset($4::jsonb) AS r(payment_id uuid, sequence integer)
    WHERE i.organization_id = $1 AND i.payment_id = r.payment_id AND i.sequence = r.sequence
      AND i.outcome = 'MissingThere' AND i.resolution IS NULL AND i.reconciliation_id <> $2::uuid
    RETURNING i.reconciliation_id),
  counted AS (SELECT reconciliation_id, count(*)::int AS found FROM found GROUP BY reconciliation_id)
  UPDATE reconciliations c SET open = c.open - counted.found FROM counted
  WHERE c.organization_id = $1 AND c.reconciliation_id = counted.reconciliation_id`;

const updateProgressSql = `UPDATE reconciliations SET place = $3, last_number = $4, matched = matched + $5,
    different = different + $6, missing_here = missing_here + $7, missing_there = missing_there + $8,
    open = open + $6 + $7 + $8
  WHERE organization_id = $1 AND reconciliation_id = $2 AND state = 'Matching' AND place = $9
  RETURNING place`;

/** Reversals and refunds count as negative amounts on all three sides. */
const balancesSql = `WITH file AS (
    SELECT theirs->>'currency' AS currency, sum((theirs->>'amount')::bigint
        * CASE theirs->>'type' WHEN 'Capture' THEN 1 ELSE -1 END) AS theirs,
      sum(coalesce((theirs->>'fee')::bigint, 0)) AS fees
    FROM reconciliation_items
    WHERE organization_id = $1 AND reconciliation_id = $2 AND theirs IS NOT NULL GROUP BY 1
  ), moved AS (
    SELECT currency, sum(amount * CASE kind WHEN 'Capture' THEN 1 ELSE -1 END) AS operations
    FROM report_all_movements WHERE organization_id = $1 AND link_id = $3
      AND link_key = ${uuidKeySql('$3', '$1')}
      AND settlement_date BETWEEN $4 AND $5 GROUP BY currency
  ), kept AS (
    SELECT currency, sum(captured - refunded - reversed) AS ledger FROM report_settlements
    WHERE organization_id = $1 AND link_id = $3 AND settlement_date BETWEEN $4 AND $5
    GROUP BY currency
  )
  SELECT currency, coalesce(theirs, 0)::text AS theirs, coalesce(operations, 0)::text AS operations,
    coalesce(ledger, 0)::text AS ledger, coalesce(fees, 0)::text AS fees
  FROM file FULL JOIN moved USING (currency) FULL JOIN kept USING (currency) ORDER BY currency`;

export type ReconciliationStore = ReturnType<typeof createReconciliationStore>;

export function createReconciliationStore(database: Queries) {
  return {
    async addLines(
      { organizationId, reconciliationId }: ReconciliationKey,
      lines: readonly FileLine[],
    ) {
      const rows = lines.map(({ line, content }) => ({
        theirs: { ...content, line },
      }));
      const last = lines.at(-1)?.line ?? 0;
      const addedRows = await database.query(addLinesSql, [
        organizationId,
        reconciliationId,
        JSON.stringify(rows),
        lines.length,
        last,
      ]);
      return addedRows.length === 1;
    },

    async find(organizationId: string, reconciliationId: string) {
      const [row] = await database.query<ReconciliationRow>(
        `SELECT ${columns} FROM reconciliations WHERE organization_id = $1 AND reconciliation_id = $2`,
        [organizationId, reconciliationId],
      );
      return row;
    },

    list(
      organizationId: string,
      filters: { acquirerLinkId?: string | undefined; state?: string | undefined },
      page: { limit: number; after?: string },
    ): Promise<ReconciliationRow[]> {
      return database.query<ReconciliationRow>(
        `SELECT ${columns} FROM reconciliations WHERE organization_id = $1
           AND ($2::uuid IS NULL OR link_id = $2) AND ($3::text IS NULL OR state = $3)
           AND ($4::uuid IS NULL OR reconciliation_id < $4)
         ORDER BY reconciliation_id DESC LIMIT $5`,
        [
          organizationId,
          filters.acquirerLinkId ?? null,
          filters.state ?? null,
          page.after ?? null,
          page.limit,
        ],
      );
    },

    listItems(
      { organizationId, reconciliationId }: ReconciliationKey,
      filters: { outcome?: string | undefined; isOpen?: boolean | undefined },
      page: { limit: number; after?: string },
    ): Promise<ItemRow[]> {
      return database.query<ItemRow>(
        `SELECT ${itemColumns} FROM reconciliation_items
         WHERE organization_id = $1 AND reconciliation_id = $2
           AND ($3::text IS NULL OR outcome = $3)
           AND ($4::boolean IS NULL OR (outcome <> 'Matched' AND resolution IS NULL) = $4)
           AND number > $5 ORDER BY number LIMIT $6`,
        [
          organizationId,
          reconciliationId,
          filters.outcome ?? null,
          filters.isOpen ?? null,
          Number(page.after ?? 0),
          page.limit,
        ],
      );
    },

    async findItem({ organizationId, reconciliationId }: ReconciliationKey, number: number) {
      const [row] = await database.query<ItemRow>(
        `SELECT ${itemColumns} FROM reconciliation_items
         WHERE organization_id = $1 AND reconciliation_id = $2 AND number = $3`,
        [organizationId, reconciliationId, number],
      );
      return row;
    },

    /** Returns false if the item was already resolved. */
    async resolveItem(
      queries: Queries,
      { organizationId, reconciliationId }: ReconciliationKey,
      number: number,
      to: { resolution: string; note: string | null; resolvedBy: string; at: string },
    ): Promise<boolean> {
      const rows = await queries.query<{ number: number }>(
        `UPDATE reconciliation_items SET resolution = $4, note = $5, resolved_by = $6, resolved_at = $7
         WHERE organization_id = $1 AND reconciliation_id = $2 AND number = $3 AND resolution IS NULL
         RETURNING number`,
        [organizationId, reconciliationId, number, to.resolution, to.note, to.resolvedBy, to.at],
      );
      if (rows.length === 0) return false;
      await queries.query(
        `UPDATE reconciliations SET open = open - 1
         WHERE organization_id = $1 AND reconciliation_id = $2`,
        [organizationId, reconciliationId],
      );
      return true;
    },

    /** Returns false if the reconciliation was not in the state `from`. */
    async changeState(
      queries: Queries,
      { organizationId, reconciliationId }: ReconciliationKey,
      {
        from,
        to,
        failure,
      }: { from: ReconciliationState; to: ReconciliationState; failure?: string },
    ): Promise<boolean> {
      const rows = await queries.query<{ state: string }>(
        `UPDATE reconciliations SET state = $4, failure = $5
         WHERE organization_id = $1 AND reconciliation_id = $2 AND state = $3 RETURNING state`,
        [organizationId, reconciliationId, from, to, failure ?? null],
      );
      return rows.length === 1;
    },

    async findPageEnd(
      queries: Queries,
      row: ReconciliationRow,
      lines: number,
    ): Promise<string | undefined> {
      const values = [row.organizationId, row.reconciliationId, row.place, lines];
      const [pageEnd] = await queries.query<{ bound: string }>(pageEndSql, values);
      return pageEnd?.bound;
    },

    async readAcquirerLines(
      queries: Queries,
      row: ReconciliationRow,
      bound: string | undefined,
      limit: number,
    ) {
      const values = [row.organizationId, row.reconciliationId, row.place, bound ?? null, limit];
      const rows = await queries.query<{ number: number; theirs: StoredAcquirerLine }>(
        acquirerLinesSql,
        values,
      );
      return rows.map(({ number, theirs }): AcquirerLine => ({ ...theirs, number }));
    },

    readMovements: (
      queries: Queries,
      row: ReconciliationRow,
      references: readonly string[],
    ): Promise<PlatformMovement[]> =>
      queries.query<PlatformMovement>(movementsSql, [
        row.organizationId,
        row.linkId,
        [...references],
        row.fromDay,
        row.toDay,
      ]),

    /** Stores the results of some lines. */
    async recordMatches(
      queries: Queries,
      row: ReconciliationKey,
      comparedLines: readonly ComparedLine[],
      at: string,
    ): Promise<void> {
      const { organizationId, reconciliationId } = row;
      const paired = comparedLines.flatMap(({ theirs: { number }, ours, outcome, differences }) => {
        if (ours === undefined) return [];
        const { sequence, ...movement } = ours;
        return [
          {
            number,
            outcome,
            differences,
            ours: movement,
            payment_id: ours.transactionId,
            sequence,
          },
        ];
      });
      if (paired.length === 0) return;
      await queries.query(recordMatchesSql, [
        organizationId,
        reconciliationId,
        JSON.stringify(paired),
      ]);
      await queries.query(resolveEarlierItemsSql, [
        organizationId,
        reconciliationId,
        at,
        JSON.stringify(paired),
      ]);
    },

    /** Stores the movements of a day that the file lacks, after a given movement. */
    async recordMissing(
      queries: Queries,
      row: ReconciliationRow,
      from: { day: string; behind: PlatformMovementKey },
      limit: number,
    ): Promise<{ missed: number; count: number; last: PlatformMovementKey | undefined }> {
      const rows = await queries.query<PlatformMovementKey & { missed: number }>(recordMissingSql, [
        row.organizationId,
        row.reconciliationId,
        row.linkId,
        from.day,
        from.behind.paymentId,
        from.behind.sequence,
        limit,
        row.lastNumber,
      ]);
      return { missed: rows[0]?.missed ?? 0, count: rows.length, last: rows.at(-1) };
    },

    /** Stores the progress; returns false if another process was faster. */
    async updateProgress(queries: Queries, row: ReconciliationRow, place: string, counts: Counts) {
      const moved = await queries.query(updateProgressSql, [
        row.organizationId,
        row.reconciliationId,
        place,
        row.lastNumber + counts.missingThere,
        counts.matched,
        counts.different,
        counts.missingHere,
        counts.missingThere,
        row.place,
      ]);
      return moved.length === 1;
    },

    async complete(queries: Queries, row: ReconciliationRow, at: string): Promise<void> {
      const { organizationId, reconciliationId, linkId, fromDay, toDay } = row;
      const balances = await queries.query<Balance>(balancesSql, [
        organizationId,
        reconciliationId,
        linkId,
        fromDay,
        toDay,
      ]);
      await queries.query(
        `UPDATE reconciliations SET state = 'Completed', balances = $3, completed_at = $4
         WHERE organization_id = $1 AND reconciliation_id = $2 AND state = 'Matching'`,
        [organizationId, reconciliationId, JSON.stringify(balances), at],
      );
    },

    /** @returns the number of deleted items */
    async deleteItems(organizationId: string, reconciliationId: string, limit: number) {
      const rows = await database.query(
        `DELETE FROM reconciliation_items WHERE organization_id = $1 AND reconciliation_id = $2
           AND number IN (SELECT number FROM reconciliation_items
             WHERE organization_id = $1 AND reconciliation_id = $2 ORDER BY number LIMIT $3)
         RETURNING number`,
        [organizationId, reconciliationId, limit],
      );
      return rows.length;
    },

    async delete(
      queries: Queries,
      { organizationId, reconciliationId }: ReconciliationKey,
    ): Promise<void> {
      await queries.query(
        'DELETE FROM reconciliations WHERE organization_id = $1 AND reconciliation_id = $2',
        [organizationId, reconciliationId],
      );
    },
  };
}
