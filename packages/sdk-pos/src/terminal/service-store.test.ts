// The file store of services: its content after a restart, and on a full disk.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { withFullDisk } from '@switchyard/sdk-core';
import { fileServiceStore, type StoredService } from './service-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-services-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const service = (serviceId: string): StoredService => ({
  serviceId,
  at: 1,
  header: {
    MessageClass: 'Service',
    MessageCategory: 'Payment',
    MessageType: 'Request',
    ServiceID: serviceId,
    SaleID: 'till',
    POIID: 'SPP11-1',
  },
});
async function storedServiceIds(path: string): Promise<string[]> {
  const store = fileServiceStore(path);
  const services = await store.load();
  store.close();
  return services.map(({ serviceId }) => serviceId);
}

describe('a store of services in a file', () => {
  test('a full disk throws, and later services are readable', async () => {
    const path = join(folder, 'full', 'till.jsonl');
    const store = fileServiceStore(path);
    await store.save(service('a'));
    for (const freeBytes of [0, 9]) {
      assert.throws(() => withFullDisk(freeBytes, () => void store.save(service('b'))), {
        code: 'ENOSPC',
      });
      assert.throws(() => withFullDisk(freeBytes, () => void store.remove('a')), {
        code: 'ENOSPC',
      });
    }
    assert.deepEqual(await store.load(), [service('a')]);
    await store.save(service('c'));
    await store.remove('a');
    store.close();
    assert.deepEqual(await storedServiceIds(path), ['c']);
  });
});
