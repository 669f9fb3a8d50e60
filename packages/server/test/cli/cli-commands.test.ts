import assert from 'node:assert/strict';
import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { signedInCommandLine } from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

let setup: TestOrganization;
let line: Awaited<ReturnType<typeof signedInCommandLine>>;
before(async () => {
  setup = await createTestOrganization();
  line = await signedInCommandLine(setup);
});
after(() => line.remove());

async function done(...args: string[]) {
  const ended = await line.run([...args, '--json']);
  assert.equal(ended.code, 0, `${args.join(' ')}: ${ended.stderr}`);
  return ended.json();
}

const read = (name: string) => readFileSync(join(line.folder, name), 'utf8');

test('a user is created, found by name, edited without losing members, deactivated and activated', async () => {
  const made = await done(
    'users',
    'create',
    'ann',
    '--email',
    'ann@shop.example',
    '--group',
    'org_dev',
    '-s',
    'givenName=Ann',
    '-s',
    'phoneNumber=+33639980010',
  );
  assert.deepEqual(made.groups, [`${setup.organizationId}_org_dev`]);
  const edited = await done(
    'users',
    'edit',
    'ANN',
    '-s',
    'familyName=Carter',
    '--unset',
    'phoneNumber',
  );
  assert.deepEqual(
    [edited.givenName, edited.familyName, edited.phoneNumber],
    ['Ann', 'Carter', undefined],
  );
  assert.equal((await done('users', 'deactivate', 'ann')).status, 'deactivated');
  assert.equal((await done('users', 'activate', made.userId)).status, 'activated');
  assert.deepEqual(await done('users', 'reset-password', 'ann'), { sent: true });
  assert.equal((await done('users', 'list', '--username', 'an')).items.length, 1);
  assert.ok((await done('users', 'groups')).items.length >= 4);
  assert.equal((await line.run(['users', 'get', 'nobody'])).code, 5);
  assert.equal((await line.run(['users', 'edit', 'ann', '-s', 'username=bob'])).code, 6);
});

// Spec: PROV-74
test('secrets of an application and a point of sale are written to one file for its owner', async () => {
  const lost = await line.run(['apps', 'create', 'Office']);
  assert.equal(lost.code, 2);
  const made = await done(
    'apps',
    'create',
    'Office',
    '--role',
    'MerchantReadOnly',
    '--secret-out',
    'office.secret',
  );
  assert.equal(made.clientSecret, undefined);
  assert.equal(statSync(join(line.folder, 'office.secret')).mode & 0o077, 0);
  const secret = read('office.secret').trim();
  assert.match(await setup.client.token(setup.realm, made.clientId, secret), /^ey/);
  const again = await line.run([
    'apps',
    'rotate-secret',
    made.clientId,
    '--secret-out',
    'office.secret',
  ]);
  assert.equal(again.code, 2, 'what is there is not overwritten');
  assert.match(await setup.client.token(setup.realm, made.clientId, secret), /^ey/);
  const renewed = await done('apps', 'rotate-secret', made.clientId, '--show-secret');
  assert.notEqual(renewed.clientSecret, secret);
  assert.equal(
    (await done('apps', 'edit', made.clientId, '-s', 'name=Back office')).name,
    'Back office',
  );
  await done('apps', 'remove', made.clientId);
  assert.equal((await line.run(['apps', 'get', made.clientId])).code, 5);
  const missing = ['apps', 'rotate-secret', made.clientId, '--secret-out', 'missing.secret'];
  assert.equal((await line.run(missing)).code, 5);
  assert.equal(existsSync(join(line.folder, 'missing.secret')), false, 'no empty file stays');

  const till = await done(
    'pos',
    'create',
    'Till 3',
    '--store',
    setup.merchant.storeId,
    '--show-secret',
  );
  assert.match(await setup.client.token(setup.realm, till.clientId, till.clientSecret), /^ey/);
  const other = await done(
    'pos',
    'rotate-secret',
    till.pointOfSaleId,
    '--secret-out',
    'till.secret',
  );
  assert.equal(other.clientSecret, undefined);
  assert.match(
    await setup.client.token(setup.realm, till.clientId, read('till.secret').trim()),
    /^ey/,
  );
});

test('an application of a merchant developer is edited, waits for approval and is approved', async () => {
  const developer = await signedInCommandLine(
    setup,
    'MerchantDeveloper',
    setup.merchant.merchantId,
  );
  try {
    const create = ['apps', 'create', 'Shop', '--role', 'Merchant', '--show-secret', '--json'];
    const made = (await developer.run(create)).json();
    assert.equal(made.status, 'PendingApproval');
    const edit = ['apps', 'edit', made.clientId, '-s', 'name=Shop server', '--json'];
    assert.equal((await developer.run(edit)).json().status, 'PendingApproval');
    assert.equal((await developer.run(['apps', 'approve', made.clientId])).code, 4);
    assert.equal((await done('apps', 'approve', made.clientId)).status, 'Enabled');
    assert.match(await setup.client.token(setup.realm, made.clientId, made.clientSecret), /^ey/);
  } finally {
    await developer.remove();
  }
});

// Spec: PROV-74
test('a device is enrolled with a local key, and its certificate is revoked', async () => {
  const serialNumber = `S${randomUUID().slice(0, 8)}`;
  const members = [
    '-f',
    `serialNumber=${serialNumber}`,
    '-f',
    'make=AXIUM',
    '-f',
    'model=DX8000',
    '-f',
    'family=axium',
  ];
  await done('api', 'POST', '/provisioning/v2/physical-devices', ...members);
  const enrolled = await done('devices', 'enrol', serialNumber);
  assert.equal(statSync(join(line.folder, 'device-key.pem')).mode & 0o077, 0);
  const certificate = new X509Certificate(read('device.pem'));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(read('device-key.pem'))));
  assert.match(certificate.subject, RegExp(`CN=AXIUM_DX8000-${serialNumber}`));
  const key = read('device-key.pem');
  await done('devices', 'enrol', `AXIUM_DX8000-${serialNumber}`);
  assert.equal(read('device-key.pem'), key, 'an enrolment can be repeated');
  assert.equal((await done('devices', 'certificates', serialNumber)).items.length, 2);
  const revoked = await done(
    'devices',
    'revoke',
    serialNumber,
    enrolled.thumbprint,
    '--reason',
    'KeyCompromise',
  );
  assert.equal(revoked.status, 'Revoked');
  const dashed = '-q'.padEnd(43, 'A');
  for (const rest of [[dashed], [dashed, '--reason', 'KeyCompromise'], ['--json', dashed]]) {
    const ended = await line.run(['devices', 'revoke', serialNumber, ...rest]);
    assert.equal(ended.code, 5, `a thumbprint may begin as an option does: ${ended.stderr}`);
  }
  assert.equal((await done('devices', 'list', '--serial', serialNumber)).items.length, 1);
  assert.equal((await done('search', '--serial', serialNumber)).items[0].type, 'PhysicalDevice');
});

test('a service is declared, published, subscribed to, activated, configured and shown', async () => {
  const declaration = JSON.stringify({
    name: 'Loyalty points',
    domain: 'Loyalty',
    parameterSchema: { type: 'object', properties: { points: { type: 'integer', maximum: 9 } } },
  });
  const file = line.file('loyalty.yaml', declaration);
  await done('services', 'declare', `@${file}`, '--publish', '--secret-out', 'loyalty.secret');
  assert.match(read('loyalty.secret'), /^whsec_/);
  await done('services', 'subscribe', 'Loyalty points', '--package', 'Loyalty');
  assert.equal((await done('services', 'activate', 'Loyalty points')).status, 'Active');
  const [device = ''] = setup.merchant.deviceIds;
  const state = (await done('services', 'status', device)).items;
  assert.deepEqual([state[0].name, state[0].active], ['Loyalty points', true]);

  const store = ['--store', setup.merchant.storeId];
  await done('config', 'set', 'Loyalty points', '{"points":1}');
  await done('config', 'set', 'Loyalty points', '{"points":3}', ...store);
  const at = await done('config', 'get', 'Loyalty points', '--device', device);
  assert.equal(at.effective.values.points, 3);
  assert.equal(at.effective.sources[0].level, 'Store');
  assert.equal((await done('config', 'versions', 'Loyalty points', ...store)).items.length, 1);
  const refused = await line.run(['config', 'set', 'Loyalty points', '{"points":10}', ...store]);
  assert.equal(refused.code, 6, refused.stderr);
  assert.equal((await line.run(['config', 'set', 'Loyalty points', '[', ...store])).code, 2);
  await done('services', 'deactivate', 'Loyalty points', '--merchant', setup.merchant.merchantId);
  assert.equal((await done('services', 'status', device)).items[0].active, false);
});

test('acquirer wait ends when the link is available, and names why it is not', async () => {
  const { items } = await done('acquirer', 'links');
  const link = items.find(
    (each: { acquirerLinkId: string }) => each.acquirerLinkId === setup.linkId,
  );
  assert.equal(link.available, true);
  assert.equal((await done('acquirer', 'wait', link.name)).state, 'Available');
  const make = (name: string, members: object) =>
    setup.client.call('POST', '/provisioning/v2/acquirer-links', {
      token: setup.acquirerToken,
      body: { name, host: '127.0.0.1', tls: false, institutionId: '1', ...members },
    });
  const { body: silent } = await make('silent', { port: 1 });
  const stateUrl = `/payment/v1/acquirer-links/${silent.acquirerLinkId}`;
  assert.deepEqual([silent.state, silent.stateUrl], ['Connecting', stateUrl]);
  const tooLate = await line.run(['acquirer', 'wait', 'silent', '--seconds', '1']);
  assert.equal(tooLate.code, 7);
  assert.match(tooLate.stderr, /not available after 1 seconds/);
  assert.equal((await make('off', { port: 1, status: 'Disabled' })).body.state, 'Disabled');
  const disabled = await line.run(['acquirer', 'wait', 'off']);
  assert.equal(disabled.code, 6);
  assert.match(disabled.stderr, /It is disabled/);
  assert.equal((await line.run(['acquirer', 'wait', 'nothing'])).code, 5);
});
