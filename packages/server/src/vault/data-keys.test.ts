import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { type MovableClock, movableClock } from '../../test/support/movable-clock.ts';
import { eventually } from '../../test/support/wait-for-condition.ts';
import { createLog, createMetrics, systemIdGenerator } from '../platform/index.ts';
import { createDataKeys, createUnwrapCounter, type DataKey, type DataKeys } from './data-keys.ts';
import { createLocalKeyProvider } from './key-providers/open-key-provider.ts';
import type { VaultKey, VaultKeyStore } from './vault-key-sql.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const minuteMs = 60_000;

/** Stores keys in memory, as the database does. */
function storeInMemory(): Pick<VaultKeyStore, 'find' | 'findActive' | 'add'> {
  const rows: VaultKey[] = [];
  return {
    find: async (organizationId, keyId) =>
      rows.find((key) => key.organizationId === organizationId && key.keyId === keyId),
    findActive: async (organizationId) =>
      rows.find((key) => key.organizationId === organizationId && key.state === 'Active'),
    add: async (key) => {
      if (!rows.some(({ organizationId }) => organizationId === key.organizationId)) rows.push(key);
    },
  };
}

describe('the keys of the organisations', () => {
  const organizationId = systemIdGenerator.uuid();
  let clock: MovableClock;
  let keys: DataKeys;
  let unwraps: number;

  beforeEach(() => {
    clock = movableClock();
    unwraps = 0;
    const provider = createLocalKeyProvider(randomBytes(32));
    keys = createDataKeys({
      store: storeInMemory() as VaultKeyStore,
      provider: {
        ...provider,
        unwrap: (wrapped, identity) => {
          unwraps += 1;
          return provider.unwrap(wrapped, identity);
        },
      },
      clock,
      log,
      ids: systemIdGenerator,
      unwraps: createUnwrapCounter(createMetrics()),
    });
  });

  const readActiveKey = () => keys.withActiveKey(organizationId, (key: DataKey) => key);

  test('are at hand without a wait for minutes, and zeroed before the fifth is over', async () => {
    const { bytes, keyId } = await readActiveKey();
    assert.ok(bytes.some((byte) => byte !== 0));
    clock.advance(3 * minuteMs);
    const again = readActiveKey();
    assert.ok(!(again instanceof Promise), 'no wait');
    assert.equal(again.keyId, keyId);
    assert.equal(unwraps, 1);
    clock.advance(2 * minuteMs - 15_000);
    keys.zeroOld();
    assert.ok(bytes.every((byte) => byte === 0));
    assert.equal(keys.cachedKeyCount(), 0);
    assert.equal((await readActiveKey()).keyId, keyId);
    assert.equal(unwraps, 2);
    keys.close();
  });

  test('that are in use are fetched again in the background, without a wait for the caller', async () => {
    const first = await readActiveKey();
    clock.advance(4 * minuteMs);
    const second = readActiveKey();
    assert.ok(!(second instanceof Promise), 'no wait');
    await eventually('another unwrap', () => unwraps === 2 && first.bytes.every((b) => b === 0));
    clock.advance(2 * minuteMs);
    const third = readActiveKey();
    assert.ok(!(third instanceof Promise), 'no wait');
    assert.ok(third.bytes.some((byte) => byte !== 0));
    keys.close();
    assert.ok(third.bytes.every((byte) => byte === 0));
  });

  test('a clock that moves backwards does not extend the lifetime of a key', async () => {
    const { bytes } = await readActiveKey();
    clock.advance(-minuteMs);
    keys.zeroOld();
    assert.ok(bytes.every((byte) => byte === 0));
    keys.close();
  });

  test('concurrent requests for a key call the provider once', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => readActiveKey()));
    assert.equal(new Set(all.map(({ keyId }) => keyId)).size, 1);
    assert.equal(unwraps, 1);
    keys.close();
  });
});
