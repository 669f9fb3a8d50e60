// Compares the reports of an organisation with its payments, event by event.
import { readTransactions } from '../payments/index.ts';
import { type Database, nilUuid, type Queries } from '../platform/index.ts';
import { readQrPayments } from '../qr/index.ts';
import { readAggregates, type StoredAggregate } from './projection/daily-aggregate-sql.ts';
import {
  addSumEntry,
  aggregateKeyText,
  type DailyAggregates,
} from './projection/daily-aggregates.ts';
import { currencyGroup, groupKey, readGroups } from './projection/group-dictionary.ts';
import { projectCardPayment } from './projection/project-card-payment.ts';
import { projectQrPayment } from './projection/project-qr-payment.ts';

export type ReportDifference = {
  /** The cell: level, day, merchant, store, device and group. */
  readonly where: string;
  readonly stored: string;
  readonly counted: string;
};

export type ReportComparison = {
  readonly payments: number;
  readonly cells: number;
  readonly differences: ReportDifference[];
};

const paymentsPerPart = 1000;
const differencesMax = 100;

const paymentsSql = `SELECT p.payment_id AS id, p.counted, g.kind, p.created_at AS at FROM report_payments p
  JOIN report_classes c ON c.organization_id = p.organization_id AND c.class_id = p.class_id
  JOIN report_groups g ON g.organization_id = c.organization_id AND g.group_id = c.group_id
  WHERE p.organization_id = $1 AND (p.created_at, p.payment_id) > ($2::timestamptz, $3::uuid)
  ORDER BY p.created_at, p.payment_id LIMIT $4`;

type CountedPayment = { id: string; counted: number; kind: 'Card' | 'Qr'; at: Date };

/** Adds up a part of the payments, limited to the events that the reports have already counted. */
async function countPart(
  queries: Queries,
  organizationId: string,
  lines: readonly CountedPayment[],
  { cells: aggregates, groups }: { cells: DailyAggregates; groups: ReadonlyMap<string, number> },
): Promise<void> {
  const idsOfKind = (kind: CountedPayment['kind']) =>
    lines.filter((line) => line.kind === kind).map(({ id }) => id);
  const cards = await readTransactions(queries, organizationId, idsOfKind('Card'));
  const qrPayments = await readQrPayments(queries, organizationId, idsOfKind('Qr'));
  const countedEvents = new Map(lines.map((line) => [line.id, line.counted]));
  for (const { line, entries } of [
    ...cards.map(projectCardPayment),
    ...qrPayments.map(projectQrPayment),
  ]) {
    const groupId = groups.get(groupKey(line.group)) ?? 0;
    const ofCurrency = groupKey(currencyGroup(line.group.currency));
    const currencyGroupId = groups.get(ofCurrency) ?? 0;
    for (const [sequence, entry] of entries) {
      if (sequence > (countedEvents.get(line.paymentId) ?? 0)) continue;
      addSumEntry(aggregates, entry, line, { groupId, currencyGroupId });
    }
  }
}

/** The compared content of a cell, as one text. */
const aggregateText = ({ figures, hours, latency }: StoredAggregate): string => {
  const sorted = <Value>(map: ReadonlyMap<number, Value>) =>
    [...map].sort(([one], [other]) => one - other);
  return JSON.stringify([figures, sorted(hours), sorted(latency)], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
};

function listDifferences(
  counted: DailyAggregates,
  storedAggregates: readonly StoredAggregate[],
): ReportDifference[] {
  const differences: ReportDifference[] = [];
  const uncompared = new Map([...counted].map(([where, cell]) => [where, aggregateText(cell)]));
  const addDifference = (difference: ReportDifference) => {
    if (differences.length < differencesMax) differences.push(difference);
  };
  for (const aggregate of storedAggregates) {
    const where = aggregateKeyText(aggregate);
    const stored = aggregateText(aggregate);
    const expected = uncompared.get(where) ?? 'nothing';
    uncompared.delete(where);
    if (stored !== expected) addDifference({ where, stored, counted: expected });
  }
  for (const [where, expected] of uncompared)
    addDifference({ where, stored: 'nothing', counted: expected });
  return differences;
}

/**
 * Counts all payments of an organisation again, and compares the result with its reports. It reads
 * one snapshot of the database, so payments may continue during the comparison.
 *
 * @example const { differences } = await compareReports(database, organizationId);
 */
export function compareReports(
  database: Database,
  organizationId: string,
): Promise<ReportComparison> {
  return database.session(async (queries) => {
    await queries.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const knownGroups = await readGroups(queries, organizationId);
    const groups = new Map(knownGroups.map((group) => [groupKey(group), group.groupId]));
    const aggregates: DailyAggregates = new Map();
    let payments = 0;
    let lastPayment: Pick<CountedPayment, 'id' | 'at'> = { id: nilUuid, at: new Date(0) };
    for (;;) {
      const values = [
        organizationId,
        lastPayment.at.toISOString(),
        lastPayment.id,
        paymentsPerPart,
      ];
      const lines = await queries.query<CountedPayment>(paymentsSql, values);
      await countPart(queries, organizationId, lines, { cells: aggregates, groups });
      payments += lines.length;
      lastPayment = lines.at(-1) ?? lastPayment;
      if (lines.length < paymentsPerPart) break;
    }
    const stored = await readAggregates(queries, organizationId);
    await queries.query('COMMIT');
    return { payments, cells: stored.length, differences: listDifferences(aggregates, stored) };
  });
}
