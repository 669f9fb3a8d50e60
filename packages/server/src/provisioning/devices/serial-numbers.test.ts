// Tests which devices may share a serial number, and which would be the same device twice.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  openBulk,
  type TestBulkImport,
} from '../../../test/support/provisioning/bulk-import-client.ts';
import {
  assertRefused,
  deviceBody as device,
  merchantBody,
} from '../../../test/support/provisioning/test-provisioning.ts';
import { systemIdGenerator } from '../../platform/index.ts';

const path = '/physical-devices';

describe('a serial number', () => {
  let setup: TestBulkImport;
  before(async () => {
    setup = await openBulk();
  });
  after(() => setup.close());

  // Spec: PROV-8
  test('is unique among the devices of an organisation, for any make and model', async () => {
    const { call, made } = setup;
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

  // Spec: PROV-8
  test('can belong to devices of two organisations, and the response does not show this', async () => {
    const { call, made } = setup;
    const [body, unknown] = [device(), device()];
    await made('org', path, body);
    const answers = [
      await call('other', 'POST', path, { body }),
      await call('other', 'POST', path, { body: unknown }),
    ];
    const comparable = answers.map(({ status, headers, body: view }) => ({
      status,
      headers: Object.keys(headers).sort(),
      members: Object.keys(view).sort(),
      claimStatus: view['claimStatus'],
    }));
    assert.deepEqual(comparable[0], comparable[1]);
    assert.deepEqual([comparable[0]?.status, comparable[0]?.claimStatus], [201, 'Unclaimed']);
    const second = await made('other', path, device());
    const renamed = await call('other', 'PUT', `${path}/${second['physicalDeviceId']}`, {
      body: { ...body, serialNumber: device().serialNumber },
    });
    assert.equal(renamed.status, 200, JSON.stringify(renamed.body));
  });

  // Spec: PROV-8
  test('can be imported by two organisations', async () => {
    const { serialNumber, ...rest } = device();
    for (const token of ['org', 'other']) {
      const data = { serialNumber, externalId: token, ...rest };
      const { results } = await setup.lines([{ type: 'physicalDevice', data }], { token });
      assert.equal(results[0]?.status, 'created', JSON.stringify(results));
      const listResponse = await setup.call(token, 'GET', `${path}?serialNumber=${serialNumber}`);
      const items = listResponse.body['items'] as { claimStatus: string }[];
      assert.deepEqual(
        items.map(({ claimStatus }) => claimStatus),
        ['Unclaimed'],
      );
    }
  });

  test('finds the device of the requesting organisation, by its short and its full form', async () => {
    const { made, provisioning, organizationId } = setup;
    const { storeId } = await setup.createMerchant('two tenants');
    const merchant = await made('other', '/merchants', merchantBody('Elsewhere'));
    const { merchantId = '', organizationId: otherId = '' } = merchant;
    const store = await made('other', '/stores', { merchantId, name: 'Elsewhere' });
    const body = device();
    const logicalDeviceIds: Record<string, string> = {};
    for (const [token, tenant, model, store_] of [
      ['org', organizationId, 'DX8000', storeId],
      ['other', otherId, 'LANE3000', store['storeId']],
    ] as const) {
      const { physicalDeviceId = '' } = await made(token, path, { ...body, model });
      const till = { storeId: store_, name: 'Till' };
      const { logicalDeviceId = '' } = await made(token, '/logical-devices', till);
      const scope = { organizationId: tenant };
      await provisioning.logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [
        physicalDeviceId,
      ]);
      logicalDeviceIds[tenant] = logicalDeviceId;
    }
    for (const [tenant, model] of [
      [organizationId, 'DX8000'],
      [otherId, 'LANE3000'],
    ] as const) {
      for (const name of [body.serialNumber, `AXIUM_${model}-${body.serialNumber}`]) {
        const foundDevice = await provisioning.findDevice(tenant, undefined, name);
        assert.equal(foundDevice?.logicalDeviceId, logicalDeviceIds[tenant], name);
      }
    }
    const foreign = `AXIUM_LANE3000-${body.serialNumber}`;
    assert.equal(await provisioning.findDevice(organizationId, undefined, foreign), undefined);
  });

  test('is accepted once in each organisation, also when all requests arrive in parallel', async () => {
    for (let round = 0; round < 5; round += 1) {
      const body = device();
      const answers = await Promise.all(
        ['org', 'other', 'org', 'other'].map((token) => setup.call(token, 'POST', path, { body })),
      );
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [201, 201, 409, 409]);
    }
  });

  test('that is claimed cannot be made unclaimed by a replacement, and another one is not claimed', async () => {
    const { call, made, provisioning, organizationId } = setup;
    const view = await made('org', path, device());
    const { physicalDeviceId = '' } = view;
    await provisioning.terminalClaims.claimByOperator(organizationId, physicalDeviceId);
    const item = `${path}/${physicalDeviceId}`;
    const { body: claimed } = await call('org', 'GET', item);
    assert.deepEqual([claimed['claimStatus'], claimed['claimMethod']], ['Claimed', 'Operator']);
    assertRefused(
      await call('org', 'PUT', item, { body: { ...claimed, claimStatus: 'Unclaimed' } }),
      422,
      'field_read_only',
      '/claimStatus',
    );
    const updateResponse = await call('org', 'PUT', item, {
      body: { ...claimed, name: 'Counter' },
    });
    assert.equal(
      updateResponse.body['claimStatus'],
      'Claimed',
      JSON.stringify(updateResponse.body),
    );
    const other = await call('org', 'PUT', item, { body: device() });
    assert.equal(other.body['claimStatus'], 'Unclaimed', JSON.stringify(other.body));
    const [row] = await setup.database.query<{ claims: number }>(
      'SELECT count(*) AS claims FROM terminal_claims WHERE organization_id = $1',
      [organizationId],
    );
    assert.equal(Number(row?.claims), 0);
  });

  test('is not used by a refused line', async () => {
    const { call, made } = setup;
    const body = { ...device(), merchantId: systemIdGenerator.uuid() };
    assertRefused(await call('org', 'POST', path, { body }), 404, 'merchant_not_found');
    const { merchantId: _merchantId, ...hardware } = body;
    await made('other', path, hardware);
  });
});
