// Which terminals may have the same serial number, and which would be one terminal twice.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  assertRefused,
  deviceBody as device,
  merchantBody,
  openProvisioning,
  type ProvisioningScene,
} from '../../test/provisioning.ts';
import { systemIds } from '../platform/index.ts';

const path = '/physical-devices';

describe('a serial number', () => {
  let scene: ProvisioningScene;
  before(async () => {
    scene = await openProvisioning();
  });
  after(() => scene.close());

  test('is held by one living device of an organisation, whatever its make and model', async () => {
    const { call, made } = scene;
    const body = device();
    const { physicalDeviceId } = await made('org', path, body);
    for (const other of [body, { ...body, make: 'TETRA' }, { ...body, model: 'LANE3000' }]) {
      const twin = await call('org', 'POST', path, { body: other });
      assertRefused(twin, 409, 'already_exists', '/serialNumber');
    }
    const { physicalDeviceId: second } = await made('org', path, device());
    const renamed = { ...device(), serialNumber: body.serialNumber, model: 'LANE3000' };
    const moved = await call('org', 'PUT', `${path}/${second}`, { body: renamed });
    assertRefused(moved, 409, 'already_exists', '/serialNumber');
    assert.equal((await call('org', 'DELETE', `${path}/${physicalDeviceId}`)).status, 204);
    await made('org', path, body);
  });

  test('is another organisation’s too where make or model differ, and one terminal is one organisation’s', async () => {
    const { call, made } = scene;
    const body = device();
    const { physicalDeviceId } = await made('org', path, body);
    const taken = await call('other', 'POST', path, { body });
    assertRefused(taken, 409, 'already_exists', '/serialNumber');
    assert.equal(JSON.stringify(taken.body).includes(scene.organizationId), false, 'whose it is');
    const own = await made('other', path, { ...body, model: 'LANE3000' });
    const same = await call('other', 'PUT', `${path}/${own['physicalDeviceId']}`, { body });
    assertRefused(same, 409, 'already_exists', '/serialNumber');

    const sold = { ...device(), name: 'Sold', serialNumber: device().serialNumber };
    const changed = await call('org', 'PUT', `${path}/${physicalDeviceId}`, { body: sold });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    const { name: _name, ...hardware } = sold;
    const gone = await call('other', 'POST', path, { body: hardware });
    assertRefused(gone, 409, 'already_exists', '/serialNumber');
    const free = await call('other', 'PUT', `${path}/${own['physicalDeviceId']}`, { body });
    assert.equal(free.status, 200, 'what the first one no longer has');
    assert.equal((await call('org', 'DELETE', `${path}/${physicalDeviceId}`)).status, 204);
    await made('other', path, hardware);
  });

  test('finds the device of the organisation that asks, by either spelling', async () => {
    const { made, provisioning, organizationId } = scene;
    const { storeId } = await scene.shop('two tenants');
    const merchant = await made('other', '/merchants', merchantBody('Elsewhere'));
    const { merchantId = '', organizationId: otherId = '' } = merchant;
    const store = await made('other', '/stores', { merchantId, name: 'Elsewhere' });
    const body = device();
    const places: Record<string, string> = {};
    for (const [token, tenant, model, store_] of [
      ['org', organizationId, 'DX8000', storeId],
      ['other', otherId, 'LANE3000', store['storeId']],
    ] as const) {
      const { physicalDeviceId = '' } = await made(token, path, { ...body, model });
      const till = { storeId: store_, name: 'Till' };
      const { logicalDeviceId = '' } = await made(token, '/logical-devices', till);
      const scope = { organizationId: tenant };
      await provisioning.logicalDevices.link(scope, logicalDeviceId, [physicalDeviceId]);
      places[tenant] = logicalDeviceId;
    }
    for (const [tenant, model] of [
      [organizationId, 'DX8000'],
      [otherId, 'LANE3000'],
    ] as const) {
      for (const name of [body.serialNumber, `AXIUM_${model}-${body.serialNumber}`]) {
        const found = await provisioning.findDevice(tenant, undefined, name);
        assert.equal(found?.logicalDeviceId, places[tenant], name);
      }
    }
    const foreign = `AXIUM_LANE3000-${body.serialNumber}`;
    assert.equal(await provisioning.findDevice(organizationId, undefined, foreign), undefined);
  });

  test('of one terminal, claimed by two organisations at once, goes to one of them', async () => {
    for (let round = 0; round < 5; round += 1) {
      const body = device();
      const answers = await Promise.all(
        ['org', 'other', 'org', 'other'].map((token) => scene.call(token, 'POST', path, { body })),
      );
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [201, 409, 409, 409]);
    }
  });

  test('is not taken by what was refused', async () => {
    const { call, made } = scene;
    const body = { ...device(), merchantId: systemIds.uuid() };
    assertRefused(await call('org', 'POST', path, { body }), 404, 'merchant_not_found');
    const { merchantId: _merchantId, ...hardware } = body;
    await made('other', path, hardware);
  });
});
