// Fills the reports of an organisation with millions of payments over some months, and with their sums.
import type { Database } from '../../../packages/server/src/platform/index.ts';
import { frequentShare } from '../../../packages/server/src/reporting/projection/projection-sql.ts';
import { dropIndexes, settleTables } from '../environment/copy-rows.ts';
import {
  days,
  devicesPerStore,
  merchants,
  plannedClasses,
  slots,
  slotsOfClasses,
  storesPerMerchant,
} from './payment-mix.ts';

const chunkRows = 250_000;
const memoryForIndexes = '512MB';
const timeZone = 'Europe/Paris';
const dayMs = 86_400_000;
const nil = '00000000-0000-0000-0000-000000000000';

/** Numbers of a payment that look like chance and are the same each time. */
const chance = (from: number) => `('x' || substr(h, ${from}, 7))::bit(28)::int`;
const isOf = (...states: string[]) =>
  `b.state IN (${states.map((each) => `'${each}'`).join(', ')})`;

/** $1 and $2 are the first and the last, $3 the time of the first in ms, $4 ms between two, $5 the organisation. */
const paymentsText = `INSERT INTO report_payments (organization_id, created_at, payment_id, class_id, rare_class_id,
    counted, merchant_id, store_id, device_id, link_id, amount, authorized, captured, cancelled, refunded,
    client_transaction_id, order_id, retrieval_reference, authorization_code, masked_number,
    card_token, response_code, is_offline, day, updated_at)
  SELECT $5, at, (lpad(to_hex(ms), 12, '0') || '70008' || substr(h, 1, 15))::uuid, b.class_id, b.rare_class_id, 2,
    md5('m' || merchant)::uuid, md5('s' || store)::uuid,
    md5('d' || store * ${devicesPerStore} + ${chance(8)} % ${devicesPerStore})::uuid, NULL, amount,
    CASE WHEN b.ending = 'approved' THEN amount ELSE 0 END,
    CASE WHEN ${isOf('Captured', 'PartiallyRefunded', 'Refunded')} THEN amount
      WHEN ${isOf('PartiallyCaptured')} THEN amount / 2 ELSE 0 END,
    CASE WHEN ${isOf('Cancelled', 'Expired')} THEN amount ELSE 0 END,
    CASE WHEN ${isOf('Refunded')} THEN amount WHEN ${isOf('PartiallyRefunded')} THEN amount / 2 ELSE 0 END,
    substr(h, 1, 32), NULL, lpad(i::text, 12, '0'), upper(substr(h, 20, 6)),
    '411111******' || lpad((${chance(15)} % 10000)::text, 4, '0'),
    md5('c' || ${chance(9)} % 3000000)::uuid, NULL, false,
    (at AT TIME ZONE '${timeZone}')::date, at
  FROM (
    SELECT i, h, ms, to_timestamp(ms / 1000.0) AS at, 100 + ${chance(22)} % 30000 AS amount,
      ${chance(1)} % ${slots} AS slot, merchant,
      merchant * ${storesPerMerchant} + ${chance(25)} % ${storesPerMerchant} AS store
    FROM (
      SELECT i, h, ($3::numeric + i * $4::numeric)::bigint AS ms,
        -- A few are large: the first has a fourteenth of all.
        floor(${merchants} * power(${chance(3)} / 268435456.0, 2))::int AS merchant
      FROM (SELECT i, md5(i::text) AS h FROM generate_series($1::bigint, $2::bigint) AS i) n
    ) p
  ) q JOIN bench_slots b ON b.slot = q.slot`;

const sums = ['approved', 'declined', 'failed', 'authorized', 'captured', 'refunded', 'cancelled'];

/** What each hour of a device comes to; the cells are made of it, level by level. */
const hoursText = `CREATE TEMPORARY TABLE bench_hours AS
  SELECT p.day, extract(hour FROM p.created_at AT TIME ZONE '${timeZone}')::int AS hour, p.merchant_id,
    p.store_id, p.device_id, c.group_id,
    count(*) FILTER (WHERE c.ending = 'approved') AS approved,
    count(*) FILTER (WHERE c.ending = 'declined') AS declined,
    count(*) FILTER (WHERE c.ending = 'failed') AS failed,
    sum(p.authorized)::bigint AS authorized, sum(p.captured)::bigint AS captured,
    sum(p.refunded)::bigint AS refunded, sum(p.cancelled)::bigint AS cancelled
  FROM report_payments p JOIN bench_classes c ON c.class_id = p.class_id
  GROUP BY 1, 2, 3, 4, 5, 6`;

const keysOf = {
  0: [`'${nil}'::uuid`, `'${nil}'::uuid`, `'${nil}'::uuid`],
  1: ['merchant_id', `'${nil}'::uuid`, `'${nil}'::uuid`],
  2: ['merchant_id', 'store_id', 'device_id'],
  3: ['merchant_id', 'store_id', 'device_id'],
  4: ['merchant_id', `'${nil}'::uuid`, `'${nil}'::uuid`],
  5: [`'${nil}'::uuid`, `'${nil}'::uuid`, `'${nil}'::uuid`],
} as const;

function hoursAndLatencySql(level: keyof typeof keysOf): string {
  if (level === 3) return "'{}', '{}'";
  if (level === 2) return "'{}', jsonb_build_object(40 + hour, sum(approved + declined)::bigint)";
  return `jsonb_object_agg(hour, jsonb_build_array(approved, declined, failed, 0, authorized::text,
      captured::text, refunded::text, cancelled::text, '0')),
    jsonb_object_agg(40 + hour, approved + declined)`;
}

const cellsText = (
  level: keyof typeof keysOf,
) => `INSERT INTO report_cells (organization_id, level, day, merchant_id,
    store_id, device_id, group_id, hour, ${sums.join(', ')}, other, reversed, hours, latency)
  SELECT $1, ${level}, day, m, s, d, group_id, ${level === 2 ? 'hour' : '-1'}, ${sums.map((name) => `sum(${name})::bigint`).join(', ')}, 0, 0,
    ${hoursAndLatencySql(level)}
  FROM (SELECT day, hour, ${keysOf[level][0]} AS m, ${keysOf[level][1]} AS s, ${keysOf[level][2]} AS d,
      ${level >= 3 ? 'currency_group' : 'group_id'} AS group_id,
      ${sums.map((name) => `sum(${name})::bigint AS ${name}`).join(', ')}
    FROM bench_hours JOIN bench_currencies USING (group_id) GROUP BY 1, 2, 3, 4, 5, 6) h
  GROUP BY day, m, s, d, group_id${level === 2 ? ', hour' : ''}`;

async function makeClasses(query: Database['query'], organizationId: string): Promise<void> {
  const classes = plannedClasses();
  const rows = JSON.stringify(classes);
  await query(
    `CREATE TEMPORARY TABLE bench_classes AS SELECT "classId" AS class_id, "groupId" AS group_id, scheme,
       "entryMode" AS entry_mode, category, reason, currency, state, ending
     FROM jsonb_to_recordset($1::jsonb) AS r("classId" int, "groupId" int, scheme text,
       "entryMode" text, category text, reason text, currency text, state text, ending text)`,
    [rows],
  );
  await query(
    `CREATE TEMPORARY TABLE bench_slots AS SELECT s.slot - 1 AS slot, c.*,
       CASE WHEN count(*) OVER (PARTITION BY c.class_id) < ${slots} * ${frequentShare} THEN c.class_id END AS rare_class_id
     FROM unnest($1::int[]) WITH ORDINALITY AS s(class_id, slot) JOIN bench_classes c USING (class_id)`,
    [slotsOfClasses(classes)],
  );
  await query('ANALYZE bench_slots');
  await query(
    `CREATE TEMPORARY TABLE bench_currencies AS
     SELECT DISTINCT group_id, currency, 100000 + dense_rank() OVER (ORDER BY currency) AS currency_group
     FROM bench_classes`,
  );
  await query(
    `INSERT INTO report_groups SELECT DISTINCT $1::uuid, currency_group, 'Card', '', '', '', '', currency
     FROM bench_currencies`,
    [organizationId],
  );
  await query(
    `INSERT INTO report_groups SELECT DISTINCT $1::uuid, group_id, 'Card', scheme, entry_mode, category,
       reason, currency FROM bench_classes`,
    [organizationId],
  );
}

/**
 * Replaces all reports by those of so many payments of one organisation. The server must not run.
 *
 * @param onProgress called after each chunk with the number of rows
 */
export async function fillReports(
  database: Database,
  options: { organizationId: string; rows: number; onProgress(text: string): void },
): Promise<void> {
  const { organizationId, rows, onProgress } = options;
  const stepMs = (days * dayMs) / rows;
  const firstMs = Date.now() - days * dayMs;
  await database.session(async ({ query }) => {
    await query(`SET maintenance_work_mem = '${memoryForIndexes}'`);
    await query(`SET work_mem = '${memoryForIndexes}'`);
    // What is written in the transaction that emptied a table stays out of the log (wal_level minimal).
    await query('BEGIN');
    const remake: string[] = [];
    for (const table of ['report_payments', 'report_cells']) {
      await query(`TRUNCATE ${table}`);
      remake.push(...(await dropIndexes(query, table)));
    }
    await query('TRUNCATE report_groups, report_classes, report_positions');
    await makeClasses(query, organizationId);
    for (let from = 1; from <= rows; from += chunkRows) {
      const to = Math.min(rows, from + chunkRows - 1);
      await query(paymentsText, [from, to, firstMs, stepMs, organizationId]);
      onProgress(`${to.toLocaleString('en')} payments`);
    }
    await query(hoursText);
    await query('ANALYZE bench_hours');
    for (const level of [0, 1, 2, 3, 4, 5] as const)
      await query(cellsText(level), [organizationId]);
    onProgress('sums of every day');
    await query(
      `INSERT INTO report_classes SELECT $1, c.class_id, c.group_id, c.state, coalesce(n.payments, 0),
         c.class_id IN (SELECT class_id FROM bench_slots WHERE rare_class_id IS NULL)
       FROM bench_classes c LEFT JOIN (SELECT class_id, count(*) AS payments FROM report_payments
         GROUP BY 1) n USING (class_id)`,
      [organizationId],
    );
    await query(`INSERT INTO report_positions VALUES ($1, 0, now(), 'Following', NULL, now())`, [
      organizationId,
    ]);
    for (const statement of remake) await query(statement);
    onProgress('indexes');
    await query('COMMIT');
    const tables = ['report_payments', 'report_cells', 'report_classes', 'report_groups'];
    await settleTables(query, tables);
  });
}
