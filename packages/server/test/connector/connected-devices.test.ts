// Whole run: much is made, or waited for, before it shows.
// The online state of devices in the API and in events: only lasting changes, and few events for
// each device.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ConnectedDevice, defined } from '@switchyard/contract';
import { createDeviceList } from '../../src/connector/devices/device-list.ts';
import {
  createPresencePublisher,
  presenceEvents,
} from '../../src/connector/devices/presence-events.ts';
import { createLog, type Database, openDatabase } from '../../src/platform/index.ts';
import { testDatabase, testDatabaseCopyUrl } from '../support/database/test-database.ts';
import type { TestTerminal } from '../support/provisioning/test-devices.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { until } from '../support/wait-for-result.ts';
import {
  type Client,
  type Line,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';
import { openRetailApi, type TestRetailApi } from './test-retail-api.ts';

const second = 1000;

describe('connected and disconnected devices', () => {
  let setup: TestConnector;
  let till: Client;
  let database: Database;
  before(async () => {
    // A separate database: another running platform would publish and delete the events of these
    // tests.
    const log = createLog({ logLevel: 'silent', instanceName: 'test' });
    database = openDatabase({ url: await testDatabaseCopyUrl(), log });
    const times = { idleMs: 100 * 3_600_000, eventPollMs: 3_600_000 };
    setup = await startTestConnector({ times, database });
    till = await setup.application();
  });
  after(async () => {
    await setup.close();
    await database.close();
  });

  const fleet = () =>
    createDeviceList({ database, clock: setup.clock, backplane: setup.connector.backplane });
  const scope = () => ({ organizationId: setup.organizationId });
  const readConnection = async ({
    physicalDeviceId,
  }: TestTerminal): Promise<ConnectedDevice['connection']> => {
    const device = await fleet().find(scope(), physicalDeviceId);
    assert.ok(device);
    return device.connection;
  };
  const closeAndWait = (line: Line, terminal: TestTerminal) => {
    line.close();
    return eventually('the end', async () => (await readConnection(terminal)).status === 'Offline');
  };

  describe('in lists', () => {
    it('show their status, its start time, their node and whether a session is open', async () => {
      const terminal = await setup.terminal();
      assert.deepEqual(await readConnection(terminal), { status: 'Offline' });
      const device = await setup.connect(terminal, till);
      const came = new Date(setup.clock.now()).toISOString();
      const connection = await readConnection(terminal);
      assert.deepEqual(
        [connection.status, connection.since, connection.inSession],
        ['Online', came, false],
      );
      assert.ok(connection.node);
      const pos = await setup.pos(await setup.tokenOf(till));
      const { line } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p' });
      assert.equal((await readConnection(terminal)).inSession, true);
      for (const one of [line, pos]) one.close();
      setup.clock.advance(5 * second);
      await closeAndWait(device, terminal);
      const offlineConnection = await readConnection(terminal);
      assert.equal(offlineConnection.since, new Date(setup.clock.now()).toISOString());
      assert.deepEqual(Object.keys(offlineConnection).sort(), ['lastSeenAt', 'since', 'status']);
    });

    it('are returned page by page, filtered by status and store, and only within their organisation', async () => {
      const all = fleet();
      const connectedTerminal = await setup.terminal();
      const { merchantId } = connectedTerminal;
      const offlineTerminal = await setup.terminal({ merchantId });
      const device = await setup.connect(connectedTerminal, till);
      const idsOf = async (filter: object, who: object = scope()) => {
        const ids: string[] = [];
        let after: string | undefined;
        do {
          const page = { limit: 1, ...defined({ after }) };
          const list = await all.list(who as never, { merchantId, ...filter }, page);
          ids.push(...list.items.map(({ physicalDeviceId }) => physicalDeviceId));
          after = list.next;
        } while (after !== undefined);
        return ids;
      };
      const deviceIds = [connectedTerminal, offlineTerminal].map(
        ({ physicalDeviceId }) => physicalDeviceId,
      );
      assert.deepEqual(await idsOf({}), [...deviceIds].sort());
      assert.deepEqual(await idsOf({ status: 'Online' }), [connectedTerminal.physicalDeviceId]);
      assert.deepEqual(await idsOf({ status: 'Offline' }), [offlineTerminal.physicalDeviceId]);
      assert.deepEqual(await idsOf({ storeId: offlineTerminal.storeId }), [
        offlineTerminal.physicalDeviceId,
      ]);
      const ofStore = { ...scope(), storeId: connectedTerminal.storeId };
      assert.deepEqual(await idsOf({}, ofStore), [connectedTerminal.physicalDeviceId]);
      const otherScope = { organizationId: merchantId };
      assert.deepEqual(await idsOf({}, otherScope), []);
      assert.equal(await all.find(otherScope, connectedTerminal.physicalDeviceId), undefined);
      assert.equal(await all.find(scope(), 'no identifier'), undefined);
      await closeAndWait(device, connectedTerminal);
    });

    it('are found by attention state, by name and by the time of the last change', async () => {
      const all = fleet();
      const [till1, till2] = [await setup.terminal(), await setup.terminal()];
      const { merchantId } = till1;
      const ids = async (filter: object, terminal: TestTerminal = till1) => {
        const list = await all.list(
          scope(),
          { merchantId: terminal.merchantId, ...filter },
          { limit: 9 },
        );
        return list.items.map(({ physicalDeviceId }) => physicalDeviceId);
      };
      const counted = async () => {
        const { at: _at, ...counts } = await all.count(scope(), { merchantId });
        return counts;
      };
      const zeroCounts = {
        online: 0,
        neverConnected: 0,
        disabled: 0,
        inStock: 0,
        certificateEnding: 0,
      };
      assert.deepEqual(await counted(), { ...zeroCounts, devices: 1, neverConnected: 1 });
      assert.deepEqual(await ids({ attention: 'NeverConnected' }), [till1.physicalDeviceId]);
      assert.deepEqual(await ids({ q: till1.tsn.toLowerCase() }), [till1.physicalDeviceId]);
      assert.deepEqual(await ids({ q: till1.serialNumber.slice(0, -1) }), [till1.physicalDeviceId]);
      assert.deepEqual(await ids({ q: `${till1.serialNumber}0` }), []);
      const { name } = (await all.find(scope(), till1.physicalDeviceId)) ?? {};
      assert.ok(name);
      assert.deepEqual(await ids({ q: name.slice(0, 3).toUpperCase() }), [till1.physicalDeviceId]);
      assert.deepEqual(await ids({ q: '%' }), [], 'no sign stands for others');

      const before = new Date(setup.clock.now() - second).toISOString();
      const line = await setup.connect(till1, till);
      assert.deepEqual(await ids({ changedSince: before }), [till1.physicalDeviceId]);
      assert.deepEqual(await ids({ changedSince: before }, till2), []);
      const ever = '0000-01-01T00:00:00Z';
      assert.deepEqual(await ids({ changedSince: ever }), [till1.physicalDeviceId]);
      const came = new Date(setup.clock.now()).toISOString();
      assert.deepEqual(await ids({ changedSince: came }), []);
      setup.clock.advance(151 * second);
      assert.deepEqual(
        await ids({ changedSince: came }),
        [till1.physicalDeviceId],
        'a lapsed lease',
      );
      line.close();

      const certificate = (ends: number) =>
        database.query(
          `INSERT INTO device_certificates (organization_id, thumbprint, physical_device_id,
             serial_number, certificate_serial, certificate, not_before, not_after, created_at)
           VALUES ($1, $2, $3, $4, '01', '', now(), to_timestamp($5 / 1000.0), now())`,
          [setup.organizationId, `${ends}`, till1.physicalDeviceId, till1.serialNumber, ends],
        );
      const day = 86_400 * second;
      const soon = setup.clock.now() + 20 * day;
      await certificate(soon);
      const near = await all.find(scope(), till1.physicalDeviceId);
      assert.equal(Date.parse(near?.certificateExpiresAt ?? ''), soon);
      assert.deepEqual(await ids({ attention: 'CertificateEnding' }), [till1.physicalDeviceId]);
      assert.equal((await counted()).certificateEnding, 1);
      await certificate(setup.clock.now() + 300 * day);
      assert.deepEqual(await ids({ attention: 'CertificateEnding' }), [], 'there is a newer one');

      assert.equal(near?.enabled, true);
      const { view: store } = await setup.provisioning.stores.get(scope(), till1.storeId);
      await setup.provisioning.stores.replace(scope(), till1.storeId, {
        ...store,
        status: 'Disabled',
      });
      assert.deepEqual(await ids({ attention: 'Disabled' }), [till1.physicalDeviceId]);
      await setup.provisioning.logicalDevices.linkPhysicalDevices(
        scope(),
        till1.logicalDeviceId,
        [],
      );
      assert.deepEqual(await ids({ attention: 'Disabled' }), [], 'in stock no store holds it up');
      assert.deepEqual(await ids({ attention: 'InStock' }), [till1.physicalDeviceId]);
      assert.deepEqual(await counted(), { ...zeroCounts, devices: 1, inStock: 1 });
      const all2 = await all.count(scope(), { merchantId: till2.merchantId });
      assert.deepEqual([all2.devices, all2.inStock], [1, 0]);
    });

    it('are offline where the lease of a dead node has run out', async () => {
      const terminal = await setup.terminal();
      const device = await setup.connect(terminal, till);
      const until = setup.clock.now() + 150 * second;
      setup.clock.advance(151 * second);
      const offlineConnection = await readConnection(terminal);
      assert.deepEqual(
        [offlineConnection.status, offlineConnection.since],
        ['Offline', new Date(until).toISOString()],
      );
      device.close();
    });
  });

  describe('as events', () => {
    type PresenceEvent = { kind: string; sequence: number };
    const times = {
      eventPollMs: 60 * second,
      stateStableMs: 10 * second,
      eventIntervalMs: 60 * second,
    };

    /** The events of one run for a device; rows of other devices stay for their own tests. */
    async function publishAndReadEvents({
      physicalDeviceId,
    }: TestTerminal): Promise<PresenceEvent[]> {
      const values = [setup.organizationId, physicalDeviceId];
      const log = createLog({ logLevel: 'silent', instanceName: 'test' });
      const teller = createPresencePublisher({ database, clock: setup.clock, log, times });
      teller.start();
      await teller.stop();
      const rows = await database.query<PresenceEvent>(
        `DELETE FROM outbox WHERE organization_id = $1 AND subject_id = $2
         RETURNING kind, sequence::int AS sequence`,
        values,
      );
      return rows;
    }

    /** A run skips a row that its node is renewing, and the next run finds it. */
    const heard = (terminal: TestTerminal) =>
      until(async () => {
        const all = await publishAndReadEvents(terminal);
        return all.length > 0 ? all : undefined;
      }, 'a presence event');

    it('are published once, after the state has lasted ten seconds', async () => {
      const terminal = await setup.terminal();
      const device = await setup.connect(terminal, till);
      assert.deepEqual(await publishAndReadEvents(terminal), []);
      setup.clock.advance(10 * second);
      assert.deepEqual(await heard(terminal), [{ kind: 'device.online', sequence: 1 }]);
      assert.deepEqual(await publishAndReadEvents(terminal), []);
      setup.clock.advance(60 * second);
      await closeAndWait(device, terminal);
      assert.deepEqual(await publishAndReadEvents(terminal), []);
      setup.clock.advance(10 * second);
      assert.deepEqual(await heard(terminal), [{ kind: 'device.offline', sequence: 2 }]);
      setup.clock.advance(120 * second);
      assert.deepEqual(await publishAndReadEvents(terminal), []);
    });

    // Spec: NEXO-6
    it('are not published for short disconnections, and at most once a minute for repeated disconnections', async () => {
      const terminal = await setup.terminal();
      let device = await setup.connect(terminal, till);
      setup.clock.advance(10 * second);
      assert.equal((await heard(terminal)).length, 1);
      const all: PresenceEvent[] = [];
      for (let iteration = 0; iteration < 10; iteration += 1) {
        await closeAndWait(device, terminal);
        setup.clock.advance(3 * second);
        all.push(...(await publishAndReadEvents(terminal)));
        device = await setup.connect(terminal, till);
        setup.clock.advance(3 * second);
        all.push(...(await publishAndReadEvents(terminal)));
      }
      assert.equal(all.length, 0, 'breaks of three seconds in a minute');
      for (let iteration = 0; iteration < 3; iteration += 1) {
        await closeAndWait(device, terminal);
        setup.clock.advance(11 * second);
        all.push(...(await publishAndReadEvents(terminal)));
        device = await setup.connect(terminal, till);
        setup.clock.advance(11 * second);
        all.push(...(await publishAndReadEvents(terminal)));
      }
      assert.ok(all.length <= 2, JSON.stringify(all));
      device.close();
    });

    it('are published as offline after their node has failed', async () => {
      const terminal = await setup.terminal();
      const device = await setup.connect(terminal, till);
      setup.clock.advance(10 * second);
      assert.equal((await heard(terminal)).length, 1);
      setup.clock.advance(151 * second);
      assert.deepEqual(await heard(terminal), [{ kind: 'device.offline', sequence: 2 }]);
      device.close();
    });

    // Spec: NEXO-20
    it('are published as offline one minute after a database failure, unless their node renews the lease', async () => {
      const [staying, dead] = [await setup.terminal(), await setup.terminal()];
      const lines = [await setup.connect(staying, till), await setup.connect(dead, till)];
      setup.clock.advance(10 * second);
      for (const terminal of [staying, dead]) assert.equal((await heard(terminal)).length, 1);
      setup.clock.advance(200 * second);
      let queryCount = 0;
      const log = createLog({ logLevel: 'silent', instanceName: 'test' });
      const failingDatabase: typeof database = {
        ...database,
        query(text, values) {
          queryCount += 1;
          return queryCount === 1
            ? Promise.reject(new Error('away'))
            : database.query(text, values);
        },
      };
      const fast = { ...times, eventPollMs: 1 };
      const teller = createPresencePublisher({
        database: failingDatabase,
        clock: setup.clock,
        log,
        times: fast,
      });
      const readEventKinds = async ({ physicalDeviceId }: TestTerminal) => {
        const rows = await database.query<PresenceEvent>(
          'SELECT kind FROM outbox WHERE organization_id = $1 AND subject_id = $2',
          [setup.organizationId, physicalDeviceId],
        );
        return rows.map(({ kind }) => kind);
      };
      const further = async (count: number) => {
        const from = queryCount;
        await eventually('turns', () => queryCount >= from + count);
      };
      teller.start();
      try {
        await further(3);
        setup.clock.advance(59 * second);
        await further(2);
        assert.deepEqual([await readEventKinds(staying), await readEventKinds(dead)], [[], []]);
        // The node of this device renews the row within its minute.
        await database.query(
          `UPDATE device_presence SET online_until = $2 WHERE physical_device_id = $1`,
          [staying.physicalDeviceId, new Date(setup.clock.now() + 150 * second).toISOString()],
        );
        setup.clock.advance(second);
        await further(2);
        assert.deepEqual(
          [await readEventKinds(staying), await readEventKinds(dead)],
          [[], ['device.offline']],
        );
      } finally {
        await teller.stop();
        for (const line of lines) line.close();
      }
    });

    it('contain the identifiers of the device, its store and its merchant', async () => {
      const terminal = await setup.terminal();
      const device = await setup.connect(terminal, till);
      const { organizationId } = setup;
      const { physicalDeviceId: subjectId, logicalDeviceId: deviceId, storeId, tsn } = terminal;
      const outboxId = subjectId;
      const row = { organizationId, outboxId, subjectId, kind: 'device.online', sequence: 1 };
      const facts = await database.transaction((trx) =>
        presenceEvents.read([{ ...row, createdAt: new Date() }], trx),
      );
      const { merchantId, data } = facts.get(outboxId) ?? {};
      assert.equal(merchantId, terminal.merchantId);
      assert.deepEqual(data, { storeId, deviceId, physicalDeviceId: subjectId, tsn });
      device.close();
    });
  });
});

describe('connected devices at the HTTP interface', () => {
  let at: TestRetailApi;
  before(async () => {
    at = await openRetailApi();
  });
  after(() => at.close());

  const base = '/cloud-connector/v1/devices';
  const get = (path: string, token = at.organization.acquirerToken) =>
    at.organization.client.call('GET', path, { token });

  it('appear in the list, at their own URL and in the event feed', async () => {
    const device = await at.device();
    const line = await device.connect();
    const online = await until(async () => {
      const { status, body } = await get(`${base}?status=Online&storeId=${device.storeId}&limit=1`);
      assert.equal(status, 200, JSON.stringify(body));
      return body.items[0];
    }, 'the device in the list');
    assert.deepEqual([online.tsn, online.deviceId], [device.tsn, device.logicalDeviceId]);
    assert.deepEqual([online.connection.status, online.connection.inSession], ['Online', false]);
    const { physicalDeviceId } = online;
    const read = await get(`${base}/${physicalDeviceId}`);
    assert.deepEqual(read.body, online);
    const unknown = await get(`${base}/${device.storeId}`);
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'device_not_found']);
    const wrong = await get(`${base}?status=Elsewhere`);
    assert.equal(wrong.status, 422);
    assert.equal((await get(base, at.token)).status, 403, 'a till looks after no fleet');
    const counts = await get(`/cloud-connector/v1/device-counts?storeId=${device.storeId}`);
    assert.deepEqual([counts.status, counts.body.devices, counts.body.online], [200, 1, 1]);
    assert.equal((await get('/cloud-connector/v1/device-counts', at.token)).status, 403);
    // Sets the state as if it had lasted for some time already.
    const database = await testDatabase();
    await database.query(
      `UPDATE device_presence SET since = since - interval '20 seconds'
       WHERE physical_device_id = $1`,
      [physicalDeviceId],
    );
    const event = await until(async () => {
      const { body } = await get('/events/v1?types=device.*');
      return body.items.find(
        (item: { data: { physicalDeviceId: string } }) =>
          item.data.physicalDeviceId === physicalDeviceId,
      );
    }, 'the event');
    assert.deepEqual([event.type, event.data.tsn], ['device.online', device.tsn]);
    assert.equal(event.data.storeId, device.storeId);
    line.close();
    await until(async () => {
      const { body } = await get(`${base}/${physicalDeviceId}`);
      return body.connection.status === 'Offline' || undefined;
    }, 'that it is gone');
  });
});
