import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  assertRefused,
  contractBody,
  openProvisioning,
  type TestProvisioning,
} from '../../../test/support/provisioning/test-provisioning.ts';
import { systemIdGenerator } from '../../platform/index.ts';

// Spec: SET-10
test('where proxies are named, a link without TLS leads to one of them alone', async () => {
  const setup = await openProvisioning(undefined, { acquirerProxies: ['127.0.0.1:8583'] });
  const body = { name: 'a', host: '127.0.0.1', port: 8583, institutionId: '1', tls: false };
  await setup.made('org', '/acquirer-links', body);
  for (const other of [{ port: 5432 }, { host: 'localhost' }, { host: '::1' }]) {
    const refused = await setup.call('org', 'POST', '/acquirer-links', {
      body: { ...body, name: 'b', ...other },
    });
    assertRefused(refused, 422, 'field_invalid', '/tls');
  }
  await setup.made('org', '/acquirer-links', { ...body, name: 'c', port: 8584, tls: true });
  await setup.close();
});

test('a link whose place is named no more is renamed and disabled, and neither moved nor enabled again', async () => {
  const setup = await openProvisioning(undefined, { acquirerProxies: ['127.0.0.1:8583'] });
  const body = { name: 'a', host: '127.0.0.1', port: 8583, institutionId: '1', tls: false };
  const { acquirerLinkId } = await setup.made('org', '/acquirer-links', body);
  // Simulates a link that an older version has written.
  const sql = 'UPDATE acquirer_links SET port = 9000 WHERE acquirer_link_id = $1';
  await setup.database.query(sql, [acquirerLinkId]);
  const put = (changes: object) =>
    setup.call('org', 'PUT', `/acquirer-links/${acquirerLinkId}`, {
      body: { ...body, port: 9000, ...changes },
    });
  assert.equal((await put({ name: 'renamed' })).status, 200);
  assertRefused(await put({ port: 9001 }), 422, 'field_invalid', '/tls');
  assertRefused(await put({ port: 9001, status: 'Disabled' }), 422, 'field_invalid', '/tls');
  assert.equal((await put({ status: 'Disabled' })).status, 200);
  assert.equal((await put({ status: 'Disabled', name: 'off' })).status, 200);
  assertRefused(await put({ status: 'Enabled' }), 422, 'field_invalid', '/tls');
  assert.equal((await put({ port: 8583, status: 'Enabled' })).status, 200);
  await setup.close();
});

describe('acquirer links and contracts', () => {
  let setup: TestProvisioning;
  let linkId: string;
  before(async () => {
    setup = await openProvisioning();
    const body = { name: 'north', host: 'acquirer.example', port: 8583, institutionId: '1001' };
    linkId = (await setup.made('org', '/acquirer-links', body))['acquirerLinkId'] ?? '';
  });
  after(() => setup.close());

  // Spec: SET-10
  test('a link beyond loopback needs TLS, and its name is its own', async () => {
    const { call, made, provisioning, organizationId } = setup;
    const body = { name: 'south', host: 'acquirer.example', port: 8583, institutionId: '1' };
    const plain = await call('org', 'POST', '/acquirer-links', { body: { ...body, tls: false } });
    assertRefused(plain, 422, 'field_invalid', '/tls');
    const twin = await call('org', 'POST', '/acquirer-links', {
      body: { ...body, name: 'north' },
    });
    assertRefused(twin, 409, 'already_exists', '/name');
    const local = { ...body, host: '127.0.0.1', tls: false };
    const { acquirerLinkId } = await made('org', '/acquirer-links', local);
    const open = await provisioning.listLinksToOpen();
    assert.deepEqual(
      open.find((link) => link.linkId === acquirerLinkId),
      {
        organizationId,
        linkId: acquirerLinkId,
        name: 'south',
        adapter: 'iso8583-host',
        isDraining: false,
        settings: {
          host: '127.0.0.1',
          port: 8583,
          tls: false,
          institutionId: '1',
          dialect: 'iso1987-binary',
          connections: 1,
        },
      },
    );
  });

  test('a link stores the connection settings of its host, and returns them', async () => {
    const { call, made, provisioning } = setup;
    const body = {
      name: 'keyed',
      host: 'acquirer.example',
      port: 8583,
      institutionId: '1',
      dialect: 'iso1993-ascii',
      connections: 4,
      tpdu: '6000020000',
      zonePinKey: { keyRef: 'zpk', format: 'ISO3', keyIndex: '07' },
      macKey: { keyRef: 'mac' },
      zoneMasterKey: { keyRef: 'zmk' },
    };
    const link = await made('org', '/acquirer-links', body);
    const path = `/acquirer-links/${link['acquirerLinkId']}`;
    const { body: shown } = await call('org', 'GET', path);
    for (const [member, value] of Object.entries(body)) assert.deepEqual(shown[member], value);
    const open = await provisioning.listLinksToOpen();
    const { settings } = open.find((each) => each.linkId === link['acquirerLinkId']) ?? {};
    assert.deepEqual(settings, {
      host: 'acquirer.example',
      port: 8583,
      tls: true,
      institutionId: '1',
      dialect: 'iso1993-ascii',
      connections: 4,
      tpdu: '6000020000',
      zonePinKey: { keyRef: 'zpk', format: 3, keyIndex: '07' },
      macKey: { keyRef: 'mac' },
      zoneMasterKey: { keyRef: 'zmk' },
    });
    for (const [member, value] of [
      ['dialect', 'iso2003'],
      ['connections', 17],
      ['tpdu', '60'],
      ['zonePinKey', { keyRef: 'zpk', format: 'ISO1' }],
      ['zonePinKey', { keyRef: 'zpk', format: 'ISO4' }],
    ] as const) {
      const answer = await call('org', 'PUT', path, { body: { ...body, [member]: value } });
      assert.equal(answer.status, 422, member);
    }
    const plain = { name: 'keyed', host: 'acquirer.example', port: 8583, institutionId: '1' };
    const { body: bare } = await call('org', 'PUT', path, { body: plain });
    assert.deepEqual([bare['dialect'], bare['zonePinKey']], ['iso1987-binary', undefined]);
  });

  test('the institution of a link stays as it is once a contract names the link, also when that is gone', async () => {
    const { call, made } = setup;
    const link = { name: 'west', host: 'acquirer.example', port: 8583, institutionId: '1' };
    const { acquirerLinkId: id = '' } = await made('org', '/acquirer-links', link);
    const put = (changes: object) =>
      call('org', 'PUT', `/acquirer-links/${id}`, { body: { ...link, ...changes } });
    assert.equal((await put({ institutionId: '2' })).status, 200);
    const { merchantId } = await setup.createMerchant('western');
    const path = `/merchants/${merchantId}/acquirer-contracts`;
    const { contractId } = await made('org', path, contractBody(id, 'WEST'));
    const changed = () => put({ institutionId: '3' });
    assertRefused(await changed(), 422, 'field_invalid', '/institutionId');
    assert.equal((await put({ institutionId: '2', port: 8584 })).status, 200);
    await call('org', 'DELETE', `${path}/${contractId}`);
    assertRefused(await changed(), 422, 'field_invalid', '/institutionId');
  });

  // Spec: PROV-54
  test('a contract gets defaults, and the members that transactions refer to cannot change', async () => {
    const { call, made, createMerchant } = setup;
    const { merchantId, token } = await createMerchant('contracted');
    const base = `/merchants/${merchantId}/acquirer-contracts`;
    const body = contractBody(linkId, 'CONT');
    const contract = await made('org', base, body);
    const path = `${base}/${contract['contractId']}`;
    const {
      contractId: _id,
      organizationId: _org,
      createdAt: _c,
      updatedAt: _u,
      ...rest
    } = contract;
    assert.deepEqual(rest, {
      ...body,
      name: '100000000000001',
      merchantId,
      status: 'Enabled',
      labels: {},
      defaultCaptureMode: 'Immediate',
      captureTransport: 'Advice',
      partialCancel: false,
      multipleCapture: false,
      overCapturePercent: 0,
      partialApproval: false,
      clearCardData: 'Refused',
      holdDays: 30,
      cutOverTime: '00:00',
      offlineLimits: { maxAgeHours: 168, maxCount: 1000 },
      routing: [],
    });
    assert.equal((await call(token, 'GET', path)).status, 200);
    assertRefused(await call(token, 'PUT', path, { body }), 403, 'permission_denied');
    const wider = { ...body, terminalIdRange: { from: 'CONT0001', to: 'CONT0999' }, holdDays: 7 };
    assert.equal((await call('org', 'PUT', path, { body: wider })).body['holdDays'], 7);
    const narrower = await call('org', 'PUT', path, { body });
    assertRefused(narrower, 422, 'field_read_only', '/terminalIdRange/to');
    const renumbered = { ...wider, acquirerMerchantId: '2' };
    const answer = await call('org', 'PUT', path, { body: renumbered });
    assertRefused(answer, 422, 'field_read_only', '/acquirerMerchantId');
  });

  test('contracts of a link never share a terminal, not even with a deleted one', async () => {
    const { call, made, createMerchant } = setup;
    const [one, two] = [
      await createMerchant('terminals-one'),
      await createMerchant('terminals-two'),
    ];
    const base = `/merchants/${one.merchantId}/acquirer-contracts`;
    const contract = await made('org', base, contractBody(linkId, 'SHAR'));
    const other = `/merchants/${two.merchantId}/acquirer-contracts`;
    const overlap = {
      ...contractBody(linkId, 'SHAR'),
      terminalIdRange: { from: 'SHAR0099', to: 'SHAR0200' },
    };
    const refused = await call('org', 'POST', other, { body: overlap });
    assertRefused(refused, 422, 'field_invalid', '/terminalIdRange');
    assert.equal((await call('org', 'DELETE', `${base}/${contract['contractId']}`)).status, 204);
    const still = await call('org', 'POST', other, { body: overlap });
    assertRefused(still, 422, 'field_invalid', '/terminalIdRange');
    const body = { ...overlap, terminalIdRange: { from: 'SHAR0100', to: 'SHAR0200' } };
    await made('org', other, body);
  });

  test('bad contracts get their own code and pointer', async () => {
    const { call, createMerchant } = setup;
    const { merchantId } = await createMerchant('bad-contracts');
    const good = contractBody(linkId, 'BADC');
    const cases: [Record<string, unknown>, string, string][] = [
      [{ ...good, currencies: ['EUR', 'XAU'] }, 'currency_unknown', '/currencies/1'],
      [{ ...good, currencies: [] }, 'field_invalid', '/currencies'],
      [{ ...good, acquirerLink: systemIdGenerator.uuid() }, 'field_invalid', '/acquirerLink'],
      [
        { ...good, captureModes: ['Deferred'], defaultCaptureMode: 'Immediate' },
        'field_invalid',
        '/defaultCaptureMode',
      ],
      [
        { ...good, terminalIdRange: { from: 'BADC0002', to: 'BADC0001' } },
        'field_invalid',
        '/terminalIdRange',
      ],
      [{ ...good, overCapturePercent: 101 }, 'field_invalid', '/overCapturePercent'],
      [{ ...good, routes: [] }, 'field_unknown', '/routes'],
    ];
    for (const [body, code, pointer] of cases) {
      const path = `/merchants/${merchantId}/acquirer-contracts`;
      assertRefused(await call('org', 'POST', path, { body }), 422, code, pointer);
    }
  });

  test('a contract with a withdrawn currency can be updated, and no contract can add a withdrawn currency', async () => {
    const { call, made, createMerchant, database } = setup;
    const { merchantId } = await createMerchant('withdrawn-currency');
    const path = `/merchants/${merchantId}/acquirer-contracts`;
    const body = { ...contractBody(linkId, 'WDRN'), currencies: ['EUR', 'BGN'] };
    const createResponse = await call('org', 'POST', path, { body });
    assertRefused(createResponse, 422, 'currency_unknown', '/currencies/1');
    const { contractId } = await made('org', path, { ...body, currencies: ['EUR'] });
    const contractPath = `${path}/${contractId}`;
    const put = (members: object) =>
      call('org', 'PUT', contractPath, { body: { ...body, ...members } });
    assertRefused(await put({}), 422, 'currency_unknown', '/currencies/1');
    // Simulates a contract from the time when the lev was an active currency.
    await database.query(
      `UPDATE acquirer_contracts SET currencies = '["EUR","BGN"]' WHERE contract_id = $1`,
      [contractId],
    );
    const limits = { offlineLimits: { maxAmounts: { BGN: 1000 }, maxAgeHours: 72, maxCount: 9 } };
    const updateResponse = await put(limits);
    assert.deepEqual(
      [updateResponse.status, updateResponse.body['currencies']],
      [200, ['EUR', 'BGN']],
    );
    const routing = [{ currencies: ['ANG'] }];
    assertRefused(await put({ routing }), 422, 'currency_unknown', '/routing/0/currencies/0');
    assert.equal((await put({ currencies: ['EUR'] })).status, 200);
    assertRefused(await put({}), 422, 'currency_unknown', '/currencies/1');
  });
});
