// The predefined groups, as portals and the command line request them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { Group } from '@switchyard/contract';
import { assertRefused } from '../support/assert-problem-response.ts';
import { type Scene, scene } from '../support/test-merchant.ts';

describe('groups', () => {
  let on: Scene;
  before(async () => {
    on = await scene();
  });

  const ask = (query = '', token = on.acquirerToken, realm = on.realm) =>
    on.client.call('GET', `/user-management/v2/user-domains/${realm}/groups${query}`, { token });

  const namesOf = ({ body }: Awaited<ReturnType<typeof ask>>) =>
    (body.items as Group[]).map(({ name }) => name);

  test('an organisation has four from its first moment, and a merchant too', async () => {
    const { organizationId: own, shop } = on;
    const ofOrganization = ['admin', 'custcare', 'dev', 'dfo'].map((name) => `${own}_org_${name}`);
    assert.deepEqual(namesOf(await ask()), ofOrganization);
    assert.deepEqual(namesOf(await ask(`?entityId=${own}`)), ofOrganization);
    const ofMerchant = ['merchant_dev', 'merchant_manager', 'org_operator', 'org_supervisor'];
    assert.deepEqual(
      namesOf(await ask(`?entityId=${shop.merchantId}`)),
      ofMerchant.map((name) => `${shop.merchantId}_${name}`),
    );
  });

  test('each says its level and what its users may do', async () => {
    const { merchantId } = on.shop;
    const { body } = await ask(`?entityId=${merchantId}`);
    assert.equal(body.nextCursor, null);
    assert.deepEqual(body.items[2], {
      name: `${merchantId}_org_operator`,
      group: 'org_operator',
      entityId: merchantId,
      level: 'merchant',
      rights: 'Debits.',
      permissions: ['pay.sale', 'pay.read'],
    });
  });

  test('a user is given what is listed', async () => {
    const { merchantId } = on.shop;
    const groups = namesOf(await ask(`?entityId=${merchantId}`));
    const username = `ann-${randomUUID()}`;
    const body = {
      username,
      entityId: merchantId,
      scope: merchantId,
      email: 'a@b.example',
      groups,
    };
    const made = await on.client.call(
      'POST',
      `/user-management/v2/user-domains/${on.realm}/users`,
      {
        token: on.acquirerToken,
        body,
      },
    );
    assert.deepEqual([made.status, made.body.groups], [201, groups]);
  });

  test('they come in pages as every list does', async () => {
    const first = await ask('?limit=3');
    const second = await ask(`?limit=3&cursor=${first.body.nextCursor}`);
    assert.deepEqual([...namesOf(first), ...namesOf(second)], namesOf(await ask()));
    assert.equal(second.body.nextCursor, null);
    assertRefused(await ask('?cursor=WzFd'), { code: 'cursor_invalid', pointer: '?cursor' });
  });

  test('of whatever is not in sight there are none', async () => {
    for (const entityId of [randomUUID(), (await scene()).organizationId]) {
      assertRefused(await ask(`?entityId=${entityId}`), { code: 'merchant_not_found' });
    }
    assertRefused(await ask('', on.acquirerToken, 'elsewhere'), { code: 'resource_not_found' });
    const manager = await on.tokenFor({
      name: 'manager',
      entityType: 'merchant',
      entityId: on.shop.merchantId,
      merchantId: on.shop.merchantId,
      roles: ['Onboarding'],
    });
    assert.equal(namesOf(await ask('', manager))[0], `${on.shop.merchantId}_merchant_dev`);
    const others = await ask(`?entityId=${on.otherShop.merchantId}`, manager);
    assertRefused(others, { code: 'merchant_not_found' });
    assertRefused(await ask(`?entityId=${on.organizationId}`, manager), {
      code: 'merchant_not_found',
    });
    assertRefused(await ask('', on.shop.token), { code: 'permission_denied' });
  });
});
