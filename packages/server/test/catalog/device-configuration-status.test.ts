// Whole run: much is made, or waited for, before it shows.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  devicePath,
  openFleet,
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
const readConfiguration = (terminal: Terminal) => terminal.ask('GET', devicePath);

test('a change at the parent organisation makes devices Pending and reaches them at their next configuration request', async () => {
  const fleet = await openFleet();
  try {
    const { database, provisioning, organizationId } = fleet;
    const inherited = await fleet.service();
    const terminal = await fleet.terminal();
    const { version } = (await terminal.ask('GET', devicePath)).body;
    await terminal.ask('POST', acknowledgements, { json: { version, applied: true } });
    const statusOf = async () => {
      const { body } = await fleet.api('/configuration/v1/delivery', { token: fleet.token });
      return body.items[0].status;
    };
    assert.equal(await statusOf(), 'Applied');
    const above = randomUUID();
    await provisioning.organizations.create({ organizationId: above }, { name: 'Group' }, above);
    await database.query(
      'UPDATE organizations SET parent_organization_id = $2 WHERE organization_id = $1',
      [organizationId, above],
    );
    fleet.clock.advance(10_000);
    await database.query(
      `INSERT INTO service_configurations (organization_id, entity_id, service_id, level, version,
         release, own_values, updated_at)
       VALUES ($1, $1, $2, 'Organization', 1, 1, '{"footer": "From above"}', $3)`,
      [above, inherited, new Date(fleet.clock.now())],
    );
    assert.equal(await statusOf(), 'Pending');
    fleet.clock.advance(10_000);
    const { body } = await terminal.ask('GET', devicePath);
    assert.equal(body.services[0].values.footer, 'From above');
  } finally {
    await fleet.close();
  }
});

// Spec: PROV-51
test('the delivery list filters devices by status, service and store, and refuses requests of devices', async () => {
  const one = await setup.terminal();
  const two = await setup.terminal(one.merchantId);
  const silent = await setup.terminal(one.merchantId);
  const list = async (query: string) => {
    const path = `/configuration/v1/delivery?merchantId=${one.merchantId}${query}`;
    const { status, body } = await setup.api(path, { token: setup.token });
    assert.equal(status, 200, JSON.stringify(body));
    const items: { logicalDeviceId: string; status: string }[] = body.items;
    return {
      body,
      found: Object.fromEntries(items.map((item) => [item.logicalDeviceId, item.status])),
    };
  };
  for (const terminal of [one, two]) {
    const { version } = (await readConfiguration(terminal)).body;
    await terminal.ask('POST', acknowledgements, { json: { version, applied: true } });
  }
  const [a, b, c] = [one.logicalDeviceId, two.logicalDeviceId, silent.logicalDeviceId];
  assert.deepEqual((await list('')).found, { [a]: 'Applied', [b]: 'Applied', [c]: 'Pending' });
  setup.clock.advance(1);
  await setup.configure('stores', two.storeId, serviceId, { footer: 'Changed' });
  assert.deepEqual((await list('&status=Pending')).found, { [b]: 'Pending', [c]: 'Pending' });
  assert.deepEqual((await list(`&status=Pending&serviceId=${serviceId}`)).found, {
    [b]: 'Pending',
  });
  setup.clock.advance(1);
  const { version } = (await readConfiguration(two)).body;
  await two.ask('POST', acknowledgements, { json: { version, applied: false, reason: 'no room' } });
  assert.deepEqual((await list('&status=Failed')).found, { [b]: 'Failed' });
  assert.deepEqual((await list(`&storeId=${one.storeId}`)).found, { [a]: 'Applied' });

  const pages: string[] = [];
  let cursor = '';
  do {
    const { body, found } = await list(`&limit=1${cursor}`);
    pages.push(...Object.keys(found));
    cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
  } while (cursor !== '');
  assert.deepEqual(pages, [a, b, c].sort());
  assert.equal(
    (await setup.api('/configuration/v1/delivery?status=Late', { token: setup.token })).status,
    422,
  );
  assert.equal((await one.ask('GET', '/configuration/v1/delivery')).status, 403);
  assert.equal((await one.ask('GET', deliveryOf(two))).status, 403);
});

test('a page checks a part of a large fleet, and all pages together list every device', async () => {
  const { storeId, merchantId } = await setup.terminal();
  const count = 10_001;
  await setup.database.query(
    `INSERT INTO logical_devices
     SELECT (jsonb_populate_record(l, jsonb_build_object(
       'logical_device_id', gen_random_uuid(), 'external_id', NULL))).*
     FROM logical_devices l, generate_series(2, $3)
     WHERE organization_id = $1 AND store_id = $2`,
    [setup.organizationId, storeId, count],
  );
  const sizes: number[] = [];
  const deviceIds = new Set<string>();
  for (const status of ['Applied', 'Pending']) {
    let cursor = '';
    do {
      const query = `?merchantId=${merchantId}&status=${status}&limit=200${cursor}`;
      const { body } = await setup.api(`/configuration/v1/delivery${query}`, {
        token: setup.token,
      });
      if (status === 'Applied') sizes.push(body.items.length);
      for (const { logicalDeviceId } of body.items) deviceIds.add(logicalDeviceId);
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor !== '');
  }
  assert.deepEqual(sizes, [0, 0, 0]);
  assert.equal(deviceIds.size, count);
});

test('a device of another organisation is not found', async () => {
  const terminal = await setup.terminal();
  const otherSetup = await openFleet();
  try {
    const foreign = await otherSetup.api(deliveryOf(terminal), { token: otherSetup.token });
    assert.deepEqual([foreign.status, foreign.body.code], [404, 'device_not_found']);
    const { body } = await otherSetup.api('/configuration/v1/delivery', {
      token: otherSetup.token,
    });
    assert.deepEqual(body.items, []);
  } finally {
    await otherSetup.close();
  }
  for (const id of [randomUUID(), 'x', '%00']) {
    const path = deliveryOf({ logicalDeviceId: id });
    assert.equal((await setup.api(path, { token: setup.token })).status, 404, id);
  }
});
