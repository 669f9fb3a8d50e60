// Compares the reports of an organisation with its payments, event by event.
import { readTransactions } from '../payments/index.ts';
import type { Database } from '../platform/index.ts';
import { readQrPayments } from '../qr/index.ts';
import { nil, type RunQuery } from './infrastructure/run-query.ts';
import { type StoredCell, toCell } from './projection/daily-aggregate-sql.ts';
import { addEntry, type Cells, textOfKey } from './projection/daily-aggregates.ts';
import { currencyGroup, groupText, readGroups } from './projection/group-dictionary.ts';
import { reportedCard } from './projection/project-card-payment.ts';
import { reportedQr } from './projection/project-qr-payment.ts';

export type ReportDifference = {
  /** The cell: level, day, merchant, store, device and group. */
  readonly where: string;
  readonly stored: string;
  readonly counted: string;
};

export type ReportCheck = {
  readonly payments: number;
  readonly cells: number;
  readonly differences: ReportDifference[];
};

const atOnce = 1000;
const differencesMax = 100;

const linesText = `SELECT p.payment_id AS id, p.counted, g.kind, p.created_at AS at FROM report_payments p
  JOIN report_classes c ON c.organization_id = p.organization_id AND c.class_id = p.class_id
  JOIN report_groups g ON g.organization_id = c.organization_id AND g.group_id = c.group_id
  WHERE p.organization_id = $1 AND (p.created_at, p.payment_id) > ($2::timestamptz, $3::uuid)
  ORDER BY p.created_at, p.payment_id LIMIT $4`;

type Line = { id: string; counted: number; kind: 'Card' | 'Qr'; at: Date };

/** Adds up a part of the payments, limited to the events that the reports have already counted. */
async function countPart(
  run: RunQuery,
  organizationId: string,
  lines: readonly Line[],
  { cells, groups }: { cells: Cells; groups: ReadonlyMap<string, number> },
): Promise<void> {
  const ofKind = (wanted: Line['kind']) =>
    lines.filter(({ kind }) => kind === wanted).map(({ id }) => id);
  const cards = await readTransactions(run, organizationId, ofKind('Card'));
  const codes = await readQrPayments(run, organizationId, ofKind('Qr'));
  const counted = new Map(lines.map((line) => [line.id, line.counted]));
  for (const { line, entries } of [...cards.map(reportedCard), ...codes.map(reportedQr)]) {
    const groupId = groups.get(groupText(line.group)) ?? 0;
    const ofCurrency = groupText(currencyGroup(line.group.currency));
    const currencyGroupId = groups.get(ofCurrency) ?? 0;
    for (const [sequence, entry] of entries) {
      if (sequence > (counted.get(line.paymentId) ?? 0)) continue;
      addEntry(cells, entry, line, { groupId, currencyGroupId });
    }
  }
}

/** The compared content of a cell, as one text. */
const textOfCell = ({ figures, hours, latency }: StoredCell): string => {
  const sorted = <Value>(map: ReadonlyMap<number, Value>) =>
    [...map].sort(([one], [other]) => one - other);
  return JSON.stringify([figures, sorted(hours), sorted(latency)], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
};

const cellsText = `SELECT level, day::text, merchant_id AS "merchantId", store_id AS "storeId",
    device_id AS "deviceId", group_id AS "groupId", approved, declined, failed, other, authorized::text,
    captured::text, refunded::text, cancelled::text, reversed::text, hours, latency
  FROM report_cells WHERE organization_id = $1`;

type CellRow = Parameters<typeof toCell>[0] & Parameters<typeof textOfKey>[0];

function differencesOf(counted: Cells, rows: readonly CellRow[]): ReportDifference[] {
  const differences: ReportDifference[] = [];
  const left = new Map([...counted].map(([where, cell]) => [where, textOfCell(cell)]));
  const note = (difference: ReportDifference) => {
    if (differences.length < differencesMax) differences.push(difference);
  };
  for (const row of rows) {
    const where = textOfKey(row);
    const stored = textOfCell(toCell(row));
    const wanted = left.get(where) ?? 'nothing';
    left.delete(where);
    if (stored !== wanted) note({ where, stored, counted: wanted });
  }
  for (const [where, wanted] of left) note({ where, stored: 'nothing', counted: wanted });
  return differences;
}

/**
 * Counts all payments of an organisation again, and compares the result with its reports. It reads
 * one snapshot of the database, so payments may continue during the comparison.
 *
 * @example const { differences } = await compareReports(database, organizationId);
 */
export function compareReports(database: Database, organizationId: string): Promise<ReportCheck> {
  return database.session(async (query) => {
    const run: RunQuery = async <Of extends object>(text: string, values: readonly unknown[]) =>
      (await query(text, values)) as Of[];
    await query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const known = await readGroups(run, organizationId);
    const groups = new Map(known.map((group) => [groupText(group), group.groupId]));
    const cells: Cells = new Map();
    let payments = 0;
    let last: Pick<Line, 'id' | 'at'> = { id: nil, at: new Date(0) };
    for (;;) {
      const values = [organizationId, last.at.toISOString(), last.id, atOnce];
      const lines = await run<Line>(linesText, values);
      await countPart(run, organizationId, lines, { cells, groups });
      payments += lines.length;
      last = lines.at(-1) ?? last;
      if (lines.length < atOnce) break;
    }
    const rows = await run<CellRow>(cellsText, [organizationId]);
    await query('COMMIT');
    return { payments, cells: rows.length, differences: differencesOf(cells, rows) };
  });
}
