// Tests every name with which a device is found, and the devices that must not be found.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  deviceBody,
  openProvisioning,
  type TestProvisioning,
} from '../../../test/support/provisioning/test-provisioning.ts';
import { systemIdGenerator } from '../../platform/index.ts';
import { createDeviceFinder } from './find-device.ts';

describe('a device is found', () => {
  let setup: TestProvisioning;
  before(async () => {
    setup = await openProvisioning();
  });
  after(() => setup.close());

  async function till(name: string) {
    const { made, createMerchant, provisioning, organizationId } = setup;
    const { merchantId, storeId } = await createMerchant(name);
    const body = deviceBody();
    const { physicalDeviceId = '' } = await made('org', '/physical-devices', body);
    const { logicalDeviceId = '' } = await made('org', '/logical-devices', { storeId, name });
    await provisioning.logicalDevices.linkPhysicalDevices({ organizationId }, logicalDeviceId, [
      physicalDeviceId,
    ]);
    return { merchantId, storeId, physicalDeviceId, logicalDeviceId, ...body };
  }
  const find = (nameOrId: string, merchantId?: string) =>
    setup.provisioning.findDevice(setup.organizationId, merchantId, nameOrId);

  test('by either identifier, by its terminal serial number, and by the serial alone', async () => {
    const made = await till('named');
    const { logicalDeviceId, physicalDeviceId, serialNumber } = made;
    for (const name of [
      logicalDeviceId,
      logicalDeviceId.toUpperCase(),
      physicalDeviceId,
      `AXIUM_DX8000-${serialNumber}`,
      serialNumber,
    ]) {
      assert.deepEqual(await find(name), made, name);
      assert.deepEqual(await find(name, made.merchantId), made, name);
    }
  });

  test('and not by the name of something else, nor for another merchant or organisation', async () => {
    const made = await till('foreign');
    const { merchantId: other } = await setup.createMerchant('foreign-other');
    for (const name of [
      '',
      'x'.repeat(300),
      `TETRA_LANE3000-${made.serialNumber}`,
      `-${made.serialNumber}`,
      `AXIUM_DX8000-${made.serialNumber}-1`,
      `${made.serialNumber}'`,
      made.storeId,
      made.merchantId,
      systemIdGenerator.uuid(),
      '00000000',
    ]) {
      assert.equal(await find(name), undefined, name);
    }
    for (const name of [made.logicalDeviceId, made.physicalDeviceId, made.serialNumber]) {
      assert.equal(await find(name, other), undefined, name);
      assert.equal(
        await setup.provisioning.findDevice(systemIdGenerator.uuid(), undefined, name),
        undefined,
      );
    }
  });

  test('by the serial number of each of two physical devices, and without physical devices by its identifier', async () => {
    const made = await till('twofold');
    const { organizationId, provisioning } = setup;
    const second = deviceBody();
    const { physicalDeviceId = '' } = await setup.made('org', '/physical-devices', second);
    const link = (hardware: string[]) =>
      provisioning.logicalDevices.linkPhysicalDevices(
        { organizationId },
        made.logicalDeviceId,
        hardware,
      );
    assert.equal(await find(second.serialNumber), undefined, 'in stock');
    await link([made.physicalDeviceId, physicalDeviceId]);
    assert.equal((await find(second.serialNumber))?.physicalDeviceId, physicalDeviceId);
    assert.equal((await find(made.serialNumber))?.physicalDeviceId, made.physicalDeviceId);
    await link([]);
    assert.deepEqual(await find(made.logicalDeviceId), {
      logicalDeviceId: made.logicalDeviceId,
      storeId: made.storeId,
      merchantId: made.merchantId,
    });
    assert.equal(await find(made.serialNumber), undefined);
  });

  test('only while hardware, place, store, merchant and organisation are enabled', async () => {
    const { provisioning, organizationId, database } = setup;
    const scope = { organizationId };
    const made = await till('enabled');
    let now = Date.now();
    const elsewhere = createDeviceFinder({ database, clock: { now: () => now } });
    const status = (value: 'Enabled' | 'Disabled') => async () => ({ status: value });
    const levels = {
      merchant: (value: 'Enabled' | 'Disabled') =>
        provisioning.merchants.change(scope, made.merchantId, undefined, status(value)),
      store: (value: 'Enabled' | 'Disabled') =>
        provisioning.stores.change(scope, made.storeId, undefined, status(value)),
      place: (value: 'Enabled' | 'Disabled') =>
        provisioning.logicalDevices.change(scope, made.logicalDeviceId, undefined, status(value)),
      hardware: (value: 'Enabled' | 'Disabled') =>
        provisioning.physicalDevices.change(scope, made.physicalDeviceId, undefined, status(value)),
      organization: (value: 'Enabled' | 'Disabled') =>
        provisioning.organizations.change(scope, organizationId, undefined, status(value)),
    };
    for (const [level, set] of Object.entries(levels)) {
      assert.ok(await find(made.serialNumber), level);
      await set('Disabled');
      assert.equal(await find(made.serialNumber), undefined, level);
      await set('Enabled');
    }
    // Another process caches the device for a few seconds, and then reads it again.
    assert.ok(await elsewhere.find(organizationId, undefined, made.serialNumber));
    await levels.place('Disabled');
    now += 4999;
    assert.ok(await elsewhere.find(organizationId, undefined, made.serialNumber));
    now += 1;
    assert.equal(await elsewhere.find(organizationId, undefined, made.serialNumber), undefined);
  });
});
