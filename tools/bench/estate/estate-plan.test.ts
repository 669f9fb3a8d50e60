import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testDatabase } from '../../../packages/server/test/support/database/test-database.ts';
import {
  deviceNameOf,
  deviceNameSql,
  divideDevices,
  estateId,
  estateIdSql,
  estateKinds,
  externalIdOf,
  externalIdSql,
  namePrefixOf,
  serialNumberOf,
  serialNumberSql,
} from './estate-plan.ts';

describe('the plan of the estate', () => {
  for (const [devices, organizations] of [
    [1_000_000, 2000],
    [1000, 40],
    [7, 3],
    [5, 1],
  ] as const) {
    test(`${devices} devices are divided among ${organizations} organisations`, () => {
      const counts = divideDevices(devices, organizations);
      assert.equal(counts.length, organizations);
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        devices,
      );
      assert.ok(counts.every((count, at) => at === 0 || count <= (counts[0] ?? 0)));
    });
  }

  test('one organisation has a fifth of the devices, the next ones have a fiftieth each, and no organisation is empty', () => {
    const counts = divideDevices(1_000_000, 2000);
    assert.deepEqual(counts.slice(0, 3), [200_000, 20_000, 20_000]);
    assert.ok((counts[10] ?? 0) > 300 && (counts.at(-1) ?? 0) > 300);
  });

  test('numbers, names and identifiers are the same here and in the database', async () => {
    const database = await testDatabase();
    const firstMs = 1_790_000_000_000;
    const pairs = [
      [0, 0],
      [7, 123],
      [1999, 199_999],
    ] as const;
    for (const [organization, number] of pairs) {
      for (const kind of Object.keys(estateKinds) as (keyof typeof estateKinds)[]) {
        const [row] = await database.query(
          `SELECT ${estateIdSql(kind, '$2', '$3::bigint')}::text AS id, ${serialNumberSql('$2::bigint', '$3::bigint')} AS serial,
             ${externalIdSql('$3::bigint')} AS external, ${deviceNameSql('$3::bigint')} AS name`,
          [firstMs, organization, number],
        );
        assert.deepEqual(row, {
          id: estateId(kind, firstMs, organization, number),
          serial: serialNumberOf(organization, number),
          external: externalIdOf(number),
          name: deviceNameOf(number),
        });
      }
    }
  });

  test('a name prefix is shared by the planned number of devices', () => {
    assert.equal(namePrefixOf(123_456, 10), 'Till 12345');
    assert.equal(namePrefixOf(123_456, 10_000), 'Till 12');
  });
});
