import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  assertRefused,
  deviceBody as device,
  openProvisioning,
  type TestProvisioning,
} from '../../../test/support/provisioning/test-provisioning.ts';
import { systemIdGenerator } from '../../platform/index.ts';

describe('devices', () => {
  let setup: TestProvisioning;
  before(async () => {
    setup = await openProvisioning();
  });
  after(() => setup.close());

  // Spec: PROV-7
  test('filters: name prefix, external id, serial number, store', async () => {
    const { call, made, createMerchant, provisioning, organizationId } = setup;
    const { merchantId, storeId } = await createMerchant('filtered');
    await made('org', '/stores', { merchantId, name: '100%_sure', externalId: 'x-1' });
    const listNames = async (path: string) => {
      const { status, body } = await call('org', 'GET', path);
      assert.equal(status, 200, JSON.stringify(body));
      return (body['items'] as { name: string }[]).map(({ name }) => name);
    };
    const merchantFilter = `merchantId=${merchantId}`;
    assert.deepEqual(await listNames(`/stores?${merchantFilter}&name=FILT`), ['filtered store']);
    assert.deepEqual(
      await listNames(`/stores?${merchantFilter}&name=${encodeURIComponent('100%_')}`),
      ['100%_sure'],
    );
    assert.deepEqual(
      await listNames(`/stores?${merchantFilter}&name=${encodeURIComponent('%')}`),
      [],
    );
    assert.deepEqual(await listNames(`/stores?${merchantFilter}&externalId=x-1`), ['100%_sure']);
    const hardware = await made('org', '/physical-devices', { ...device(), merchantId });
    const tsn = `AXIUM_DX8000-${hardware['serialNumber']}`;
    assert.equal(hardware['tsn'], tsn);
    assert.deepEqual(
      await listNames(`/physical-devices?serialNumber=${hardware['serialNumber']}`),
      [tsn],
    );
    const { logicalDeviceId = '' } = await made('org', '/logical-devices', { storeId, name: 'T' });
    await provisioning.logicalDevices.linkPhysicalDevices({ organizationId }, logicalDeviceId, [
      String(hardware['physicalDeviceId']),
    ]);
    assert.deepEqual(await listNames(`/physical-devices?storeId=${storeId}`), [tsn]);
    assert.deepEqual(await listNames(`/physical-devices?storeId=${systemIdGenerator.uuid()}`), []);
  });

  // Spec: PROV-6 PROV-22
  test('a logical device has zero, one or two physical devices', async () => {
    const { call, made, createMerchant } = setup;
    const [one, two] = [await createMerchant('links-one'), await createMerchant('links-two')];
    const till = async ({ storeId }: { storeId: string }, name: string) =>
      (await made('org', '/logical-devices', { storeId, name }))['logicalDeviceId'] ?? '';
    const [first, second, foreign] = [
      await till(one, 'First'),
      await till(one, 'Second'),
      await till(two, 'Foreign'),
    ];
    const hardware: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      hardware.push((await made('org', '/physical-devices', device()))['physicalDeviceId'] ?? '');
    }
    const [a = '', b = '', c = ''] = hardware;
    const link = (id: string, physicalDeviceIds: string[], headers = {}) =>
      call('org', 'PUT', `/logical-devices/${id}/physical-devices`, {
        body: { physicalDeviceIds },
        headers,
      });
    const linked = await link(first, [b, a], { 'if-match': '"1"' });
    assert.equal(linked.status, 200, JSON.stringify(linked.body));
    assert.equal(linked.headers['etag'], '"2"');
    assert.deepEqual(linked.body['physicalDeviceIds'], [a, b].sort());
    const read = await call('org', 'GET', `/physical-devices/${a}`);
    assert.equal(read.body['merchantId'], one.merchantId);
    assert.equal(read.body['logicalDeviceId'], first);

    assertRefused(await link(second, [c, a]), 422, 'field_invalid', '/physicalDeviceIds/1');
    assertRefused(await link(second, [a, b, c]), 422, 'field_invalid', '/physicalDeviceIds');
    assertRefused(await link(second, [c, c]), 422, 'field_invalid', '/physicalDeviceIds');
    assertRefused(await link(second, [systemIdGenerator.uuid()]), 404, 'device_not_found');
    assertRefused(await link(first, [], { 'if-match': '"1"' }), 412, 'precondition_failed');
    assert.deepEqual((await link(first, [c])).body['physicalDeviceIds'], [c]);
    assertRefused(await link(foreign, [a]), 422, 'entity_mismatch', '/physicalDeviceIds/0');
    const moved = { ...device(), merchantId: two.merchantId };
    const path = `/physical-devices/${a}`;
    assert.equal((await call('org', 'PUT', path, { body: moved })).status, 200);
    assert.equal((await link(foreign, [a])).status, 200);
    const movedBack = { ...moved, merchantId: one.merchantId };
    const updateResponse = await call('org', 'PUT', path, { body: movedBack });
    assertRefused(updateResponse, 422, 'field_read_only', '/merchantId');
    const answer = await call('org', 'DELETE', `/logical-devices/${foreign}`);
    assertRefused(answer, 409, 'has_dependants');
    assert.equal((await link(foreign, [])).status, 200);
    assert.equal((await call('org', 'DELETE', `/logical-devices/${foreign}`)).status, 204);
  });

  test('of two links of one device at the same time one wins', async () => {
    const { call, made, createMerchant } = setup;
    const { storeId } = await createMerchant('racing');
    const { physicalDeviceId = '' } = await made('org', '/physical-devices', device());
    const logicalDeviceIds: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const body = { storeId, name: `Till ${n}` };
      logicalDeviceIds.push((await made('org', '/logical-devices', body))['logicalDeviceId'] ?? '');
    }
    const answers = await Promise.all(
      logicalDeviceIds.map((id) =>
        call('org', 'PUT', `/logical-devices/${id}/physical-devices`, {
          body: { physicalDeviceIds: [physicalDeviceId] },
        }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 422, 422, 422]);
  });

  test('the server refuses a serial number filter that contains a null character', async () => {
    const answer = await setup.call('org', 'GET', '/physical-devices?serialNumber=%00');
    assertRefused(answer, 422, 'field_invalid', '?serialNumber');
  });
});
