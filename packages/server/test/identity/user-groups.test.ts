// The predefined groups, as portals and the command line request them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { Group } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

describe('groups', () => {
  let on: TestOrganization;
  before(async () => {
    on = await createTestOrganization();
  });

  const ask = (query = '', token = on.acquirerToken, realm = on.realm) =>
    on.client.call('GET', `/user-management/v2/user-domains/${realm}/groups${query}`, { token });

  const namesOf = ({ body }: Awaited<ReturnType<typeof ask>>) =>
    (body.items as Group[]).map(({ name }) => name);

  test('an organisation has four from its first moment, and a merchant too', async () => {
    const { organizationId: own, merchant } = on;
    const ofOrganization = ['admin', 'custcare', 'dev', 'dfo'].map((name) => `${own}_org_${name}`);
    assert.deepEqual(namesOf(await ask()), ofOrganization);
    assert.deepEqual(namesOf(await ask(`?entityId=${own}`)), ofOrganization);
    const ofMerchant = ['merchant_dev', 'merchant_manager', 'org_operator', 'org_supervisor'];
    assert.deepEqual(
      namesOf(await ask(`?entityId=${merchant.merchantId}`)),
      ofMerchant.map((name) => `${merchant.merchantId}_${name}`),
    );
  });

  test('each says its level and what its users may do', async () => {
    const { merchantId } = on.merchant;
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
    const { merchantId } = on.merchant;
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
    assertProblem(await ask('?cursor=WzFd'), { code: 'cursor_invalid', pointer: '?cursor' });
  });

  test('of whatever is not in sight there are none', async () => {
    for (const entityId of [randomUUID(), (await createTestOrganization()).organizationId]) {
      assertProblem(await ask(`?entityId=${entityId}`), { code: 'merchant_not_found' });
    }
    assertProblem(await ask('', on.acquirerToken, 'elsewhere'), { code: 'resource_not_found' });
    const manager = await on.tokenFor({
      name: 'manager',
      entityType: 'merchant',
      entityId: on.merchant.merchantId,
      merchantId: on.merchant.merchantId,
      roles: ['Onboarding'],
    });
    assert.equal(namesOf(await ask('', manager))[0], `${on.merchant.merchantId}_merchant_dev`);
    const others = await ask(`?entityId=${on.otherMerchant.merchantId}`, manager);
    assertProblem(others, { code: 'merchant_not_found' });
    assertProblem(await ask(`?entityId=${on.organizationId}`, manager), {
      code: 'merchant_not_found',
    });
    assertProblem(await ask('', on.merchant.token), { code: 'permission_denied' });
  });
});
