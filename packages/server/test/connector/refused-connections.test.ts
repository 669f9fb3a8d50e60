// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// The errors of the connector: each row of its error table, over real WebSockets.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import type { TestTerminal } from '../support/provisioning/test-devices.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { createForeignTerminal } from './second-organization.ts';
import {
  type Client,
  handshakeErrorOf,
  type Json,
  type Line,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';

const hour = 3_600_000;

describe('refusals of the connector', () => {
  let setup: TestConnector;
  let till: Client;
  let token: string;

  before(async () => {
    setup = await startTestConnector({ times: { idleMs: 10 * hour } });
    till = await setup.application();
    token = await setup.tokenOf(till);
  });
  after(() => setup.close());

  const credentials = ({ clientId, clientSecret }: Client = till) => ({
    client_id: clientId,
    client_secret: clientSecret,
  });

  /** The error of a registration, and the close code. */
  async function refused(message: Json | string): Promise<{ error: Json; code: number }> {
    const { line, answer } = await setup.register(message);
    const { code, reason } = await line.closed();
    assert.equal(answer['type'], 'error', JSON.stringify(answer));
    assert.equal(reason, `${answer['error'].code}:${answer['correlationId']}`);
    assert.ok(Buffer.byteLength(reason) <= 123);
    return { error: answer['error'], code };
  }

  const claim = (pos: Line, tsn: string, more: Json = {}) =>
    setup.ask(pos, { type: 'claim', requestId: 'c', tsn, posId: 'p1', ...more });

  async function ready(): Promise<{ terminal: TestTerminal; device: Line; pos: Line }> {
    const terminal = await setup.terminal();
    const device = await setup.connect(terminal, till);
    return { terminal, device, pos: await setup.pos(await setup.tokenOf(till)) };
  }

  async function disable({ merchantId, storeId }: TestTerminal): Promise<void> {
    const scope = { organizationId: setup.organizationId };
    const body = { merchantId, name: 'Store', status: 'Disabled' };
    await setup.provisioning.stores.replace(scope, storeId, body);
  }

  /** Moves the terminal in one statement, because a terminal without a place would be disabled. */
  async function move({ physicalDeviceId }: TestTerminal, to: TestTerminal): Promise<void> {
    await setup.database.query(
      `UPDATE physical_devices SET logical_device_id = CASE physical_device_id
         WHEN $3 THEN $4::uuid END
       WHERE organization_id = $1 AND physical_device_id IN ($2, $3)`,
      [setup.organizationId, to.physicalDeviceId, physicalDeviceId, to.logicalDeviceId],
    );
    // This change invalidates the cached data of the terminals.
    const scope = { organizationId: setup.organizationId };
    await setup.provisioning.logicalDevices.linkPhysicalDevices(scope, to.logicalDeviceId, [
      physicalDeviceId,
    ]);
  }

  describe('of a device that registers', () => {
    for (const [what, message] of Object.entries({
      'no JSON': '{"tsn":',
      'no object': '[1]',
      'no serial number': '{"type":"register"}',
      'another message': '{"type":"claim","tsn":"AXIUM_DX8000-1"}',
      'a serial number of strange characters': '{"tsn":"a b"}',
    })) {
      it(`bad_message: ${what}`, async () => {
        const { error, code } = await refused(message);
        assert.deepEqual([error['code'], code], ['bad_message', 4400]);
      });
    }

    it('bad_message: binary', async () => {
      const line = await setup.open(connectorPaths.deviceListener);
      line.send(Buffer.from('{"tsn":"1"}'));
      assert.equal((await line.next())['error'].code, 'bad_message');
      assert.equal((await line.closed()).code, 4400);
    });

    it('unauthorized: no credentials, half of them, wrong ones', async () => {
      const { tsn } = await setup.terminal();
      for (const more of [
        {},
        { client_id: till.clientId },
        { ...credentials(), client_secret: 'wrong' },
        { client_id: 'nobody', client_secret: 'x' },
      ]) {
        const { error, code } = await refused({ type: 'register', tsn, ...more });
        assert.deepEqual([error['code'], code, error['retryable']], ['unauthorized', 4401, false]);
      }
    });

    it('role_missing: an application that neither claims nor is of devices', async () => {
      const { tsn } = await setup.terminal();
      const other = await setup.application({ roles: ['Merchant'] });
      const { error, code } = await refused({ tsn, ...credentials(other) });
      assert.deepEqual([error['code'], code], ['role_missing', 4403]);
    });

    it('device_unknown: the same for one that is not there and one of another tenant', async () => {
      const foreignTerminal = await createForeignTerminal(setup);
      const refusals = [];
      for (const tsn of [
        'AXIUM_DX8000-99999999',
        foreignTerminal.tsn,
        foreignTerminal.serialNumber,
      ]) {
        refusals.push(await refused({ tsn, ...credentials() }));
      }
      for (const { error, code } of refusals) {
        assert.deepEqual([error, code], [refusals[0]?.error, 4404]);
        assert.equal(error['code'], 'device_unknown');
      }
    });

    it('device_unknown: of another store than that of the credentials', async () => {
      const terminal = await setup.terminal();
      const beside = await setup.terminal({ merchantId: terminal.merchantId });
      const { merchantId, storeId } = beside;
      const merchantScope = { entityType: 'merchant', entityId: merchantId, merchantId, storeId };
      const client = await setup.application(merchantScope);
      const { error } = await refused({ tsn: terminal.tsn, ...credentials(client) });
      assert.equal(error['code'], 'device_unknown');
      await setup.connect(beside, client);
    });

    // Spec: CC-6
    it('tsn_ambiguous: a serial number of two organisations that know the credentials', async () => {
      const terminal = await setup.terminal();
      const { serialNumber, tsn } = terminal;
      const client = { clientId: `twice-${serialNumber}`, clientSecret: 's'.repeat(40) };
      await setup.application(client);
      await createForeignTerminal(setup, { serialNumber, model: 'EX8000', client });
      const { error, code } = await refused({ tsn: serialNumber, ...credentials(client) });
      assert.deepEqual([error['code'], code], ['tsn_ambiguous', 4406]);
      await setup.connect({ tsn }, client);
    });

    it('unavailable: a fault of ours, which passes', async () => {
      const { tsn } = await setup.terminal();
      const { presence } = setup.connector;
      const { register } = presence;
      presence.register = () => Promise.reject(new Error('the database is away'));
      const { line, answer } = await setup
        .register({ tsn, ...credentials() })
        .finally(() => Object.assign(presence, { register }));
      const { error, correlationId } = answer;
      assert.deepEqual([error.code, error.retryable], ['unavailable', true]);
      assert.deepEqual(await line.closed(), { code: 1011, reason: 'unavailable' });
      const logged = setup.logged.find((row) => row.includes('the database is away'));
      assert.ok(logged?.includes(correlationId), 'the log knows why');
      await setup.connect({ tsn }, till);
    });

    it('timeout: nothing in ten seconds', async () => {
      const line = await setup.open(connectorPaths.deviceListener);
      setup.clock.advance(10_000);
      assert.equal((await line.next())['error'].code, 'timeout');
      assert.equal((await line.closed()).code, 4408);
    });

    // Spec: CC-15
    it('device_disabled: its store is, or it has no place', async () => {
      const terminal = await setup.terminal();
      await disable(terminal);
      const refusedDevice = await refused({ tsn: terminal.tsn, ...credentials() });
      assert.deepEqual(
        [refusedDevice.error['code'], refusedDevice.code],
        ['device_disabled', 4423],
      );
      const { tsn } = await setup.createTerminal({ isLinked: false });
      assert.equal((await refused({ tsn, ...credentials() })).error['code'], 'device_disabled');
    });

    it('not_enabled: with the level, for a merchant, and for a store that came later', async () => {
      const terminal = await setup.createTerminal();
      const first = await refused({ tsn: terminal.tsn, ...credentials() });
      assert.deepEqual([first.error['code'], first.code], ['not_enabled', 4424]);
      assert.equal(first.error['level'], 'Merchant');
      await setup.activate(terminal);
      setup.clock.advance(1000);
      const later = await setup.createTerminal({ merchantId: terminal.merchantId });
      const second = await refused({ tsn: later.tsn, ...credentials() });
      assert.deepEqual([second.error['code'], second.error['level']], ['not_enabled', 'Store']);
    });

    it('not_subscribed: an organisation that has no such service', async () => {
      const foreignTerminal = await createForeignTerminal(setup);
      const { error, code } = await refused({
        tsn: foreignTerminal.tsn,
        ...credentials(foreignTerminal.client),
      });
      assert.deepEqual([error['code'], code], ['not_subscribed', 4424]);
    });

    // Spec: CC-23
    it('family_not_supported: an older family', async () => {
      const { tsn } = await setup.terminal({ family: 'telium' });
      const { error, code } = await refused({ tsn, ...credentials() });
      assert.deepEqual([error['code'], code], ['family_not_supported', 4424]);
    });
  });

  describe('of a certificate', () => {
    // Spec: CC-18
    it('unauthorized: of another terminal; the right one needs no credentials', async () => {
      const terminal = await setup.terminal();
      const other = await setup.terminal();
      const certificate = await setup.certify(terminal.physicalDeviceId);
      const { cert, key } = certificate;
      const wrong = await setup.register({ tsn: other.tsn }, { cert, key });
      assert.equal(wrong.answer['error'].code, 'unauthorized');
      const { answer } = await setup.register({ tsn: terminal.serialNumber }, { cert, key });
      assert.equal(answer['type'], 'registered', JSON.stringify(answer));
      const path = new URL(answer['connectionUrl']).pathname;
      const refusedConnection = await handshakeErrorOf(
        setup.open(path, { token: answer['token'] }),
      );
      assert.deepEqual(
        [refusedConnection.status, refusedConnection.body['code']],
        [401, 'token_invalid'],
      );
      const device = await setup.open(path, { token: answer['token'], cert, key });
      await setup.identity.devices.certificates.revoke(
        { organizationId: setup.organizationId },
        terminal.physicalDeviceId,
        certificate.thumbprint,
        'KeyCompromise',
      );
      assert.equal((await device.closed()).code, closeCodes.unauthorized);
    });
  });

  describe('of the connection of a device', () => {
    async function registered(): Promise<{ path: string; jwt: string; terminal: TestTerminal }> {
      const terminal = await setup.terminal();
      const { answer } = await setup.register({ tsn: terminal.tsn, ...credentials() });
      return { path: new URL(answer['connectionUrl']).pathname, jwt: answer['token'], terminal };
    }

    // Spec: CC-8
    it('the connector refuses a token that is used, expired, missing, or issued for another connection or purpose', async () => {
      const { path, jwt } = await registered();
      const elsewhere = await registered();
      await setup.open(path, { token: jwt });
      const replayed = await handshakeErrorOf(setup.open(path, { token: jwt }));
      assert.deepEqual([replayed.status, replayed.body['code']], [410, 'session_gone']);
      const wrong = await handshakeErrorOf(setup.open(elsewhere.path, { token: jwt }));
      assert.deepEqual([wrong.status, wrong.body['code']], [401, 'token_invalid']);
      const foreign = await handshakeErrorOf(setup.open(elsewhere.path, { token }));
      assert.equal(foreign.body['code'], 'token_invalid');
      assert.equal((await handshakeErrorOf(setup.open(path))).body['code'], 'token_missing');
      setup.clock.advance(126_000);
      const late = await handshakeErrorOf(setup.open(elsewhere.path, { token: elsewhere.jwt }));
      assert.deepEqual([late.status, late.body['code']], [401, 'token_expired']);
      assert.match(String(late.headers['www-authenticate']), /invalid_token/);
    });

    it('superseded: the newest connection wins, and older tokens are worth nothing', async () => {
      const terminal = await setup.terminal();
      const older = await setup.register({ tsn: terminal.tsn, ...credentials() });
      const first = await setup.connect(terminal, till);
      const second = await setup.connect(terminal, till);
      assert.equal((await first.closed()).code, closeCodes.superseded);
      const path = new URL(older.answer['connectionUrl']).pathname;
      const refusedConnection = await handshakeErrorOf(
        setup.open(path, { token: older.answer['token'] }),
      );
      assert.equal(refusedConnection.status, 410);
      assert.equal(second.socket.readyState, second.socket.OPEN);
    });

    it('device_disabled: while it is connected, and the session with it', async () => {
      const { terminal, device, pos } = await ready();
      const { line } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
      await disable(terminal);
      assert.equal((await device.closed()).code, closeCodes.deviceDisabled);
      assert.equal((await line.closed()).code, closeCodes.deviceDisabled);
      assert.equal((await claim(pos, terminal.tsn))['error'].code, 'device_disabled');
    });

    // Spec: NEXO-21
    it('1012: the connector disconnects a device that moves to another store, and its session; the device can reconnect there', async () => {
      const terminal = await setup.terminal();
      const { merchantId, storeId, tsn } = terminal;
      const scope = { entityType: 'merchant', entityId: merchantId, merchantId, storeId };
      const first = await setup.application(scope);
      const device = await setup.connect(terminal, first);
      const pos = await setup.pos(await setup.tokenOf(first));
      const { line } = await setup.session(pos, { tsn });
      const { answer } = await setup.register({ tsn, ...credentials(first) });
      const to = await setup.terminal({ merchantId });
      await move(terminal, to);
      assert.equal((await line.closed()).code, closeCodes.restarting);
      assert.deepEqual(await device.closed(), { code: closeCodes.restarting, reason: 'moved' });
      assert.equal(
        (await setup.ask(pos, { type: 'claim', requestId: 'm', tsn }))['error'].code,
        'wrong_store',
      );
      const path = new URL(answer['connectionUrl']).pathname;
      const late = await handshakeErrorOf(setup.open(path, { token: answer['token'] }));
      assert.deepEqual([late.status, late.body['code']], [410, 'session_gone']);
      const { error } = await refused({ tsn, ...credentials(first) });
      assert.equal(error['code'], 'device_unknown');
      const second = await setup.application({ ...scope, storeId: to.storeId });
      const reconnected = await setup.connect(terminal, second);
      const other = await setup.session(await setup.pos(await setup.tokenOf(second)), { tsn });
      other.line.send('here');
      assert.equal((await reconnected.raw()).data.toString(), 'here');
    });
  });

  describe('of a point of sale', () => {
    // Spec: CC-3
    it('401 with a challenge: no token of ours; 403: without the role', async () => {
      const bad = await handshakeErrorOf(setup.open(connectorPaths.posListener, { token: 'x' }));
      assert.deepEqual([bad.status, bad.body['code']], [401, 'token_invalid']);
      assert.match(String(bad.headers['www-authenticate']), /error="invalid_token"/);
      const missing = await handshakeErrorOf(
        setup.open(connectorPaths.posListener, { token: setup.token }),
      );
      assert.deepEqual([missing.status, missing.body['code']], [403, 'role_missing']);
    });

    // Spec: CC-21
    it('origin_not_allowed: a page; an application shell is let in', async () => {
      const headers = { origin: 'https://shop.example' };
      for (const path of [connectorPaths.posListener, connectorPaths.deviceListener]) {
        const { status, body } = await handshakeErrorOf(setup.open(path, { headers }));
        assert.deepEqual([status, body['code']], [403, 'origin_not_allowed']);
        assert.equal(
          (await handshakeErrorOf(setup.open(path, { headers, token: 'x' }))).status,
          403,
        );
        (await setup.open(path, { headers, token: await setup.tokenOf(till) })).close();
      }
    });

    it('bad_message: and the connection ends', async () => {
      for (const message of [
        '{"type":"claim"',
        '{"type":"dance","requestId":"1"}',
        '{"type":"claim","requestId":"1","tsn":"1","waitSeconds":31}',
        '{"type":"toString","requestId":"1"}',
      ]) {
        const pos = await setup.pos(await setup.tokenOf(till));
        pos.send(message);
        assert.equal((await pos.next())['error'].code, 'bad_message');
        assert.equal((await pos.closed()).code, 4400);
      }
    });

    it('device_unknown: the same for one that is not there and one of another tenant', async () => {
      const foreignTerminal = await createForeignTerminal(setup);
      const pos = await setup.pos(await setup.tokenOf(till));
      const [a, b] = [
        await claim(pos, 'AXIUM_DX8000-99999999'),
        await claim(pos, foreignTerminal.tsn),
      ];
      assert.deepEqual(a['error'], b['error']);
      assert.equal(a['error'].code, 'device_unknown');
      const statusAnswer = await setup.ask(pos, {
        type: 'status',
        requestId: 's',
        tsn: foreignTerminal.tsn,
      });
      assert.equal(statusAnswer['error'].code, 'device_unknown');
    });

    // Spec: CC-19
    it('wrong_store: of the same merchant', async () => {
      const terminal = await setup.terminal();
      const beside = await setup.terminal({ merchantId: terminal.merchantId });
      const { merchantId, storeId } = terminal;
      const merchantScope = { entityType: 'merchant', entityId: merchantId, merchantId, storeId };
      const pos = await setup.pos(await setup.tokenOf(await setup.application(merchantScope)));
      assert.equal((await claim(pos, beside.tsn))['error'].code, 'wrong_store');
      assert.equal((await claim(pos, terminal.tsn))['error'].code, 'device_offline');
    });

    it('device_offline: at once, and after a wait', async () => {
      const { tsn } = await setup.terminal();
      const pos = await setup.pos(await setup.tokenOf(till));
      const { error } = await claim(pos, tsn);
      assert.deepEqual(
        [error.code, error.retryable, error.retryAfterSeconds],
        ['device_offline', true, 5],
      );
      let refusals: Json = {};
      const waiting = claim(pos, tsn, { waitSeconds: 1 }).then((answer) => {
        refusals = answer;
      });
      await eventually('it gives up', () => {
        setup.clock.advance(50);
        return refusals['type'] === 'error';
      });
      await waiting;
      assert.equal(refusals['error'].code, 'device_offline');
    });

    it('unavailable: an internal error fails the claim, and the connection stays open', async () => {
      const { terminal, pos } = await ready();
      const { backplane } = setup.connector;
      const { request } = backplane;
      backplane.request = () => Promise.reject(new Error('the database is away'));
      const { error } = await claim(pos, terminal.tsn).finally(() => {
        backplane.request = request;
      });
      assert.deepEqual([error.code, error.retryable], ['unavailable', true]);
      assert.equal((await claim(pos, terminal.tsn))['type'], 'claimed');
    });

    it('a claim waits until the device connects', async () => {
      const terminal = await setup.terminal();
      const pos = await setup.pos(await setup.tokenOf(till));
      const waiting = claim(pos, terminal.tsn, { waitSeconds: 30 });
      await setup.connect(terminal, till);
      assert.equal((await waiting)['type'], 'claimed');
    });

    // Spec: CC-20
    it('device_claimed, pos_id_required, too_many_claims', async () => {
      const { terminal, pos } = await ready();
      await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
      const { error } = await claim(pos, terminal.tsn, {
        posId: 'p2',
        takeOver: true,
        force: true,
      });
      assert.deepEqual([error.code, error.retryAfterSeconds], ['device_claimed', 5]);
      assert.ok(!JSON.stringify(error).includes('p1'));
      const unnamed = await setup.ask(pos, { type: 'claim', requestId: 'u', tsn: terminal.tsn });
      assert.equal(unnamed['error'].code, 'pos_id_required');
      const { tsn } = await setup.terminal();
      const waiting = { type: 'claim', tsn, posId: 'p1', waitSeconds: 30 };
      for (let n = 0; n < 64; n += 1) pos.send({ ...waiting, requestId: `w${n}` });
      const beyond = await setup.ask(pos, { ...waiting, requestId: 'beyond' });
      assert.equal(beyond['error'].code, 'too_many_claims');
    });

    // Spec: CC-4
    it('session_gone: an address that was used, has expired, or never was', async () => {
      const { terminal, pos } = await ready();
      const { claimed } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
      const path = new URL(claimed['sessionUrl']).pathname;
      const used = await handshakeErrorOf(setup.open(path));
      assert.deepEqual([used.status, used.body['code']], [410, 'session_gone']);
      const made = `${connectorPaths.sessions}/${'A'.repeat(43)}`;
      assert.equal((await handshakeErrorOf(setup.open(made))).status, 410);
      const other = await ready();
      const unused = await claim(other.pos, other.terminal.tsn);
      const foreign = await setup.tokenOf(await setup.application());
      const sessionPath = new URL(unused['sessionUrl']).pathname;
      assert.equal(
        (await handshakeErrorOf(setup.open(sessionPath, { token: foreign }))).status,
        410,
      );
      setup.clock.advance(60_000);
      assert.equal((await handshakeErrorOf(setup.open(sessionPath))).status, 410);
      assert.equal(
        (await claim(other.pos, other.terminal.tsn, { posId: 'p2' }))['type'],
        'claimed',
      );
    });

    it('timeout: no claim in a minute', async () => {
      const pos = await setup.pos(await setup.tokenOf(till));
      setup.clock.advance(60_000);
      assert.equal((await pos.next())['error'].code, 'timeout');
      assert.equal((await pos.closed()).code, 4408);
    });

    it('token_expired: unless it is renewed in time; open sessions live on', async () => {
      const { terminal, device, pos } = await ready();
      const { line } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
      setup.clock.advance(hour / 2);
      const fresh = await setup.tokenOf(till);
      const renewed = await setup.ask(pos, { type: 'renewToken', requestId: 'n', token: fresh });
      assert.equal(renewed['type'], 'tokenRenewed');
      assert.ok(renewed['expiresIn'] > 3000);
      const others = await setup.tokenOf(await setup.application());
      const foreign = await setup.ask(pos, { type: 'renewToken', requestId: 'f', token: others });
      assert.equal(foreign['error'].code, 'unauthorized');
      setup.clock.advance(hour / 2 + 60_000);
      assert.equal(pos.socket.readyState, pos.socket.OPEN);
      setup.clock.advance(hour);
      const { code } = await pos.closed();
      assert.equal(code, closeCodes.tokenExpired);
      line.send('still here');
      assert.equal((await device.raw()).data.toString(), 'still here');
    });

    it('unauthorized: an application that is disabled loses its connections', async () => {
      const terminal = await setup.terminal();
      await setup.connect(terminal, till);
      const client = await setup.application();
      const pos = await setup.pos(await setup.tokenOf(client));
      const { line } = await setup.session(pos, { tsn: terminal.tsn, posId: 'p1' });
      await setup.identity.setApplicationStatus(setup.organizationId, client.clientId, 'Disabled');
      assert.equal((await pos.closed()).code, closeCodes.unauthorized);
      assert.equal((await line.closed()).code, closeCodes.unauthorized);
    });

    // Spec: NEXO-15
    it('unauthorized: a token that is revoked takes its sessions with it, and no others', async () => {
      const client = await setup.application();
      const { clientId: client_id, clientSecret: client_secret } = client;
      const open = async (posId: string) => {
        const terminal = await setup.terminal();
        const device = await setup.connect(terminal, till);
        const posToken = await setup.tokenOf(client);
        const pos = await setup.pos(posToken);
        const { line } = await setup.session(pos, { tsn: terminal.tsn, posId });
        return { terminal, device, pos, posToken, line };
      };
      const [revoked, staying] = [await open('p1'), await open('p2')];
      const path = `/auth/realms/${setup.userDomainId}/protocol/openid-connect/revoke`;
      const form = { token: revoked.posToken, client_id, client_secret };
      assert.equal((await setup.api(path, { form })).status, 200);
      assert.equal((await revoked.pos.closed()).code, closeCodes.unauthorized);
      const { code, reason } = await revoked.line.closed();
      assert.equal(code, closeCodes.unauthorized);
      assert.match(reason, /^unauthorized:/);
      // The device is free for a new claim, and the other token stays valid.
      const { tsn } = revoked.terminal;
      assert.equal((await claim(staying.pos, tsn, { posId: 'p2' }))['type'], 'claimed');
      staying.line.send('still here');
      assert.equal((await staying.device.raw()).data.toString(), 'still here');
    });

    it('unauthorized: the connector closes the connection of a disabled application while a catalog query is still pending', async (t) => {
      const terminal = await setup.terminal();
      await setup.connect(terminal, till);
      const client = await setup.application();
      const pos = await setup.pos(await setup.tokenOf(client));
      const { findDevicesWithService: activeAt } = setup.catalog;
      const { promise: released, resolve } = Promise.withResolvers<void>();
      t.after(() => {
        Object.assign(setup.catalog, { activeAt });
        resolve();
      });
      let catalogCalls = 0;
      setup.catalog.findDevicesWithService = async (...parameters) => {
        catalogCalls += 1;
        await released;
        return activeAt(...parameters);
      };
      await eventually('the question about devices', () => catalogCalls > 0);
      await setup.identity.setApplicationStatus(setup.organizationId, client.clientId, 'Disabled');
      assert.equal((await pos.closed()).code, closeCodes.unauthorized);
      assert.equal(catalogCalls, 1);
    });

    it('unauthorized: a device goes with the application that it registered by, and no other does', async () => {
      const terminal = await setup.terminal();
      const staying = await setup.connect(await setup.terminal(), till);
      const client = await setup.application();
      const device = await setup.connect(terminal, client);
      const { answer } = await setup.register({ tsn: terminal.tsn, ...credentials(client) });
      await setup.identity.setApplicationStatus(setup.organizationId, client.clientId, 'Disabled');
      assert.equal((await device.closed()).code, closeCodes.unauthorized);
      const path = new URL(answer['connectionUrl']).pathname;
      const late = await handshakeErrorOf(setup.open(path, { token: answer['token'] }));
      assert.deepEqual([late.status, late.body['code']], [401, 'token_invalid']);
      assert.equal(staying.socket.readyState, staying.socket.OPEN);
    });

    // Spec: NEXO-10
    it('role_missing: with its role an application loses its devices, sessions and connections', async () => {
      const [claimantTerminal, later, otherTerminal] = [
        await setup.terminal(),
        await setup.terminal(),
        await setup.terminal(),
      ];
      const staying = await setup.connect(otherTerminal, till);
      const client = await setup.application();
      const device = await setup.connect(claimantTerminal, client);
      const posToken = await setup.tokenOf(client);
      const pos = await setup.pos(posToken);
      const { line } = await setup.session(pos, { tsn: otherTerminal.tsn, posId: 'p1' });
      const { answer } = await setup.register({ tsn: later.tsn, ...credentials(client) });
      // Changes the role as another process does; this process sees it when its cache entry
      // expires.
      await setup.database.query(
        `UPDATE applications SET roles = '["Merchant"]'::jsonb
         WHERE organization_id = $1 AND client_id = $2`,
        [setup.organizationId, client.clientId],
      );
      setup.clock.advance(6_000);
      for (const one of [device, pos, line]) {
        assert.equal((await one.closed()).code, closeCodes.roleMissing);
      }
      const path = new URL(answer['connectionUrl']).pathname;
      for (const open of [
        () => setup.open(path, { token: answer['token'] }),
        () => setup.pos(posToken),
      ]) {
        const { status, body } = await handshakeErrorOf(open());
        assert.deepEqual([status, body['code']], [403, 'role_missing']);
      }
      assert.equal(staying.socket.readyState, staying.socket.OPEN);
    });

    it('rate_limited: the connector disconnects a point of sale that sends too many requests', async () => {
      const { tsn } = await setup.terminal();
      const pos = await setup.pos(await setup.tokenOf(till));
      for (let n = 0; n < 300; n += 1) pos.send({ type: 'status', requestId: String(n), tsn });
      assert.equal((await pos.closed()).code, closeCodes.rateLimited);
      await eventually('it is counted', async () =>
        (await setup.metrics.registry.metrics()).includes('code="rate_limited"'),
      );
    });
  });
});
