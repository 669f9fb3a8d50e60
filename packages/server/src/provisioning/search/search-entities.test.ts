// Tests the search over all provisioned entities: the results, their scope and their order.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { FoundItem } from '@switchyard/contract';
import {
  assertRefused,
  deviceBody,
  type MerchantWithStore,
  merchantBody,
  openProvisioning,
  type TestProvisioning,
} from '../../../test/support/provisioning/test-provisioning.ts';
import { systemIdGenerator } from '../../platform/index.ts';

type Estate = MerchantWithStore & {
  physicalDeviceId: string;
  logicalDeviceId: string;
  pointOfSaleId: string;
  clientId: string;
  serialNumber: string;
  tsn: string;
};

describe('the search', () => {
  let setup: TestProvisioning;
  before(async () => {
    setup = await openProvisioning();
  });
  after(() => setup.close());

  async function find(query: string, token = 'org'): Promise<FoundItem[]> {
    const { status, body } = await setup.call(token, 'GET', `/search?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body['items'] as FoundItem[];
  }
  const q = (text: string, token?: string) => find(`q=${encodeURIComponent(text)}`, token);
  const typesAndNames = (items: readonly FoundItem[]) =>
    items.map(({ type, name }) => `${type} ${name}`);

  /**
   * Creates a merchant with one entity of each type, all with names that begin with the given name.
   */
  async function estate(name: string): Promise<Estate> {
    const { made, provisioning, organizationId } = setup;
    const merchant = await setup.createMerchant(name);
    const { merchantId, storeId } = merchant;
    const hardware = { ...deviceBody(), merchantId, externalId: `${name}-hardware` };
    const terminal = await made('org', '/physical-devices', { ...hardware, name: `${name} dx` });
    const { physicalDeviceId = '', tsn = '' } = terminal;
    const logicalDevice = { storeId, name: `${name} place`, externalId: `${name}-place` };
    const { logicalDeviceId = '' } = await made('org', '/logical-devices', logicalDevice);
    await provisioning.logicalDevices.linkPhysicalDevices({ organizationId }, logicalDeviceId, [
      physicalDeviceId,
    ]);
    const till = await made('org', '/points-of-sale', { storeId, name: `${name} till` });
    const { pointOfSaleId = '', clientId = '' } = till;
    const { serialNumber } = hardware;
    const ids = { physicalDeviceId, logicalDeviceId, pointOfSaleId, clientId };
    return { ...merchant, ...ids, serialNumber, tsn };
  }

  // Spec: ID-3
  test('finds by the beginning of a name, in any letter case, grouped by type', async () => {
    await estate('Été 100%');
    const all = [
      'Merchant Été 100%',
      'Store Été 100% store',
      'LogicalDevice Été 100% place',
      'PhysicalDevice Été 100% dx',
      'PointOfSale Été 100% till',
    ];
    assert.deepEqual(typesAndNames(await q('Été 100%')), all);
    assert.deepEqual(typesAndNames(await q('éTÉ')), all);
    assert.deepEqual(typesAndNames(await q('été 100% p')), ['LogicalDevice Été 100% place']);
    assert.deepEqual(typesAndNames(await find('q=%C3%A9t%C3%A9&type=Store')), [
      'Store Été 100% store',
    ]);
    for (const text of ['té', 'Ete', 'Été 100_', 'Été%', '%', "Été' OR TRUE --", '\u{10ffff}']) {
      assert.deepEqual(await q(text), [], text);
    }
  });

  test('finds by identifiers, external ones, serial and terminal serial numbers, alike in q', async () => {
    const one = await estate('Exactly');
    const { physicalDeviceId, logicalDeviceId, merchantId, storeId, serialNumber, tsn } = one;
    const [item] = await q(tsn);
    assert.deepEqual(item, {
      type: 'PhysicalDevice',
      id: physicalDeviceId,
      organizationId: setup.organizationId,
      name: 'Exactly dx',
      externalId: 'Exactly-hardware',
      status: 'Enabled',
      merchantId,
      storeId,
      logicalDeviceId,
      serialNumber,
      tsn,
      path: `/provisioning/v2/physical-devices/${physicalDeviceId}`,
    });
    for (const [text, id] of [
      [serialNumber, physicalDeviceId],
      ['Exactly-hardware', physicalDeviceId],
      ['Exactly-place', logicalDeviceId],
      [one.pointOfSaleId, one.pointOfSaleId],
      [one.clientId, one.pointOfSaleId],
      [merchantId.toUpperCase(), merchantId],
      [storeId, storeId],
      [setup.organizationId, setup.organizationId],
    ] as const) {
      const items = await q(text);
      assert.deepEqual(
        items.map((item) => item.id),
        [id],
        text,
      );
      assert.equal((await setup.call('org', 'GET', items[0]?.path.slice(16) ?? '')).status, 200);
    }
    for (const text of [
      `AXIUM_LANE3000-${serialNumber}`,
      'exactly-hardware',
      systemIdGenerator.uuid(),
    ]) {
      assert.deepEqual(await q(text), [], text);
    }
    assert.deepEqual(typesAndNames(await find(`serialNumber=${serialNumber}`)), [
      'PhysicalDevice Exactly dx',
    ]);
    assert.deepEqual(typesAndNames(await find('externalId=Exactly-place')), [
      'LogicalDevice Exactly place',
    ]);
  });

  test('takes every criterion together, and names the one that is missing', async () => {
    const one = await estate('Together');
    const two = await estate('Together again');
    assert.deepEqual(typesAndNames(await find(`merchantId=${one.merchantId}&type=Merchant`)), [
      'Merchant Together',
    ]);
    const inStore = ['Store', 'LogicalDevice', 'PhysicalDevice', 'PointOfSale'];
    for (const query of [
      `storeId=${one.storeId}`,
      `storeId=${one.storeId}&merchantId=${one.merchantId}`,
      `q=together&storeId=${one.storeId}`,
    ]) {
      const types = (await find(query)).map(({ type }) => type);
      assert.deepEqual(types, inStore, query);
    }
    const strange = `storeId=${one.storeId}&merchantId=${two.merchantId}`;
    assert.deepEqual(await find(strange), []);
    assert.deepEqual(await find(`q=together&serialNumber=${one.serialNumber}&type=Store`), []);
    const path = `/points-of-sale/${one.pointOfSaleId}`;
    const disabled = { name: 'Together till', status: 'Disabled' };
    assert.equal((await setup.call('org', 'PUT', path, { body: disabled })).status, 200);
    assert.deepEqual(typesAndNames(await find(`storeId=${one.storeId}&status=Disabled`)), [
      'PointOfSale Together till',
    ]);
    assert.equal((await setup.call('org', 'DELETE', path)).status, 204);
    assert.deepEqual(await q(one.clientId), [], 'deleted');

    for (const query of ['', '?type=Store', '?status=Enabled', '?limit=10']) {
      const answer = await setup.call('org', 'GET', `/search${query}`);
      assertRefused(answer, 422, 'field_required', '?q');
    }
    for (const [query, code, pointer] of [
      ['q=', 'field_invalid', '?q'],
      ['q=%00', 'field_invalid', '?q'],
      ['q=a&type=Till', 'field_invalid', '?type'],
      ['q=a&limit=201', 'field_invalid', '?limit'],
      ['q=a&colour=red', 'field_unknown', '?colour'],
      ['storeId=1', 'field_invalid', '?storeId'],
      ['q=a&cursor=nonsense', 'cursor_invalid', '?cursor'],
    ] as const) {
      assertRefused(await setup.call('org', 'GET', `/search?${query}`), 422, code, pointer);
    }
  });

  test('shows a merchant its own things alone, and another organisation nothing', async () => {
    const one = await estate('Seen');
    const two = await estate('Seen by others');
    const ownItems = await q('seen', one.token);
    assert.equal(ownItems.length, 5);
    assert.ok(ownItems.every((item) => item.merchantId === one.merchantId));
    for (const text of [two.tsn, two.clientId, two.storeId, setup.organizationId]) {
      assert.deepEqual(await q(text, one.token), [], text);
    }
    assert.deepEqual(await find(`merchantId=${two.merchantId}`, one.token), []);
    for (const text of ['seen', one.tsn, one.merchantId]) {
      assert.deepEqual(await q(text, 'other'), [], text);
    }
    assert.deepEqual(await find(`merchantId=${one.merchantId}`, 'other'), []);
    assertRefused(await setup.call('nobody', 'GET', '/search?q=seen'), 403, 'permission_denied');
  });

  test('shows an organisation the entities below it, and searches as one of them if the request says so', async () => {
    const { made } = setup;
    const below = await made('org', '/organizations', { name: 'Branch of the search' });
    const { organizationId = '' } = below;
    const acting = `organizationId=${organizationId}`;
    await made('org', `/merchants?${acting}`, merchantBody('Branch merchant'));
    const [item, ...others] = await q('branch');
    assert.deepEqual(
      [item?.type, item?.organizationId, others],
      ['Organization', organizationId, []],
    );
    assert.deepEqual(typesAndNames(await find(`q=branch&${acting}`)), [
      'Organization Branch of the search',
      'Merchant Branch merchant',
    ]);
    assert.deepEqual(await q('branch', 'other'), []);
    const foreign = await setup.call('other', 'GET', `/search?q=branch&${acting}`);
    assertRefused(foreign, 404, 'organization_not_found');
  });

  // Spec: PROV-19
  test('is paged over the types, and stable while others are added', async () => {
    const { made } = setup;
    const one = await estate('Paged');
    for (const name of ['paged b', 'Paged A', 'Paged c', 'Paged "quoted"', 'Pagéd']) {
      await made('org', '/stores', { merchantId: one.merchantId, name });
      await made('org', '/logical-devices', { storeId: one.storeId, name });
    }
    const namesAndIds = (items: readonly FoundItem[]) =>
      items.map(({ name, id }) => `${name} ${id}`);
    for (const query of ['q=paged', `merchantId=${one.merchantId}`]) {
      const whole = namesAndIds(await find(query));
      const pagedItems: string[] = [];
      let cursor = '';
      for (let pages = 0; pages < 20; pages += 1) {
        const { body } = await setup.call('org', 'GET', `/search?${query}&limit=2${cursor}`);
        pagedItems.push(...namesAndIds(body['items'] as FoundItem[]));
        if (pages === 3) {
          // One name sorts before the pages that were read, the other after all existing names.
          await made('org', '/stores', { merchantId: one.merchantId, name: 'Paged 0' });
          await made('org', '/points-of-sale', { storeId: one.storeId, name: 'paged zz' });
        }
        if (body['nextCursor'] === null) break;
        cursor = `&cursor=${encodeURIComponent(String(body['nextCursor']))}`;
      }
      assert.equal(new Set(pagedItems).size, pagedItems.length, query);
      const older = pagedItems.filter((item) => whole.includes(item));
      assert.deepEqual(older, whole, query);
      assert.ok(pagedItems.length > whole.length, query);
      const other = await setup.call('org', 'GET', `/search?q=other${cursor}`);
      assertRefused(other, 422, 'cursor_invalid', '?cursor');
    }
  });
});
