import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  assertRefused,
  merchantBody,
  openProvisioning,
  type TestProvisioning,
} from '../../../test/support/provisioning/test-provisioning.ts';
import { systemIdGenerator } from '../../platform/index.ts';

describe('merchants and stores', () => {
  let setup: TestProvisioning;
  before(async () => {
    setup = await openProvisioning();
  });
  after(() => setup.close());

  // Spec: PROV-25
  test('a card number in a name, a label or an address is refused, and the answer does not repeat it', async () => {
    const card = '4111 1111 1111 1111';
    const base = merchantBody('Clean');
    const made = await setup.call('org', 'POST', '/merchants', { body: base });
    const path = `/merchants/${made.body['merchantId']}`;
    for (const [members, pointer] of [
      [{ name: `Shop ${card}` }, '/name'],
      [{ labels: { region: card } }, '/labels/region'],
      [{ labels: { '5555555555554444': 'x' } }, '/labels'],
      [{ address: { line1: card, city: 'Paris' } }, '/address/line1'],
      [{ contact: { name: card.replaceAll(' ', '-') } }, '/contact/name'],
    ] as const) {
      const body = { ...base, ...members };
      for (const [method, url] of [
        ['POST', '/merchants'],
        ['PUT', path],
      ] as const) {
        const answer = await setup.call('org', method, url, { body });
        assert.equal(answer.status, 422, JSON.stringify(answer.body));
        assert.equal((answer.body['errors'] as { pointer: string }[])[0]?.pointer, pointer);
        assert.doesNotMatch(JSON.stringify(answer.body), /1111|4444/);
      }
    }
    const store = { name: card, merchantId: made.body['merchantId'] };
    const refused = await setup.call('org', 'POST', '/stores', { body: store });
    assert.equal(refused.status, 422, JSON.stringify(refused.body));
  });

  // Spec: SVC-1 ID-2 PROV-4
  test('a merchant is created, read, replaced under its tag, and deleted', async () => {
    const { call, organizationId } = setup;
    const body = {
      ...merchantBody('Round trip'),
      externalId: 'erp-1',
      labels: { region: 'north' },
      address: { line1: '1 quai', city: 'Paris' },
      contact: { email: 'a@example.com', phone: '+33123456789' },
    };
    const created = await call('org', 'POST', '/merchants', { body });
    assert.equal(created.status, 201);
    assert.equal(created.headers['etag'], '"1"');
    const path = `/merchants/${created.body['merchantId']}`;
    assert.equal(created.headers['location'], `/provisioning/v2${path}`);
    assert.equal(created.body['organizationId'], organizationId);
    assert.match(String(created.body['createdAt']), /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
    const read = await call('org', 'GET', path);
    assert.deepEqual(read.body, created.body);

    const changed = { ...read.body, name: 'Changed', status: 'Disabled' };
    const replaced = await call('org', 'PUT', path, {
      body: changed,
      headers: { 'if-match': '"1"' },
    });
    assert.equal(replaced.status, 200, JSON.stringify(replaced.body));
    assert.equal(replaced.headers['etag'], '"2"');
    assert.equal(replaced.body['name'], 'Changed');
    const stale = { headers: { 'if-match': '"1"' } };
    const { updatedAt: _updatedAt, ...again } = changed as Record<string, unknown>;
    assertRefused(
      await call('org', 'PUT', path, { body: again, ...stale }),
      412,
      'precondition_failed',
    );
    assertRefused(await call('org', 'DELETE', path, stale), 412, 'precondition_failed');
    const minimalResponse = await call('org', 'PUT', path, { body: merchantBody('Bare') });
    assert.equal(minimalResponse.body['status'], 'Enabled');
    assert.equal('address' in minimalResponse.body, false);
    assert.deepEqual(minimalResponse.body['labels'], {});
    const json = { headers: { 'content-type': 'application/json' } };
    assert.equal((await call('org', 'DELETE', path, json)).status, 204, 'a type and no body');
    assertRefused(await call('org', 'GET', path), 404, 'merchant_not_found');
    assertRefused(await call('org', 'DELETE', path), 404, 'merchant_not_found');
  });

  // Spec: PROV-21
  test('bad members get their own code and pointer', async () => {
    const { call } = setup;
    const good = merchantBody('Faulty');
    const cases: [Record<string, unknown>, string, string][] = [
      [{ ...good, country: 'XX' }, 'field_invalid', '/country'],
      [{ ...good, timeZone: '+02:00' }, 'field_invalid', '/timeZone'],
      [{ ...good, mcc: 5814 }, 'field_invalid', '/mcc'],
      [{ ...good, name: '   ' }, 'field_invalid', '/name'],
      [{ ...good, name: 'x'.repeat(101) }, 'field_invalid', '/name'],
      [{ ...good, colour: 'red' }, 'field_unknown', '/colour'],
      [{ name: 'x', country: 'FR', mcc: '5814' }, 'field_required', '/timeZone'],
      [{ ...good, address: { city: 'Paris' } }, 'field_required', '/address/line1'],
    ];
    for (const [body, code, pointer] of cases) {
      assertRefused(await call('org', 'POST', '/merchants', { body }), 422, code, pointer);
    }
    const body = { name: 'Nowhere' };
    const noMerchant = await call('org', 'POST', '/stores', { body });
    assertRefused(noMerchant, 422, 'field_required', '/merchantId');
  });

  test('the server accepts unchanged read-only members and refuses changed ones', async () => {
    const { call, createMerchant } = setup;
    const { storeId, merchantId } = await createMerchant('read-only');
    const { merchantId: elsewhere } = await createMerchant('read-only elsewhere');
    const body = { name: 'Same place' };
    const path = `/stores/${storeId}`;
    for (const [member, value] of [
      ['merchantId', elsewhere],
      ['storeId', systemIdGenerator.uuid()],
      ['createdAt', '2020-01-01T00:00:00.000Z'],
    ] as const) {
      const answer = await call('org', 'PUT', path, { body: { ...body, [member]: value } });
      assertRefused(answer, 422, 'field_read_only', `/${member}`);
      assert.match(JSON.stringify(answer.body), /read the resource again/);
    }
    const same = await call('org', 'PUT', path, { body: { ...body, merchantId, storeId } });
    assert.equal(same.status, 200);
  });

  // Spec: PROV-18
  test('an entity with dependants is not deleted, and the response names them', async () => {
    const { call, createMerchant } = setup;
    const { merchantId, storeId } = await createMerchant('depended-on');
    const answer = await call('org', 'DELETE', `/merchants/${merchantId}`);
    assertRefused(answer, 409, 'has_dependants');
    assert.deepEqual(answer.body['dependants'], [
      { type: 'Store', id: storeId, name: 'depended-on store' },
    ]);
    assert.match(String(answer.body['detail']), /1 × Store/);
    assert.equal((await call('org', 'DELETE', `/stores/${storeId}`)).status, 204);
    assert.equal((await call('org', 'DELETE', `/merchants/${merchantId}`)).status, 204);
  });

  // Spec: PROV-5
  test('a store that is made while its merchant is deleted is never left alone', async () => {
    const { call, made } = setup;
    for (let round = 0; round < 5; round += 1) {
      const { merchantId } = await made('org', '/merchants', merchantBody(`Race ${round}`));
      const [created, deleted] = await Promise.all([
        call('org', 'POST', '/stores', { body: { merchantId, name: 'Late' } }),
        call('org', 'DELETE', `/merchants/${merchantId}`),
      ]);
      const statuses = [created.status, deleted.status].join(' ');
      assert.ok(['201 409', '404 204'].includes(statuses), statuses);
    }
  });

  // Spec: LIST-1
  test('lists are paged in the order of creation and stable while others are added', async () => {
    const { call, made, createMerchant } = setup;
    const { merchantId } = await createMerchant('paged');
    for (let n = 1; n <= 4; n += 1) await made('org', '/stores', { merchantId, name: `Page ${n}` });
    const names: string[] = [];
    let cursor = '';
    for (let pages = 0; pages < 10; pages += 1) {
      const query = `?merchantId=${merchantId}&limit=2${cursor}`;
      const { status, body } = await call('org', 'GET', `/stores${query}`);
      assert.equal(status, 200);
      const items = body['items'] as { name: string }[];
      assert.ok(items.length <= 2);
      names.push(...items.map(({ name }) => name));
      if (pages === 0) await made('org', '/stores', { merchantId, name: 'Page 5' });
      if (body['nextCursor'] === null) break;
      cursor = `&cursor=${body['nextCursor']}`;
    }
    assert.deepEqual(names, ['paged store', 'Page 1', 'Page 2', 'Page 3', 'Page 4', 'Page 5']);
    assertRefused(await call('org', 'GET', '/stores?cursor=nonsense'), 422, 'cursor_invalid');
    assertRefused(await call('org', 'GET', `/stores?${cursor.slice(1)}`), 422, 'cursor_invalid');
    assertRefused(await call('org', 'GET', '/stores?limit=201'), 422, 'field_invalid', '?limit');
    assertRefused(await call('org', 'GET', '/stores?colour=red'), 422, 'field_unknown', '?colour');
  });
});
