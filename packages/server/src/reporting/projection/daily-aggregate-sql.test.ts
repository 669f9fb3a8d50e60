// Tests that sums added in the database are exact to the minor unit, for any division into parts.
import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { createSeededRandom } from '../../../test/support/seeded-random.ts';
import { nilUuid } from '../../platform/index.ts';
import { addAggregates, readAggregates, type StoredAggregate } from './daily-aggregate-sql.ts';
import { addSumEntry, aggregateKeyText, type DailyAggregates } from './daily-aggregates.ts';
import type { SumEntry } from './reported-payment-types.ts';

/** The content of the cells by their keys. */
const contents = (cells: Iterable<StoredAggregate>) =>
  new Map(
    [...cells].map(({ figures, hours, latency, ...key }) => [
      aggregateKeyText(key),
      { figures, hours, latency },
    ]),
  );

const seed = randomInt(2 ** 31);

test(`the stored sum of partial aggregates equals the sum of all entries (seed ${seed})`, async () => {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const { below, pick } = createSeededRandom(seed);
  const entities = Array.from({ length: 3 }, () => ({
    merchantId: randomUUID(),
    storeId: undefined,
    deviceId: randomUUID(),
  }));
  const whole: DailyAggregates = new Map();
  for (let part = 0; part < 12; part += 1) {
    const cells: DailyAggregates = new Map();
    for (let count = 1 + below(40); count > 0; count -= 1) {
      const entry: SumEntry = {
        day: pick(['2026-03-01', '2026-03-02']),
        hour: below(24),
        ...(below(4) > 0 ? { outcome: pick(['approved', 'declined'] as const) } : {}),
        ...(below(4) > 0 ? { latencyMs: below(30001) } : {}),
        sums: { authorized: below(10 ** 9) * 1000 + below(1000), refunded: below(501) },
      };
      const entity = pick(entities);
      const groupIds = { groupId: 1 + below(3), currencyGroupId: 9 };
      for (const to of [cells, whole]) addSumEntry(to, entry, entity, groupIds);
    }
    await addAggregates(database, organizationId, [...cells.values()]);
  }
  const stored = await readAggregates(database, organizationId);
  assert.deepEqual(contents(stored), contents(whole.values()));
});

test('the database stores sums above MAX_SAFE_INTEGER exactly', async () => {
  const database = await testDatabase();
  const organizationId = randomUUID();
  const cells: DailyAggregates = new Map();
  const entry: SumEntry = {
    day: '2026-03-01',
    hour: 5,
    sums: { captured: Number.MAX_SAFE_INTEGER },
  };
  const entity = { merchantId: nilUuid, storeId: undefined, deviceId: undefined };
  addSumEntry(cells, entry, entity, { groupId: 1, currencyGroupId: 2 });
  for (let time = 0; time < 3; time += 1) {
    await addAggregates(database, organizationId, [...cells.values()]);
  }
  const expectedSum = 3n * BigInt(Number.MAX_SAFE_INTEGER);
  for (const cell of await readAggregates(database, organizationId)) {
    assert.equal(cell.figures.captured, expectedSum);
    for (const hour of cell.hours.values()) assert.equal(hour.captured, expectedSum);
  }
});
