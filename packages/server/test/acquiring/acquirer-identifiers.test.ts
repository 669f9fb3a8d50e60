// Whole run: a host with its ledger.
// Hosts whose numbers of terminals, merchants and messages have other lengths than those of ISO 8583.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createOrganizationOnHost,
  ownTable,
  sellRefundAndCapture,
} from '../support/acquirers/organization-on-host.ts';
import { createTestOrganization } from '../support/test-organization.ts';

const fixed = (content: string, max: number) => ({ content, size: 'fixed', max });

test('a host with trace numbers of four digits and references of six agrees with the platform', async (t) => {
  const table = await ownTable('short-numbers', 'iso1987-ascii', {
    messages: {
      fields: {
        '11': fixed('n', 4),
        '37': fixed('an', 6),
        '41': fixed('ans', 12),
        '42': fixed('ans', 20),
      },
    },
    traceNumber: { digits: 4 },
    retrievalReference: { pattern: 'number:6' },
  });
  await sellRefundAndCapture(await createOrganizationOnHost(t, table));
});

test('a host with trace numbers of twelve digits agrees with the platform', async (t) => {
  const table = await ownTable('long-numbers', 'iso1987-binary', {
    messages: { fields: { '11': fixed('n', 12) } },
    traceNumber: { digits: 12, uniqueBy: 'Link' },
  });
  await sellRefundAndCapture(await createOrganizationOnHost(t, table));
});

test('a link is refused if its TPDU has another length than that of the host', async () => {
  await ownTable('long-tpdu', 'iso1987-ascii', {
    framing: { length: 'binary2', tpduBytes: 9, tpdu: '600000000100000002' },
  });
  const setup = await createTestOrganization();
  const create = (tpdu: string) =>
    setup.client.call('POST', '/provisioning/v2/acquirer-links', {
      token: setup.acquirerToken,
      body: {
        name: `link-${tpdu}`,
        host: '127.0.0.1',
        port: 1,
        tls: false,
        institutionId: '1',
        dialect: 'long-tpdu',
        tpdu,
      },
    });
  const refused = await create('6000010002');
  assert.equal(refused.status, 422, refused.text);
  assert.equal(refused.body.errors[0].pointer, '/tpdu');
  assert.match(refused.body.errors[0].detail, /must have 18 hexadecimal digits/);
  const created = await create('600000000300000004');
  assert.equal(created.status, 201, created.text);
});

test('a contract is refused if its terminals or its merchant number do not fit the host', async (t) => {
  const table = await ownTable('narrow-fields', 'iso1987-ascii', {});
  const setup = await createOrganizationOnHost(t, table);
  await ownTable('narrow-fields', 'iso1987-ascii', {
    messages: { fields: { '41': fixed('n', 4), '42': fixed('an', 10) } },
  });
  const create = (members: object) =>
    setup.client.call(
      'POST',
      `/provisioning/v2/merchants/${setup.merchant.merchantId}/acquirer-contracts`,
      {
        token: setup.acquirerToken,
        body: {
          acquirerLink: setup.linkId,
          acquirerMerchantId: '4711',
          terminalIdRange: { from: '0001', to: '0099' },
          currencies: ['EUR'],
          captureModes: ['Immediate'],
          ...members,
        },
      },
    );
  const refusals: [members: object, pointer: string, detail: RegExp][] = [
    [
      { terminalIdRange: { from: 'TERM0001', to: 'TERM0099' } },
      '/terminalIdRange/from',
      /must fit field 41 of narrow-fields: up to 4 digits/,
    ],
    [
      { terminalIdRange: { from: '00001', to: '99999' } },
      '/terminalIdRange/from',
      /up to 4 digits/,
    ],
    [{ acquirerMerchantId: 'M0000000001' }, '/acquirerMerchantId', /up to 10 characters/],
    [{ terminalIdRange: { from: '9998', to: '10001' } }, '/terminalIdRange', /the same length/],
  ];
  for (const [members, pointer, detail] of refusals) {
    const refused = await create(members);
    assert.equal(refused.status, 422, refused.text);
    assert.equal(refused.body.errors[0].pointer, pointer);
    assert.match(refused.body.errors[0].detail, detail);
  }
  const created = await create({});
  assert.equal(created.status, 201, created.text);
});
