// The predefined groups, as portals and the command line request them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { Group } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

describe('user groups', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  const listGroups = (query = '', token = setup.acquirerToken, realm = setup.realm) =>
    setup.client.call('GET', `/user-management/v2/user-domains/${realm}/groups${query}`, { token });

  const namesOf = ({ body }: Awaited<ReturnType<typeof listGroups>>) =>
    (body.items as Group[]).map(({ name }) => name);

  // Spec: GRP-8
  test('an organisation and a merchant have four groups each from the beginning', async () => {
    const { organizationId: ownOrganizationId, merchant } = setup;
    const ofOrganization = ['admin', 'custcare', 'dev', 'dfo'].map(
      (name) => `${ownOrganizationId}_org_${name}`,
    );
    assert.deepEqual(namesOf(await listGroups()), ofOrganization);
    assert.deepEqual(namesOf(await listGroups(`?entityId=${ownOrganizationId}`)), ofOrganization);
    const ofMerchant = ['merchant_dev', 'merchant_manager', 'org_operator', 'org_supervisor'];
    assert.deepEqual(
      namesOf(await listGroups(`?entityId=${merchant.merchantId}`)),
      ofMerchant.map((name) => `${merchant.merchantId}_${name}`),
    );
  });

  test('each group lists its level and the permissions of its users', async () => {
    const { merchantId } = setup.merchant;
    const { body } = await listGroups(`?entityId=${merchantId}`);
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

  test('a user can get every listed group', async () => {
    const { merchantId } = setup.merchant;
    const groups = namesOf(await listGroups(`?entityId=${merchantId}`));
    const username = `ann-${randomUUID()}`;
    const body = {
      username,
      entityId: merchantId,
      scope: merchantId,
      email: 'a@b.example',
      groups,
    };
    const made = await setup.client.call(
      'POST',
      `/user-management/v2/user-domains/${setup.realm}/users`,
      {
        token: setup.acquirerToken,
        body,
      },
    );
    assert.deepEqual([made.status, made.body.groups], [201, groups]);
  });

  test('groups are listed page by page', async () => {
    const first = await listGroups('?limit=3');
    const second = await listGroups(`?limit=3&cursor=${first.body.nextCursor}`);
    assert.deepEqual([...namesOf(first), ...namesOf(second)], namesOf(await listGroups()));
    assert.equal(second.body.nextCursor, null);
    assertProblem(await listGroups('?cursor=WzFd'), { code: 'cursor_invalid', pointer: '?cursor' });
  });

  test('entities out of reach have no groups', async () => {
    for (const entityId of [randomUUID(), (await createTestOrganization()).organizationId]) {
      assertProblem(await listGroups(`?entityId=${entityId}`), { code: 'merchant_not_found' });
    }
    assertProblem(await listGroups('', setup.acquirerToken, 'elsewhere'), {
      code: 'resource_not_found',
    });
    const manager = await setup.tokenFor({
      name: 'manager',
      entityType: 'merchant',
      entityId: setup.merchant.merchantId,
      merchantId: setup.merchant.merchantId,
      roles: ['Onboarding'],
    });
    assert.equal(
      namesOf(await listGroups('', manager))[0],
      `${setup.merchant.merchantId}_merchant_dev`,
    );
    const others = await listGroups(`?entityId=${setup.otherMerchant.merchantId}`, manager);
    assertProblem(others, { code: 'merchant_not_found' });
    assertProblem(await listGroups(`?entityId=${setup.organizationId}`, manager), {
      code: 'merchant_not_found',
    });
    assertProblem(await listGroups('', setup.merchant.token), { code: 'permission_denied' });
  });
});
