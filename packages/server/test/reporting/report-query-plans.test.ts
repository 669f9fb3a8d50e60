// Whole run: much is made, or waited for, before it shows.
// The query plans of reports use indexes that begin with the organisation, and never a full table
// scan.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Database } from '../../src/platform/index.ts';
import { findMerchantSql } from '../../src/reporting/infrastructure/find-merchant-sql.ts';
import { createPaymentLine } from '../../src/reporting/projection/payment-line.fixture.ts';
import {
  buildLinesValues,
  insertLinesSql,
} from '../../src/reporting/projection/payment-line-sql.ts';
import * as writes from '../../src/reporting/projection/projection-sql.ts';
import * as reconciliations from '../../src/reporting/reconciliation/reconciliation-sql.ts';
import type { PaymentSearchCriteria } from '../../src/reporting/search/parse-search-filters.ts';
import { paymentClassesSql } from '../../src/reporting/search/payment-class-cache.ts';
import * as search from '../../src/reporting/search/search-sql.ts';
import * as settlements from '../../src/reporting/settlements/settlement-sql.ts';
import * as summary from '../../src/reporting/summary/summary-sql.ts';
import { openScratchDatabase } from '../support/database/test-database.ts';

const payments = 40_000;
/** As `md5(name)::uuid` in the database. */
const entityId = (name: string): string =>
  createHash('md5')
    .update(name)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
const scanForm = /(\w[\w ]*Scan(?: Backward)?)(?: using (\w+))? on (report_\w+|feed_\w+)/;

describe('the plans of the reports', () => {
  let scratch: Database;
  let drop: () => Promise<void>;
  const organizationId = randomUUID();
  /** The column itself, or the key of an index, which is a hash of a value and this column. */
  const organizationCondition = new RegExp(
    `organization_id = '${organizationId}'|organization_id, '0'::bigint\\)\\) = `,
  );

  before(async () => {
    ({ scratch, drop } = await openScratchDatabase());
    await fill();
  });

  after(() => drop());

  /** Fills several organisations, one of which the queries use; its payments match every search. */
  async function fill(): Promise<void> {
    await scratch.query(
      `INSERT INTO report_payments SELECT CASE WHEN i % 4 = 0 THEN $1::uuid ELSE md5('o' || i % 4)::uuid END,
         now() - i * interval '1 second', gen_random_uuid(), 1 + i % 97, 1 + i % 97, 1, md5('m' || i % 5)::uuid,
         md5('s' || i % 10)::uuid, md5('d' || i % 20)::uuid, md5('l')::uuid, 100 + i % 5000, 0, 0, 0, 0, i::text,
         gen_random_uuid()::text, i::text, i::text, lpad((i % 10000)::text, 4, '0'),
         gen_random_uuid(), NULL, false, current_date, now(), current_date, 100, 'EUR', 'M', 'T', '1'
       FROM generate_series(1, ${payments}) i`,
      [organizationId],
    );
    await scratch.query(
      `INSERT INTO report_cells SELECT $1, i % 6, current_date - (i % 40)::int, md5('m' || i % 50)::uuid,
         md5('s' || i % 100)::uuid, gen_random_uuid(), i % 97, -1, 1, 0, 0, 0, 1, 1, 0, 0, 0, '{}', '{}'
       FROM generate_series(1, 20000) i`,
      [organizationId],
    );
    await scratch.query(
      `INSERT INTO report_settlements SELECT $1, current_date - (i / 50)::int, md5('l')::uuid,
         md5('m' || i % 50)::uuid, 'EUR', 1, 1, 0, 0, 0, 0, 0, 0, now()
       FROM generate_series(1, 5000) i`,
      [organizationId],
    );
    await scratch.query('ANALYZE report_payments, report_cells, report_settlements');
  }

  /**
   * The report indexes that a statement uses; a full table scan fails, and so does a bitmap scan,
   * which has no order, where the order matters.
   */
  async function indexesOf(
    text: string,
    values: readonly unknown[],
    { isOrdered = true } = {},
  ): Promise<string[]> {
    const rows = await scratch.query<Record<string, string>>(`EXPLAIN ${text}`, values);
    const lines = rows.map((row) => String(row['QUERY PLAN']));
    const planText = `${text}\n${lines.join('\n')}`;
    return lines.flatMap((line) => {
      const [, how = '', index = '', table] = scanForm.exec(line) ?? [];
      if (table === undefined || (how === 'Bitmap Heap Scan' && !isOrdered)) return [];
      assert.match(how, /Index (?:Only )?Scan/, planText);
      const below = lines.slice(lines.indexOf(line) + 1, lines.indexOf(line) + 3);
      const condition = below.find((each) => each.includes('Index Cond: '));
      assert.match(condition ?? '', organizationCondition, planText);
      return [index === '' ? table : index];
    });
  }

  const base: PaymentSearchCriteria = {
    organizationId,
    merchantId: undefined,
    storeId: undefined,
    deviceId: undefined,
    groupFilters: {},
  };
  const placeId = '0198c0de-0000-7000-8000-000000000001';
  const position = { createdAt: '2026-03-01T00:00:00.000Z', paymentId: placeId };
  const cut = { isAscending: false, after: position, limit: 51 };
  const span = { from: '2020-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' };

  const ways: [search.SearchIndex, Partial<PaymentSearchCriteria>, string][] = [
    ['time', span, 'report_payments_pkey'],
    ['merchant', { merchantId: entityId('m0'), ...span }, 'report_payments_merchant'],
    ['store', { storeId: entityId('s0'), merchantId: entityId('m0') }, 'report_payments_store'],
    ['device', { deviceId: entityId('d0'), amountMin: 1 }, 'report_payments_device'],
  ];
  for (const [way, of, index] of ways) {
    for (const isAscending of [false, true]) {
      test(`a scan by ${way}, ${isAscending ? 'oldest' : 'newest'} first, reads its index in order`, async () => {
        const scan = {
          search: { ...base, ...of },
          classIds: [1, 2],
          page: { ...cut, isAscending },
        };
        for (const each of [
          search.indexScanStatement(way, scan, 100),
          search.exportScanStatement(way, scan, 100),
          search.indexScanEndStatement(way, scan, 100),
        ]) {
          const indexes = await indexesOf(each.text, each.values);
          assert.ok(indexes.includes(index), `${indexes}`);
          assert.ok(indexes.every((name) => [index, 'report_payments_pkey'].includes(name)));
        }
      });
    }
  }

  test('the search reads classes from the class index and small amount ranges from the amount index', async () => {
    const few = { ...base, amountMin: 100, amountMax: 101 };
    const scan = { search: { ...base, ...span }, classIds: [1, 2, 3], page: cut };
    const merge = search.mergeStatement(scan);
    const merged = await indexesOf(merge.text, merge.values);
    assert.ok(merged.includes('report_payments_class'), `${merged}`);
    const amounts = search.amountStatement({ ...scan, search: few });
    const sorted = await indexesOf(amounts.text, amounts.values);
    assert.ok(sorted.includes('report_payments_amount'), `${sorted}`);
    const count = search.amountCountStatement(few, 1000);
    assert.deepEqual(await indexesOf(count.text, count.values), ['report_payments_amount']);
  });

  const references: [search.ReferenceColumn, string, string][] = [
    ['retrieval_reference', '4', 'report_payments_reference'],
    ['authorization_code', '4', 'report_payments_authorization'],
    ['last_four', '0004', 'report_payments_last_four'],
    ['card_token', placeId, 'report_payments_token'],
    ['order_id', placeId, 'report_payments_order'],
  ];
  for (const [column, value, index] of references) {
    test(`a search by ${column} reads its own index`, async () => {
      const scan = { search: base, classIds: undefined, page: cut };
      const { text, values } = search.referenceStatement(scan, [[column, value]], [position]);
      const indexes = await indexesOf(text, values);
      assert.ok(indexes.includes(index), `${indexes}`);
    });
  }

  test('a summary reads only the cells of its days', async () => {
    const days = ['2026-03-01', '2026-03-02'];
    const line = { key: placeId, count: 1, merchantId: placeId, storeId: placeId, isSpread: false };
    const spread = [{ ...line, isSpread: true }];
    for (const level of [0, 1, 2, 3, 4, 5] as const) {
      const isOfAll = level === 0 || level === 5;
      const entityFilter = { merchantId: isOfAll ? undefined : placeId, storeId: undefined };
      const groupFilters = { scheme: ['Visa'] };
      const filter = { organizationId, days, ...entityFilter, deviceId: undefined, groupFilters };
      const [one, all] = [[line], spread].map((lines) => ({ filter, level, lines }));
      assert.ok(one && all);
      for (const { text, values } of [
        summary.sumsStatement({ filter, level, grouping: 'day' }),
        summary.hourSumsStatement(filter, level),
        summary.hourReasonsStatement(filter, level),
        summary.latencyStatement({ filter, level, grouping: 'nothing' }),
        summary.latencyStatement({ filter, level, grouping: 'scheme' }),
        summary.reasonsStatement({ filter, level, grouping: 'responseCategory' }),
        summary.entitySumsStatement({ ...one, column: 'device_id' }),
        summary.entitySumsStatement({ ...all, column: 'store_id' }),
        summary.entityLatencyStatement({ ...one, column: 'merchant_id' }),
        summary.entityReasonsStatement({ ...all, column: 'store_id' }),
        summary.entityKeysStatement(filter, level, 'device_id', { order: 'Count', limit: 5 }),
        summary.entityKeysStatement(filter, level, 'store_id', { order: 'Key', limit: 5 }),
      ]) {
        const indexes = await indexesOf(text, values);
        assert.deepEqual(indexes.sort(), ['report_cells_pkey', 'report_groups_pkey']);
      }
      const everything = { filter: { ...filter, groupFilters: {} }, level };
      for (const { text, values } of [
        summary.latencyStatement({ ...everything, grouping: 'day' }),
        summary.entityLatencyStatement({ ...everything, column: 'store_id', lines: [line] }),
        summary.entityKeysStatement(everything.filter, level, 'store_id', {
          order: 'Key',
          limit: 5,
        }),
      ]) {
        assert.deepEqual(await indexesOf(text, values), ['report_cells_pkey']);
      }
    }
    for (const column of ['store_id', 'device_id'] as const) {
      const id = entityId(column === 'store_id' ? 's0' : 'd0');
      const [index] = await indexesOf(findMerchantSql(column), [organizationId, id]);
      assert.equal(index, `report_payments_${column.replace('_id', '')}`);
    }
  });

  test('reconciliations read movements by reference, and those of a day in the order of an index', async () => {
    const day = new Date().toISOString().slice(0, 10);
    const linkId = entityId('l');
    const references = [organizationId, linkId, '{4,8,12}', day, day];
    const found = await indexesOf(reconciliations.movementsSql, references, { isOrdered: false });
    assert.deepEqual(found, ['report_movements_reference', 'report_payments_reference']);
    const page = [organizationId, randomUUID(), linkId, day, placeId, 0, 20, 1];
    assert.deepEqual(await indexesOf(reconciliations.recordMissingSql, page), [
      'report_movements_pkey',
      'report_payments_settlement',
    ]);
  });

  test('a list of settlements reads the primary key or the index of the merchant', async () => {
    const values = (merchantId: string | null) => [
      organizationId,
      merchantId,
      '2020-01-01',
      '2100-01-01',
      null,
      null,
      null,
      null,
      null,
      null,
      50,
    ];
    assert.deepEqual(await indexesOf(settlements.listSettlementsSql(false), values(null)), [
      'report_settlements_pkey',
    ]);
    const usedIndexes = await indexesOf(settlements.listSettlementsSql(true), values(placeId));
    assert.deepEqual(usedIndexes, ['report_settlements_merchant']);
  });

  // Spec: REP-9
  test('the writer finds stored lines and events by their primary key', async () => {
    const lines = Array.from({ length: 100 }, () => ({
      line: createPaymentLine({}),
      movements: new Map(),
      classId: 1,
      rareClassId: 1,
    }));
    const values = buildLinesValues(organizationId, lines, new Map());
    const usedIndexes = await indexesOf(insertLinesSql.text, values);
    assert.deepEqual(usedIndexes, ['report_payments_pkey']);
    const news = await indexesOf(writes.feedEventsSql, [organizationId, 5, 500]);
    assert.deepEqual(news, ['feed_events_pkey']);
    assert.ok(paymentClassesSql.includes('organization_id = $1'));
  });
});
