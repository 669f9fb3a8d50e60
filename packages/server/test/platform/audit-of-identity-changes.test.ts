// Whole run: much is made, or waited for, before it shows.
// The audit of identity over TLS: applications, device certificates and signing keys, without their
// secrets.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  type AuditCheckpoint,
  type AuditKey,
  type AuditRecord,
  defined,
  verifyChain,
} from '@switchyard/contract';
import { createCertificateRequest } from '../support/provisioning/test-devices.ts';
import { deviceBody } from '../support/provisioning/test-provisioning.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

describe('audit records of identity', () => {
  let setup: TestOrganization;
  const secrets: string[] = [];
  before(async () => {
    setup = await createTestOrganization();
  });

  async function call(method: string, path: string, body?: object) {
    const token = setup.acquirerToken;
    const answer = await setup.client.call(method, path, {
      token,
      ...defined({ body }),
    });
    assert.ok(answer.status < 300, answer.text);
    return answer;
  }

  async function recordsOf(entityId: string): Promise<AuditRecord[]> {
    const { body } = await call('GET', `/audit/v1/records?entityId=${entityId}&order=OldestFirst`);
    return body['items'] as AuditRecord[];
  }

  // Spec: PROV-64
  test('an application is recorded when it is registered, changed, given a new secret, and removed', async () => {
    const path = `/application-management/v1/user-domains/${setup.realm}/applications`;
    const { merchantId } = setup.merchant;
    const made = await call('POST', path, { name: 'Till', entityId: merchantId });
    const { clientId, clientSecret, ...first } = made.body;
    const changed = await call('PUT', `${path}/${clientId}`, { name: 'Till of the north' });
    const renewed = await call('POST', `${path}/${clientId}/secret`);
    await call('DELETE', `${path}/${clientId}`);
    secrets.push(String(clientSecret), String(renewed.body['clientSecret']));
    const records = await recordsOf(String(clientId));
    assert.deepEqual(
      records.map(({ action }) => action),
      ['created', 'updated', 'secretRenewed', 'removed'].map((done) => `application.${done}`),
    );
    const { userDomainId: _domain, ...visibleMembers } = first;
    assert.deepEqual(records[0]?.after, { clientId, ...visibleMembers, entityId: merchantId });
    assert.deepEqual(records[0]?.entity, { type: 'application', id: clientId, merchantId });
    assert.deepEqual(
      [records[1]?.before?.['name'], records[1]?.after?.['name']],
      ['Till', 'Till of the north'],
    );
    assert.equal(records[1]?.requestId, changed.headers['x-request-id']);
    assert.equal(records[1]?.actor.kind, 'Application');
    assert.equal(records[3]?.after, undefined);
  });

  test('a change of an application that was refused leaves no record', async () => {
    const path = `/application-management/v1/user-domains/${setup.realm}/applications`;
    const made = await call('POST', path, { name: 'Till' });
    const { clientId, clientSecret } = made.body;
    secrets.push(String(clientSecret));
    const refused = await setup.client.call('PUT', `${path}/${clientId}`, {
      token: setup.acquirerToken,
      body: { name: 'Other' },
      headers: { 'if-match': '"7"' },
    });
    assert.equal(refused.status, 412);
    assert.equal((await recordsOf(String(clientId))).length, 1);
  });

  test('a device certificate is recorded when it is issued, and once when it is revoked', async () => {
    const body = { ...deviceBody(), merchantId: setup.merchant.merchantId };
    const device = await call('POST', '/provisioning/v2/physical-devices', body);
    const path = `/provisioning/v2/physical-devices/${device.body['physicalDeviceId']}/certificates`;
    const { csr: certificateRequest, key } = await createCertificateRequest();
    const issued = await call('POST', path, { certificateRequest });
    const { thumbprint } = issued.body;
    secrets.push(String(key).split('\n')[1] ?? '', 'BEGIN CERTIFICATE');
    for (const reason of ['KeyCompromise', 'Superseded']) {
      await call('POST', `${path}/${thumbprint}/revoke`, { reason });
    }
    const [first, second, ...others] = await recordsOf(String(thumbprint));
    assert.deepEqual(
      [first?.action, second?.action, others.length],
      ['deviceCertificate.issued', 'deviceCertificate.revoked', 0],
    );
    assert.equal(first?.entity.merchantId, setup.merchant.merchantId);
    assert.equal(first?.after?.['status'], 'Active');
    assert.deepEqual(
      [second?.before?.['status'], second?.after?.['revocationReason']],
      ['Active', 'KeyCompromise'],
    );
  });

  test('replaced signing keys are named, and their private part is not', async () => {
    assert.equal(await setup.platform.identity.signingKeys.rotate(setup.realm), true);
    assert.equal(await setup.platform.identity.signingKeys.rotate(setup.realm), false);
    const records = await recordsOf(setup.realm);
    assert.deepEqual(
      records.map(({ action, actor }) => [action, actor.kind]),
      [['userDomain.keysReplaced', 'Platform']],
    );
    const existingKeyIds = (await setup.platform.identity.signingKeys.list(setup.realm)).map(
      ({ keyId }) => keyId,
    );
    const keyIds = records[0]?.after?.['keyIds'] as string[];
    assert.deepEqual(Object.keys(records[0]?.after ?? {}).sort(), [
      'keyIds',
      'othersVerifyUntil',
      'signFrom',
    ]);
    assert.ok(keyIds.length === 2 && keyIds.every((keyId) => existingKeyIds.includes(keyId)));
  });

  // Spec: PROV-64
  test('the chain of these records verifies, and contains no secret', async () => {
    await setup.platform.audit.checkpoint(setup.organizationId);
    const { text } = await call('GET', '/audit/v1/export');
    const lines = text.split('\n').filter(Boolean);
    const records = lines.map((line) => JSON.parse(line) as AuditRecord);
    const checkpoints = await call('GET', '/audit/v1/checkpoints');
    const keys = await call('GET', '/audit/v1/keys');
    const report = await verifyChain(
      records,
      checkpoints.body['items'] as AuditCheckpoint[],
      keys.body['keys'] as AuditKey[],
    );
    assert.deepEqual([report.faults, report.unsignedRecords], [[], 0]);
    assert.ok(records.length > 20 && secrets.length > 4);
    for (const secret of secrets) assert.ok(!text.includes(secret), secret);
  });
});
