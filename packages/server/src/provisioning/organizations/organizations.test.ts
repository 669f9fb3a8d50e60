import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import {
  type Answer,
  assertRefused,
  deviceBody,
  merchantBody,
  openProvisioning,
  type TestProvisioning,
} from '../../../test/support/provisioning/test-provisioning.ts';

const path = '/organizations';
type Listed = { organizationId: string; name: string }[];

describe('organisations below', () => {
  let setup: TestProvisioning;
  before(async () => {
    setup = await openProvisioning();
  });
  after(() => setup.close());

  async function below(name: string, parentOrganizationId?: string): Promise<string> {
    const body = { name, ...defined({ parentOrganizationId }) };
    const { organizationId = '' } = await setup.made('org', path, body);
    return organizationId;
  }

  /** Returns a token of an organisation below, as its own users have it. */
  function tokenOf(organizationId: string): string {
    const token = `of-${organizationId}`;
    setup.addCaller(token, { organizationId, entityId: organizationId });
    return token;
  }

  const put = (token: string, id: string, body: object, headers = {}): Promise<Answer> =>
    setup.call(token, 'PUT', `${path}/${id}`, { body, headers });

  async function listed(token: string, query = ''): Promise<Listed> {
    const answer = await setup.call(token, 'GET', `${path}?limit=200${query}`);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body['items'] as Listed;
  }

  const actionsOf = async (organizationId: string, entityId: string): Promise<string[]> => {
    const rows = await setup.database.query<{ action: string }>(
      `SELECT action FROM audit_records WHERE organization_id = $1 AND entity_id = $2
       ORDER BY sequence`,
      [organizationId, entityId],
    );
    return rows.map(({ action }) => action);
  };

  // Spec: PROV-1
  test('one is made below the caller, read, replaced under its tag, and deleted', async () => {
    const { call, organizationId: ownId } = setup;
    const made = await call('org', 'POST', path, {
      body: { name: 'North', externalId: 'N-1', labels: { region: 'north' } },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { organizationId: id } = made.body as { organizationId: string };
    assert.equal(made.headers['location'], `/provisioning/v2${path}/${id}`);
    assert.equal(made.body['parentOrganizationId'], ownId);
    assert.equal(made.body['approvalCodeRequired'], false);
    const read = await call('org', 'GET', `${path}/${id}`);
    assert.deepEqual(read.body, made.body);
    const tag = { 'if-match': String(read.headers['etag']) };
    const changed = await put('org', id, { ...read.body, approvalCodeRequired: true }, tag);
    assert.deepEqual([changed.status, changed.body['approvalCodeRequired']], [200, true]);
    assertRefused(await put('org', id, { name: 'Late' }, tag), 412, 'precondition_failed');
    const renamed = await put('org', id, { name: 'North and east' });
    assert.equal(renamed.body['parentOrganizationId'], ownId);
    assert.equal(renamed.body['approvalCodeRequired'], false);
    assert.equal((await call('org', 'DELETE', `${path}/${id}`)).status, 204);
    assertRefused(await call('org', 'GET', `${path}/${id}`), 404, 'organization_not_found');
    assert.equal(await setup.provisioning.findOrganization(id), undefined);
    const actions = ['created', 'updated', 'updated', 'removed'].map(
      (action) => `organization.${action}`,
    );
    assert.deepEqual(await actionsOf(ownId, id), actions);
    assert.deepEqual(await actionsOf(id, id), actions);
  });

  // Spec: PROV-1
  test('an organisation sees its whole subtree, and no organisation beside or above it', async () => {
    const { call, organizationId: ownId } = setup;
    const one = await below('Subtree one');
    const two = await below('Subtree two', one);
    const beside = await below('Subtree beside');
    const fromTop = (await listed('org', '&name=subtree')).map(
      ({ organizationId }) => organizationId,
    );
    assert.deepEqual(fromTop, [one, two, beside]);
    const token = tokenOf(one);
    assert.deepEqual(
      (await listed(token)).map(({ organizationId }) => organizationId),
      [one, two],
    );
    const [child] = await listed('org', `&parentOrganizationId=${one}`);
    assert.equal(child?.organizationId, two);
    for (const id of [ownId, beside, randomUUID(), 'north']) {
      assertRefused(await call(token, 'GET', `${path}/${id}`), 404, 'organization_not_found');
      assertRefused(await put(token, id, { name: 'Mine' }), 404, 'organization_not_found');
      assertRefused(await call(token, 'DELETE', `${path}/${id}`), 404, 'organization_not_found');
    }
    const body = { name: 'Foreign', parentOrganizationId: beside };
    assertRefused(await call(token, 'POST', path, { body }), 404, 'organization_not_found');
    assertRefused(await call('other', 'GET', `${path}/${one}`), 404, 'organization_not_found');
    assert.deepEqual(await setup.provisioning.listAncestorIds(two), [ownId, one]);
    assert.deepEqual(await setup.provisioning.listAncestorIds(ownId), []);
    assert.deepEqual(await setup.provisioning.listAncestorIds(randomUUID()), []);
  });

  test('pages go on where they were, while others are made', async () => {
    const top = await below('Paged');
    const expectedIds: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) expectedIds.push(await below(name, top));
    const token = tokenOf(top);
    const listedIds: string[] = [];
    let cursor = '';
    do {
      const answer = await setup.call(token, 'GET', `${path}?limit=2&${cursor}`);
      const { items, nextCursor } = answer.body as { items: Listed; nextCursor: string | null };
      listedIds.push(...items.map(({ organizationId }) => organizationId));
      cursor = nextCursor === null ? '' : `cursor=${nextCursor}`;
      if (listedIds.length < 4) expectedIds.push(await below('late', top));
    } while (cursor !== '');
    assert.deepEqual(listedIds, [top, ...expectedIds]);
  });

  // Spec: PROV-2
  test('one moves with all that is below it, and never below itself', async () => {
    const { organizationId: ownId, provisioning } = setup;
    const [one, two] = [await below('Moved'), await below('Goal')];
    const leaf = await below('Leaf', await below('Middle', one));
    assert.equal((await put('org', one, { name: 'Moved', parentOrganizationId: two })).status, 200);
    assert.deepEqual((await provisioning.listAncestorIds(leaf)).slice(0, 3), [ownId, two, one]);
    for (const parentOrganizationId of [one, leaf]) {
      const answer = await put('org', one, { name: 'Moved', parentOrganizationId });
      assertRefused(answer, 422, 'field_invalid', '/parentOrganizationId');
    }
    const elsewhere = await put('org', one, { name: 'Moved', parentOrganizationId: randomUUID() });
    assertRefused(elsewhere, 404, 'organization_not_found');
  });

  // Spec: PROV-2
  test('two that move below each other at once make no circle', async () => {
    const [one, two] = [await below('Left'), await below('Right')];
    const answers = await Promise.all([
      put('org', one, { name: 'Left', parentOrganizationId: two }),
      put('org', two, { name: 'Right', parentOrganizationId: one }),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 422]);
  });

  test('at most eight levels, for a new organisation and for a moved subtree', async () => {
    const top = await below('Second level');
    let last = top;
    for (let level = 3; level <= 8; level += 1) last = await below(`Level ${level}`, last);
    const body = { name: 'Ninth', parentOrganizationId: last };
    const ninth = await setup.call('org', 'POST', path, { body });
    assertRefused(ninth, 422, 'field_invalid', '/parentOrganizationId');
    const parent = await below('One more above');
    const moved = await put('org', top, { name: 'Second', parentOrganizationId: parent });
    assertRefused(moved, 422, 'field_invalid', '/parentOrganizationId');
  });

  test('no organisation decides on its own place, status or removal', async () => {
    const { call } = setup;
    const [ownId, beside] = [await below('Own'), await below('Beside')];
    const token = tokenOf(ownId);
    const child = await below('Child', ownId);
    const disabled = await put(token, ownId, { name: 'Own', status: 'Disabled' });
    assertRefused(disabled, 422, 'field_read_only', '/status');
    for (const parentOrganizationId of [beside, child]) {
      const answer = await put(token, ownId, { name: 'Own', parentOrganizationId });
      assertRefused(answer, 422, 'field_read_only', '/parentOrganizationId');
    }
    assertRefused(await call(token, 'DELETE', `${path}/${ownId}`), 403, 'permission_denied');
    assert.equal((await put('org', ownId, { name: 'Own', status: 'Disabled' })).status, 200);
    const renamed = await put(token, ownId, { name: 'Own, renamed' });
    assert.deepEqual([renamed.status, renamed.body['status']], [200, 'Disabled']);
  });

  test('only an organisation above can remove the requirement of approval codes', async () => {
    const ownId = await below('Approved');
    const token = tokenOf(ownId);
    const readApproval = (answer: Answer) => [answer.status, answer.body['approvalCodeRequired']];
    const strict = { name: 'Approved', approvalCodeRequired: true };
    assert.deepEqual(readApproval(await put(token, ownId, strict)), [200, true]);
    assert.deepEqual(readApproval(await put(token, ownId, { name: 'Renamed' })), [200, true]);
    const freed = { name: 'Renamed', approvalCodeRequired: false };
    assertRefused(await put(token, ownId, freed), 422, 'field_read_only', '/approvalCodeRequired');
    assert.deepEqual(readApproval(await put('org', ownId, freed)), [200, false]);
    const ownTop = await put('org', setup.organizationId, { ...strict, name: 'Top' });
    assert.deepEqual(readApproval(ownTop), [200, true]);
    const atTop = await put('org', setup.organizationId, { ...freed, name: 'Top' });
    assert.deepEqual(readApproval(atTop), [200, false]);
  });

  test('an organisation with dependants is not deleted, and the response names them', async () => {
    const { call, made } = setup;
    const id = await below('Full');
    const child = await below('Inside', id);
    const at = `?organizationId=${id}`;
    const { merchantId } = await made('org', `/merchants${at}`, merchantBody('Inside'));
    const refused = await call('org', 'DELETE', `${path}/${id}`);
    assertRefused(refused, 409, 'has_dependants');
    assert.deepEqual(refused.body['dependants'], [
      { type: 'Organization', id: child, name: 'Inside' },
      { type: 'Merchant', id: merchantId, name: 'Inside' },
    ]);
    assert.equal((await call('org', 'DELETE', `${path}/${child}`)).status, 204);
    assert.equal((await call('org', 'DELETE', `/merchants/${merchantId}${at}`)).status, 204);
    assert.equal((await call('org', 'DELETE', `${path}/${id}`)).status, 204);
    const late = await call('org', 'POST', `/merchants${at}`, { body: merchantBody('Late') });
    assertRefused(late, 404, 'organization_not_found');
  });

  test('nothing is made in one while it is removed', async () => {
    const { call } = setup;
    for (let round = 0; round < 5; round += 1) {
      const id = await below('Going');
      const at = `?organizationId=${id}`;
      const [removed, ...made] = await Promise.all([
        call('org', 'DELETE', `${path}/${id}`),
        call('org', 'POST', `/merchants${at}`, { body: merchantBody('Late') }),
        call('org', 'POST', `/physical-devices${at}`, { body: deviceBody() }),
      ]);
      const wasCreated = made.some(({ status }) => status === 201);
      assert.equal(removed.status, wasCreated ? 409 : 204, JSON.stringify(made));
      for (const { status } of made) assert.equal(status, wasCreated ? 201 : 404);
    }
  });

  test('a merchant has no part in it, and readers read', async () => {
    const { call, createMerchant, organizationId } = setup;
    const { token } = await createMerchant('without-organisations');
    assertRefused(
      await call(token, 'POST', path, { body: { name: 'X' } }),
      403,
      'permission_denied',
    );
    assert.deepEqual(await listed(token), []);
    const body = { name: 'X' };
    assertRefused(await call('reader', 'POST', path, { body }), 403, 'permission_denied');
    assert.equal((await call('reader', 'GET', `${path}/${organizationId}`)).status, 200);
  });

  test('an invalid organisation is refused with a pointer to the member', async () => {
    const { call } = setup;
    const bodies = [
      [{}, 'field_required', '/name'],
      [{ name: 'X', userDomainId: 'Not-A-Host' }, 'field_invalid', '/userDomainId'],
      [{ name: 'X', parentOrganizationId: 'up' }, 'field_invalid', '/parentOrganizationId'],
      [{ name: 'X', ancestorIds: [] }, 'field_unknown', '/ancestorIds'],
      [{ name: 'X', approvalCodeRequired: 'yes' }, 'field_invalid', '/approvalCodeRequired'],
    ] as const;
    for (const [body, code, pointer] of bodies) {
      assertRefused(await call('org', 'POST', path, { body }), 422, code, pointer);
    }
  });
});
