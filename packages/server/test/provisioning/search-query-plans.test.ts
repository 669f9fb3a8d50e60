// Whole run: much is made, or waited for, before it shows.
// The query plans of searches and lists use indexes that begin with the organisation.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Database, systemClock, systemIdGenerator } from '../../src/platform/index.ts';
import { createProvisioning, type Provisioning } from '../../src/provisioning/index.ts';
import { openScratchDatabase } from '../support/database/test-database.ts';
import { testAudit } from '../support/test-audit.ts';

/**
 * The rows of each type. They belong to many organisations, so that a full table scan is the wrong
 * plan.
 */
const rowsFull = 12_000;
const organizations = 60;
const organizationId = '00000000-0000-7000-8000-000000000007';
const page = { limit: 50 };

type RecordedQuery = { text: string; values: readonly unknown[]; isPrepared?: true };

describe('the plans of search and lists', () => {
  let scratch: Database;
  let drop: () => Promise<void>;
  let provisioning: Provisioning;
  const recordedQueries: RecordedQuery[] = [];
  const names = new Set<string>();

  before(async () => {
    ({ scratch, drop } = await openScratchDatabase());
    const noting: Database = {
      ...scratch,
      query(statement, values = []) {
        if (typeof statement === 'string') recordedQueries.push({ text: statement, values });
        else {
          recordedQueries.push({ text: statement.text, values, isPrepared: true });
          names.add(statement.name);
        }
        return scratch.query(statement, values);
      },
    };
    const parts = { database: noting, clock: systemClock, ids: systemIdGenerator };
    provisioning = createProvisioning({ ...parts, audit: testAudit(scratch, systemClock) });
  });

  after(() => drop());

  const fill = (from: number, to: number) =>
    scratch.session(async (queries) => {
      for (const statement of statements) await queries.query(statement, [from, to]);
    });

  /** Every search of a client, each with a result. */
  const questions: Record<string, () => Promise<{ readonly items: readonly unknown[] }>> = {
    'a name in all types': () => search({ q: 'NAME 7' }),
    'a name of one store': () => search({ q: 'name 67', storeId: idOf('s', 67) }),
    'an external identifier': () => search({ externalId: 'x67' }),
    'a serial number': () => search({ serialNumber: '67' }),
    'a terminal serial number': () => search({ q: 'AXIUM_DX8000-67' }),
    'an identifier': () => search({ q: idOf('l', 67) }),
    'a merchant': () => search({ merchantId: idOf('m', 67), type: 'LogicalDevice' }),
    'physical devices by name': () =>
      provisioning.physicalDevices.list({ organizationId }, { name: 'Name 67' }, page),
    'physical devices by serial number': () =>
      provisioning.physicalDevices.list({ organizationId }, { serialNumber: '67' }, page),
    'stores by external identifier': () =>
      provisioning.stores.list({ organizationId }, { externalId: 'x67' }, page),
    'points of sale of a store': () =>
      provisioning.pointsOfSale.list({ organizationId }, { storeId: idOf('s', 67) }, page),
  };

  const search = (criteria: Record<string, string>) =>
    provisioning.search({ organizationId }, criteria, page);

  /** The generic plan of a prepared statement, and the plan for these values. */
  async function plansOf({ text, values, isPrepared }: RecordedQuery): Promise<string[]> {
    const planRows = await scratch.query(`EXPLAIN ${text}`, values);
    const plans = [planRows.map((row) => String(row['QUERY PLAN']))];
    if (isPrepared) plans.push(await scratch.explain(text));
    return plans.map((lines) => lines.join('\n'));
  }

  async function assertIndexed(): Promise<number> {
    let accesses = 0;
    for (const [name, runSearch] of Object.entries(questions)) {
      recordedQueries.length = 0;
      const { items } = await runSearch();
      assert.ok(items.length > 0, name);
      for (const one of recordedQueries) {
        for (const plan of await plansOf(one)) {
          const planText = `${name}:\n${plan}`;
          assert.doesNotMatch(planText, /Seq Scan on (?!organizations)/, planText);
          const conditions = plan.split('\n').filter((line) => /Index Cond:/.test(line));
          assert.ok(conditions.length > 0, planText);
          for (const condition of conditions) {
            assert.match(condition, /organization_id|ancestor_ids/, planText);
          }
          accesses += conditions.length;
        }
      }
    }
    return accesses;
  }

  // Spec: PROV-20
  test(`begin with the organisation in tables of ${rowsFull} rows`, {
    timeout: 300_000,
  }, async () => {
    await fill(1, rowsFull);
    await scratch.session(async (queries) => {
      for (const table of tables) await queries.query(`ANALYZE ${table}`);
    });
    assert.ok((await assertIndexed()) >= Object.keys(questions).length);
  });

  test('a beginning of a name is a range of the index, not a filter', async () => {
    recordedQueries.length = 0;
    await search({ q: 'name 67' });
    const [one] = recordedQueries;
    assert.ok(one?.isPrepared);
    for (const plan of await plansOf(one)) {
      assert.match(plan, /physical_devices_name/);
      assert.match(
        plan,
        /Index Cond: .*organization_id.*lower\(name\).*>=.*lower\(name\).*</,
        plan,
      );
      assert.match(plan, /physical_devices_external/);
    }
  });

  test('few statements are prepared: one for each form of a search', async () => {
    names.clear();
    for (const merchant of [{}, { merchantId: idOf('m', 67) }]) {
      for (const q of ['a', 'b%', '67', 'AXIUM_DX8000-67', idOf('l', 67), `pos-${idOf('t', 67)}`]) {
        for (const limit of [1, 50, 200]) {
          await provisioning.search({ organizationId, ...merchant }, { q }, { limit });
        }
      }
    }
    assert.equal(names.size, 2 * 5, [...names].join(' '));
    for (const externalId of ['x67', 'x68']) await search({ externalId });
    assert.equal(names.size, 2 * 5 + 1);
    names.clear();
    await search({ q: 'a', status: 'Enabled' });
    await search({ q: 'a', type: 'Store' });
    await search({ q: 'a', externalId: 'x67' });
    await search({ q: 'a', storeId: idOf('s', 67) });
    assert.equal(names.size, 0);
  });
});

const tables = ['merchants', 'stores', 'logical_devices', 'physical_devices', 'points_of_sale'];

const hex = (kind: string, number: string) => `md5('${kind}' || ${number})`;

/** The identifier of a row as the statements below make it: md5 as a UUID. */
function idOf(kind: string, number: number): string {
  const digits = createHash('md5').update(`${kind}${number}`).digest('hex');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const organization = `('00000000-0000-7000-8000-0000000000' || lpad(to_hex(n % ${organizations}), 2, '0'))::uuid`;
const common = `'Name ' || n, 'x' || n, 'Enabled', '{}', 1, now(), now()`;
const commonColumns = 'name, external_id, status, labels, version, created_at, updated_at';
const rows = 'FROM generate_series($1::int, $2::int) AS n';

const statements = [
  `INSERT INTO organizations (organization_id, ${commonColumns})
    SELECT DISTINCT ON (${organization}) ${organization}, ${common} ${rows} ON CONFLICT DO NOTHING`,
  `INSERT INTO merchants (organization_id, merchant_id, country, mcc, time_zone, ${commonColumns})
    SELECT ${organization}, ${hex('m', 'n')}::uuid, 'FR', '5814', 'Europe/Paris', ${common} ${rows}`,
  `INSERT INTO stores (organization_id, store_id, merchant_id, ${commonColumns})
    SELECT ${organization}, ${hex('s', 'n')}::uuid, ${hex('m', 'n')}::uuid, ${common} ${rows}`,
  `INSERT INTO logical_devices (organization_id, logical_device_id, merchant_id, store_id, ${commonColumns})
    SELECT ${organization}, ${hex('l', 'n')}::uuid, ${hex('m', 'n')}::uuid, ${hex('s', 'n')}::uuid,
      ${common} ${rows}`,
  `INSERT INTO physical_devices (organization_id, physical_device_id, merchant_id, logical_device_id,
      serial_number, make, model, family, ${commonColumns})
    SELECT ${organization}, ${hex('p', 'n')}::uuid, ${hex('m', 'n')}::uuid, ${hex('l', 'n')}::uuid,
      n::text, 'AXIUM', 'DX8000', 'axium', ${common} ${rows}`,
  `INSERT INTO points_of_sale (organization_id, point_of_sale_id, merchant_id, store_id, ${commonColumns})
    SELECT ${organization}, ${hex('t', 'n')}::uuid, ${hex('m', 'n')}::uuid, ${hex('s', 'n')}::uuid,
      ${common} ${rows}`,
];
