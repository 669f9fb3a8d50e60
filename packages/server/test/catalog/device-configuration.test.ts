// Whole run: much is made, or waited for, before it shows.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defined } from '@switchyard/contract';
import {
  devicePath,
  openFleet,
  receipts,
  type Terminal,
  type TestFleet,
} from '../support/provisioning/test-device-configuration.ts';

let setup: TestFleet;
let serviceId: string;
before(async () => {
  setup = await openFleet();
  serviceId = await setup.service();
});
after(() => setup.close());

const acknowledgements = `${devicePath}/acknowledgements`;
const deliveryOf = ({ logicalDeviceId }: Pick<Terminal, 'logicalDeviceId'>) =>
  `/configuration/v1/logical-devices/${logicalDeviceId}/delivery`;

/** The response to the device, with the one service of this file. */
async function readConfiguration(terminal: Terminal, tag?: string) {
  const answer = await terminal.ask('GET', devicePath, defined({ tag }));
  const services: { serviceId: string }[] = answer.body.services ?? [];
  const service = services.find((one) => one.serviceId === serviceId);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  return { ...answer, tag: String(answer.headers['etag']), service: service as any };
}

const valuesOf = async (terminal: Terminal) => (await readConfiguration(terminal)).service.values;

// Spec: PROV-50
test('a device reads its own configuration, inherited from level to level, and signed', async () => {
  const terminal = await setup.terminal();
  const first = await readConfiguration(terminal);
  assert.equal(first.status, 200);
  assert.equal(first.headers['cache-control'], 'no-store');
  assert.equal(first.tag, `"${first.body.version}"`);
  assert.deepEqual(first.service.values, { footer: 'Thank you', limits: { floor: 0 } });

  const { merchantId, storeId, logicalDeviceId } = terminal;
  await setup.configure('merchants', merchantId, serviceId, {
    footer: 'Merci',
    limits: { floor: 10 },
  });
  await setup.configure('stores', storeId, serviceId, { limits: { floor: 20 } });
  assert.deepEqual(await valuesOf(terminal), { footer: 'Merci', limits: { floor: 20 } });
  await setup.configure('logical-devices', logicalDeviceId, serviceId, { footer: 'Here' });
  const last = await readConfiguration(terminal);
  assert.deepEqual(last.service.values, { footer: 'Here', limits: { floor: 20 } });

  const { version, name, values } = last.service;
  const content = { logicalDeviceId, serviceId, name, version, values };
  assert.deepEqual(await setup.verified(last.service), content);
  const forged = Buffer.from(JSON.stringify({ ...content, values: {} })).toString('base64url');
  await assert.rejects(setup.verified({ ...last.service, payload: forged }));
});

// Spec: PROV-50
test('a device with the current version receives 304, and equal values result in the same version', async () => {
  const terminal = await setup.terminal();
  const { tag } = await readConfiguration(terminal);
  for (const header of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const answer = await readConfiguration(terminal, header);
    assert.deepEqual([answer.status, answer.tag], [304, tag], header);
  }
  assert.equal((await readConfiguration(terminal, '"other"')).status, 200);
  // The value equals the inherited value: the level has a new version, but the device configuration
  // does not change.
  await setup.configure('stores', terminal.storeId, serviceId, { footer: 'Thank you' });
  assert.equal((await readConfiguration(terminal, tag)).status, 304);
  await setup.configure('stores', terminal.storeId, serviceId, { footer: 'Danke' });
  const other = await readConfiguration(terminal, tag);
  assert.equal(other.status, 200);
  await setup.configure('stores', terminal.storeId, serviceId, {});
  assert.deepEqual((await readConfiguration(terminal, other.tag)).tag, tag);
});

// Spec: PROV-50
test('a store configuration changes the version only for the devices of that store', async () => {
  const one = await setup.terminal();
  const beside = await setup.terminal(one.merchantId);
  const tags = [(await readConfiguration(one)).tag, (await readConfiguration(beside)).tag];
  await setup.configure('stores', one.storeId, serviceId, { footer: 'Only here' });
  assert.notEqual((await readConfiguration(one)).tag, tags[0]);
  assert.equal((await readConfiguration(beside, tags[1])).status, 304);
});

test('a token of a user at a device reads the same; others have no device', async () => {
  const terminal = await setup.terminal();
  const token = await setup.customToken(terminal);
  const answer = await setup.api(devicePath, { token });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['etag'], (await readConfiguration(terminal)).tag);

  const office = await setup.api(devicePath, { token: setup.token });
  assert.deepEqual([office.status, office.body.code], [404, 'device_not_found']);
  assert.equal((await setup.api(devicePath)).status, 401);
});

test('a device that is disabled at any level receives 404, and after it is enabled its version is unchanged', async () => {
  const terminal = await setup.terminal();
  const { tag } = await readConfiguration(terminal);
  const scope = { organizationId: setup.organizationId };
  const { stores, merchants, logicalDevices } = setup.provisioning;
  const change = async (status: 'Enabled' | 'Disabled') => ({ status });
  for (const [resource, id] of [
    [stores, terminal.storeId],
    [merchants, terminal.merchantId],
    [logicalDevices, terminal.logicalDeviceId],
  ] as const) {
    await resource.change(scope, id, undefined, () => change('Disabled'));
    const refused = await terminal.ask('GET', devicePath);
    assert.deepEqual([refused.status, refused.body.code], [404, 'device_not_found']);
    const json = { version: tag.slice(1, -1), applied: true };
    assert.equal((await terminal.ask('POST', acknowledgements, { json })).status, 404);
    await resource.change(scope, id, undefined, () => change('Enabled'));
    assert.equal((await readConfiguration(terminal, tag)).status, 304);
  }
});

test('a certificate that was revoked ends the reading', async () => {
  const terminal = await setup.terminal();
  const { physicalDeviceId, certificate } = terminal;
  const scope = { organizationId: setup.organizationId };
  const { certificates } = setup.identity.devices;
  await certificates.revoke(scope, physicalDeviceId, certificate.thumbprint, 'Superseded');
  assert.equal((await terminal.ask('GET', devicePath)).status, 401);
});

// Spec: PROV-51
test('a device reports whether it applied a version, and the administrator sees the result', async () => {
  const terminal = await setup.terminal();
  const never = await setup.api(deliveryOf(terminal), { token: setup.token });
  assert.deepEqual([never.status, never.body.status], [200, 'Pending']);
  assert.equal(never.body.requestedAt, undefined);

  const { version } = (await readConfiguration(terminal)).body;
  assert.equal(never.body.version, version);
  const acknowledge = (json: object) => terminal.ask('POST', acknowledgements, { json });
  const failed = await acknowledge({
    version,
    applied: false,
    reason: 'kernel 3 refused the keys',
  });
  assert.deepEqual([failed.status, failed.body.applied], [200, false]);
  const after = (await setup.api(deliveryOf(terminal), { token: setup.token })).body;
  assert.deepEqual([after.status, after.sentVersion], ['Failed', version]);
  assert.equal(after.failure.reason, 'kernel 3 refused the keys');

  for (let time = 0; time < 2; time += 1) {
    assert.equal((await acknowledge({ version, applied: true })).status, 200);
  }
  const applied = (await setup.api(deliveryOf(terminal), { token: setup.token })).body;
  assert.deepEqual([applied.status, applied.appliedVersion], ['Applied', version]);
  assert.equal(applied.failure, undefined);
  const service = applied.services.find(
    (one: { serviceId: string }) => one.serviceId === serviceId,
  );
  assert.equal(service.status, 'Applied');

  await setup.configure('stores', terminal.storeId, serviceId, { footer: 'New' });
  const behind = (await setup.api(deliveryOf(terminal), { token: setup.token })).body;
  assert.deepEqual([behind.status, behind.appliedVersion], ['Pending', version]);
  assert.notEqual(behind.version, version);
  // The device may still acknowledge the last version that it received.
  assert.equal((await acknowledge({ version, applied: false })).status, 200);
});

test('acknowledgements that make no sense are refused and leave no trace', async () => {
  const terminal = await setup.terminal();
  const other = await setup.terminal();
  const { version } = (await readConfiguration(terminal)).body;
  const foreign = (await readConfiguration(other)).body.version;
  const cases: [unknown, number, string][] = [
    [{ version: 'x', applied: true }, 422, '/version'],
    [{ version: 'A'.repeat(22), applied: true }, 422, '/version'],
    [{ version: foreign, applied: true }, 422, '/version'],
    [{ version, applied: 'yes' }, 422, '/applied'],
    [{ version }, 422, '/applied'],
    [{ version, applied: true, reason: 'fine' }, 422, '/reason'],
    [{ version, applied: false, reason: 'x'.repeat(201) }, 422, '/reason'],
    [{ version, applied: false, reason: 'a\u0000b' }, 400, ''],
    [{ version, applied: false, reason: 'a\nb' }, 422, '/reason'],
    [{ version, applied: true, logicalDeviceId: other.logicalDeviceId }, 422, '/logicalDeviceId'],
    [[], 422, ''],
  ];
  for (const [json, status, pointer] of cases) {
    const answer = await terminal.ask('POST', acknowledgements, { json });
    assert.equal(answer.status, status, JSON.stringify([json, answer.body]));
    if (pointer !== '') assert.equal(answer.body.errors[0].pointer, pointer);
  }
  const { body } = await setup.api(deliveryOf(terminal), { token: setup.token });
  assert.deepEqual(
    [body.status, body.appliedVersion, body.failure],
    ['Pending', undefined, undefined],
  );
  const office = { token: setup.token, json: { version, applied: true } };
  assert.equal((await setup.api(acknowledgements, office)).status, 404);
});

test('a card number in a reason goes no further', async () => {
  const terminal = await setup.terminal();
  const { version } = (await readConfiguration(terminal)).body;
  const json = { version, applied: false, reason: 'stopped at card 4111 1111 1111 1111' };
  const answer = await terminal.ask('POST', acknowledgements, { json });
  const { body } = await setup.api(deliveryOf(terminal), { token: setup.token });
  for (const text of [answer.body.reason, body.failure.reason]) {
    assert.match(text, /^stopped at card /);
    assert.doesNotMatch(text, /1111/);
  }
});

test('documents of an older master key can still be checked', async () => {
  const service = (await readConfiguration(await setup.terminal())).service;
  const later = await openFleet();
  try {
    assert.equal((await later.verified(service))['serviceId'], serviceId);
    const { body } = await later.api('/configuration/v1/keys');
    const { body: before } = await setup.api('/configuration/v1/keys');
    assert.notEqual(body.keys[0].kid, before.keys[0].kid);
  } finally {
    await later.close();
  }
});

test('a release that does not fit the stored values holds its service, and the other services stay ready', async () => {
  const fleet = await openFleet();
  try {
    const secondServiceId = await fleet.service();
    const other = await fleet.service({ ...receipts, name: 'Other' });
    const terminal = await fleet.terminal();
    await fleet.configure('merchants', terminal.merchantId, secondServiceId, {
      limits: { floor: 5 },
    });
    const before = await terminal.ask('GET', devicePath);
    const { parameterSchema, ...rest } = receipts;
    const { footer } = parameterSchema.properties;
    const narrower = { ...parameterSchema, properties: { footer } };
    await fleet.release(secondServiceId, {
      ...rest,
      parameterSchema: narrower,
      defaults: { footer: 'x' },
    });
    const { body, headers } = await terminal.ask('GET', devicePath);
    assert.notEqual(headers['etag'], before.headers['etag']);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
    const byId = new Map<string, any>(body.services.map((one: any) => [one.serviceId, one]));
    const { status, values, payload } = byId.get(secondServiceId);
    assert.deepEqual([status, values, payload], ['Held', undefined, undefined]);
    assert.equal(byId.get(other).status, 'Ready');
    await fleet.verified(byId.get(other));
    const delivery = (await fleet.api(deliveryOf(terminal), { token: fleet.token })).body;
    const statuses = delivery.services.map((one: { status: string }) => one.status).sort();
    assert.deepEqual(statuses, ['Held', 'Pending']);
    await fleet.configure('merchants', terminal.merchantId, secondServiceId, {});
    const again = await terminal.ask('GET', devicePath);
    const states = again.body.services.map((one: { status: string }) => one.status);
    assert.deepEqual(states, ['Ready', 'Ready']);
  } finally {
    await fleet.close();
  }
});

test('asking again writes nothing, but for a note of the time now and then', async () => {
  const terminal = await setup.terminal();
  const note = async () => {
    const rows = await setup.database.query<{ xmin: string; requested_at: Date; sent_at: Date }>(
      `SELECT xmin::text, requested_at, sent_at FROM device_configurations
       WHERE organization_id = $1 AND logical_device_id = $2`,
      [setup.organizationId, terminal.logicalDeviceId],
    );
    return rows[0];
  };
  const { tag } = await readConfiguration(terminal);
  const first = await note();
  for (let time = 0; time < 20; time += 1)
    assert.equal((await readConfiguration(terminal, tag)).status, 304);
  assert.deepEqual(await note(), first);
  setup.clock.advance(11 * 60_000);
  await readConfiguration(terminal, tag);
  const later = await note();
  assert.equal(Number(later?.requested_at) - Number(first?.requested_at), 11 * 60_000);
  assert.deepEqual(later?.sent_at, first?.sent_at);
});
