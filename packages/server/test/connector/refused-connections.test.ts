// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// The errors of the connector: each row of its error table, over real WebSockets.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeCodes, connectorPaths } from '@switchyard/contract';
import type { Place } from '../support/provisioning/test-devices.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { stranger } from './second-organization.ts';
import {
  type Client,
  type ConnectorScene,
  type Json,
  type Line,
  openConnector,
  refusal,
} from './test-connector.ts';

const hour = 3_600_000;

describe('what the connector refuses', () => {
  let on: ConnectorScene;
  let till: Client;
  let token: string;

  before(async () => {
    on = await openConnector({ times: { idleMs: 10 * hour } });
    till = await on.application();
    token = await on.tokenOf(till);
  });
  after(() => on.close());

  const credentials = ({ clientId, clientSecret }: Client = till) => ({
    client_id: clientId,
    client_secret: clientSecret,
  });

  /** The error of a registration, and the close code. */
  async function refused(message: Json | string): Promise<{ error: Json; code: number }> {
    const { line, answer } = await on.register(message);
    const { code, reason } = await line.closed();
    assert.equal(answer['type'], 'error', JSON.stringify(answer));
    assert.equal(reason, `${answer['error'].code}:${answer['correlationId']}`);
    assert.ok(Buffer.byteLength(reason) <= 123);
    return { error: answer['error'], code };
  }

  const claim = (pos: Line, tsn: string, more: Json = {}) =>
    on.ask(pos, { type: 'claim', requestId: 'c', tsn, posId: 'p1', ...more });

  async function ready(): Promise<{ place: Place; device: Line; pos: Line }> {
    const place = await on.terminal();
    const device = await on.connect(place, till);
    return { place, device, pos: await on.pos(await on.tokenOf(till)) };
  }

  async function disable({ merchantId, storeId }: Place): Promise<void> {
    const scope = { organizationId: on.organizationId };
    const body = { merchantId, name: 'Store', status: 'Disabled' };
    await on.provisioning.stores.replace(scope, storeId, body);
  }

  /** Moves the terminal in one statement, because a terminal without a place would be disabled. */
  async function move({ physicalDeviceId }: Place, to: Place): Promise<void> {
    await on.database.query(
      `UPDATE physical_devices SET logical_device_id = CASE physical_device_id
         WHEN $3 THEN $4::uuid END
       WHERE organization_id = $1 AND physical_device_id IN ($2, $3)`,
      [on.organizationId, to.physicalDeviceId, physicalDeviceId, to.logicalDeviceId],
    );
    // This change invalidates the cached data of the terminals.
    const scope = { organizationId: on.organizationId };
    await on.provisioning.logicalDevices.linkPhysicalDevices(scope, to.logicalDeviceId, [
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
      const line = await on.open(connectorPaths.deviceListener);
      line.send(Buffer.from('{"tsn":"1"}'));
      assert.equal((await line.next())['error'].code, 'bad_message');
      assert.equal((await line.closed()).code, 4400);
    });

    it('unauthorized: no credentials, half of them, wrong ones', async () => {
      const { tsn } = await on.terminal();
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
      const { tsn } = await on.terminal();
      const other = await on.application({ roles: ['Merchant'] });
      const { error, code } = await refused({ tsn, ...credentials(other) });
      assert.deepEqual([error['code'], code], ['role_missing', 4403]);
    });

    it('device_unknown: the same for one that is not there and one of another tenant', async () => {
      const theirs = await stranger(on);
      const told = [];
      for (const tsn of ['AXIUM_DX8000-99999999', theirs.tsn, theirs.serialNumber]) {
        told.push(await refused({ tsn, ...credentials() }));
      }
      for (const { error, code } of told) {
        assert.deepEqual([error, code], [told[0]?.error, 4404]);
        assert.equal(error['code'], 'device_unknown');
      }
    });

    it('device_unknown: of another store than that of the credentials', async () => {
      const place = await on.terminal();
      const beside = await on.terminal({ merchantId: place.merchantId });
      const { merchantId, storeId } = beside;
      const own = { entityType: 'merchant', entityId: merchantId, merchantId, storeId };
      const client = await on.application(own);
      const { error } = await refused({ tsn: place.tsn, ...credentials(client) });
      assert.equal(error['code'], 'device_unknown');
      await on.connect(beside, client);
    });

    it('tsn_ambiguous: a serial number of two organisations that know the credentials', async () => {
      const place = await on.terminal();
      const { serialNumber, tsn } = place;
      const client = { clientId: `twice-${serialNumber}`, clientSecret: 's'.repeat(40) };
      await on.application(client);
      await stranger(on, { serialNumber, model: 'EX8000', client });
      const { error, code } = await refused({ tsn: serialNumber, ...credentials(client) });
      assert.deepEqual([error['code'], code], ['tsn_ambiguous', 4406]);
      await on.connect({ tsn }, client);
    });

    it('unavailable: a fault of ours, which passes', async () => {
      const { tsn } = await on.terminal();
      const { presence } = on.connector;
      const { register } = presence;
      presence.register = () => Promise.reject(new Error('the database is away'));
      const { line, answer } = await on
        .register({ tsn, ...credentials() })
        .finally(() => Object.assign(presence, { register }));
      const { error, correlationId } = answer;
      assert.deepEqual([error.code, error.retryable], ['unavailable', true]);
      assert.deepEqual(await line.closed(), { code: 1011, reason: 'unavailable' });
      const logged = on.logged.find((row) => row.includes('the database is away'));
      assert.ok(logged?.includes(correlationId), 'the log knows why');
      await on.connect({ tsn }, till);
    });

    it('timeout: nothing in ten seconds', async () => {
      const line = await on.open(connectorPaths.deviceListener);
      on.clock.advance(10_000);
      assert.equal((await line.next())['error'].code, 'timeout');
      assert.equal((await line.closed()).code, 4408);
    });

    it('device_disabled: its store is, or it has no place', async () => {
      const place = await on.terminal();
      await disable(place);
      const told = await refused({ tsn: place.tsn, ...credentials() });
      assert.deepEqual([told.error['code'], told.code], ['device_disabled', 4423]);
      const { tsn } = await on.place({ isLinked: false });
      assert.equal((await refused({ tsn, ...credentials() })).error['code'], 'device_disabled');
    });

    it('not_enabled: with the level, for a merchant, and for a store that came later', async () => {
      const place = await on.place();
      const first = await refused({ tsn: place.tsn, ...credentials() });
      assert.deepEqual([first.error['code'], first.code], ['not_enabled', 4424]);
      assert.equal(first.error['level'], 'Merchant');
      await on.activate(place);
      on.clock.advance(1000);
      const later = await on.place({ merchantId: place.merchantId });
      const second = await refused({ tsn: later.tsn, ...credentials() });
      assert.deepEqual([second.error['code'], second.error['level']], ['not_enabled', 'Store']);
    });

    it('not_subscribed: an organisation that has no such service', async () => {
      const theirs = await stranger(on);
      const { error, code } = await refused({ tsn: theirs.tsn, ...credentials(theirs.client) });
      assert.deepEqual([error['code'], code], ['not_subscribed', 4424]);
    });

    it('family_not_supported: an older family', async () => {
      const { tsn } = await on.terminal({ family: 'telium' });
      const { error, code } = await refused({ tsn, ...credentials() });
      assert.deepEqual([error['code'], code], ['family_not_supported', 4424]);
    });
  });

  describe('of a certificate', () => {
    it('unauthorized: of another terminal; the right one needs no credentials', async () => {
      const place = await on.terminal();
      const other = await on.terminal();
      const shown = await on.certify(place.physicalDeviceId);
      const { cert, key } = shown;
      const wrong = await on.register({ tsn: other.tsn }, { cert, key });
      assert.equal(wrong.answer['error'].code, 'unauthorized');
      const { answer } = await on.register({ tsn: place.serialNumber }, { cert, key });
      assert.equal(answer['type'], 'registered', JSON.stringify(answer));
      const path = new URL(answer['connectionUrl']).pathname;
      const bare = await refusal(on.open(path, { token: answer['token'] }));
      assert.deepEqual([bare.status, bare.body['code']], [401, 'token_invalid']);
      const device = await on.open(path, { token: answer['token'], cert, key });
      await on.identity.devices.certificates.revoke(
        { organizationId: on.organizationId },
        place.physicalDeviceId,
        shown.thumbprint,
        'KeyCompromise',
      );
      assert.equal((await device.closed()).code, closeCodes.unauthorized);
    });
  });

  describe('of the connection of a device', () => {
    async function registered(): Promise<{ path: string; jwt: string; place: Place }> {
      const place = await on.terminal();
      const { answer } = await on.register({ tsn: place.tsn, ...credentials() });
      return { path: new URL(answer['connectionUrl']).pathname, jwt: answer['token'], place };
    }

    it('a token that was used, of another connection, expired, or none of ours', async () => {
      const { path, jwt } = await registered();
      const elsewhere = await registered();
      await on.open(path, { token: jwt });
      const replayed = await refusal(on.open(path, { token: jwt }));
      assert.deepEqual([replayed.status, replayed.body['code']], [410, 'session_gone']);
      const wrong = await refusal(on.open(elsewhere.path, { token: jwt }));
      assert.deepEqual([wrong.status, wrong.body['code']], [401, 'token_invalid']);
      const foreign = await refusal(on.open(elsewhere.path, { token }));
      assert.equal(foreign.body['code'], 'token_invalid');
      assert.equal((await refusal(on.open(path))).body['code'], 'token_missing');
      on.clock.advance(126_000);
      const late = await refusal(on.open(elsewhere.path, { token: elsewhere.jwt }));
      assert.deepEqual([late.status, late.body['code']], [401, 'token_expired']);
      assert.match(String(late.headers['www-authenticate']), /invalid_token/);
    });

    it('superseded: the newest connection wins, and older tokens are worth nothing', async () => {
      const place = await on.terminal();
      const older = await on.register({ tsn: place.tsn, ...credentials() });
      const first = await on.connect(place, till);
      const second = await on.connect(place, till);
      assert.equal((await first.closed()).code, closeCodes.superseded);
      const path = new URL(older.answer['connectionUrl']).pathname;
      const gone = await refusal(on.open(path, { token: older.answer['token'] }));
      assert.equal(gone.status, 410);
      assert.equal(second.socket.readyState, second.socket.OPEN);
    });

    it('device_disabled: while it is connected, and the session with it', async () => {
      const { place, device, pos } = await ready();
      const { line } = await on.session(pos, { tsn: place.tsn, posId: 'p1' });
      await disable(place);
      assert.equal((await device.closed()).code, closeCodes.deviceDisabled);
      assert.equal((await line.closed()).code, closeCodes.deviceDisabled);
      assert.equal((await claim(pos, place.tsn))['error'].code, 'device_disabled');
    });

    it('1012: one that is taken to another store, and its session; it comes back where it may', async () => {
      const place = await on.terminal();
      const { merchantId, storeId, tsn } = place;
      const scope = { entityType: 'merchant', entityId: merchantId, merchantId, storeId };
      const first = await on.application(scope);
      const device = await on.connect(place, first);
      const pos = await on.pos(await on.tokenOf(first));
      const { line } = await on.session(pos, { tsn });
      const { answer } = await on.register({ tsn, ...credentials(first) });
      const to = await on.terminal({ merchantId });
      await move(place, to);
      assert.equal((await line.closed()).code, closeCodes.restarting);
      assert.deepEqual(await device.closed(), { code: closeCodes.restarting, reason: 'moved' });
      assert.equal(
        (await on.ask(pos, { type: 'claim', requestId: 'm', tsn }))['error'].code,
        'wrong_store',
      );
      const path = new URL(answer['connectionUrl']).pathname;
      const late = await refusal(on.open(path, { token: answer['token'] }));
      assert.deepEqual([late.status, late.body['code']], [410, 'session_gone']);
      const { error } = await refused({ tsn, ...credentials(first) });
      assert.equal(error['code'], 'device_unknown');
      const second = await on.application({ ...scope, storeId: to.storeId });
      const back = await on.connect(place, second);
      const other = await on.session(await on.pos(await on.tokenOf(second)), { tsn });
      other.line.send('here');
      assert.equal((await back.raw()).data.toString(), 'here');
    });
  });

  describe('of a point of sale', () => {
    it('401 with a challenge: no token of ours; 403: without the role', async () => {
      const bad = await refusal(on.open(connectorPaths.posListener, { token: 'x' }));
      assert.deepEqual([bad.status, bad.body['code']], [401, 'token_invalid']);
      assert.match(String(bad.headers['www-authenticate']), /error="invalid_token"/);
      const missing = await refusal(on.open(connectorPaths.posListener, { token: on.token }));
      assert.deepEqual([missing.status, missing.body['code']], [403, 'role_missing']);
    });

    it('origin_not_allowed: a page; an application shell is let in', async () => {
      const headers = { origin: 'https://shop.example' };
      for (const path of [connectorPaths.posListener, connectorPaths.deviceListener]) {
        const { status, body } = await refusal(on.open(path, { headers }));
        assert.deepEqual([status, body['code']], [403, 'origin_not_allowed']);
        assert.equal((await refusal(on.open(path, { headers, token: 'x' }))).status, 403);
        (await on.open(path, { headers, token: await on.tokenOf(till) })).close();
      }
    });

    it('bad_message: and the connection ends', async () => {
      for (const message of [
        '{"type":"claim"',
        '{"type":"dance","requestId":"1"}',
        '{"type":"claim","requestId":"1","tsn":"1","waitSeconds":31}',
        '{"type":"toString","requestId":"1"}',
      ]) {
        const pos = await on.pos(await on.tokenOf(till));
        pos.send(message);
        assert.equal((await pos.next())['error'].code, 'bad_message');
        assert.equal((await pos.closed()).code, 4400);
      }
    });

    it('device_unknown: the same for one that is not there and one of another tenant', async () => {
      const theirs = await stranger(on);
      const pos = await on.pos(await on.tokenOf(till));
      const [a, b] = [await claim(pos, 'AXIUM_DX8000-99999999'), await claim(pos, theirs.tsn)];
      assert.deepEqual(a['error'], b['error']);
      assert.equal(a['error'].code, 'device_unknown');
      const asked = await on.ask(pos, { type: 'status', requestId: 's', tsn: theirs.tsn });
      assert.equal(asked['error'].code, 'device_unknown');
    });

    it('wrong_store: of the same merchant', async () => {
      const place = await on.terminal();
      const beside = await on.terminal({ merchantId: place.merchantId });
      const { merchantId, storeId } = place;
      const own = { entityType: 'merchant', entityId: merchantId, merchantId, storeId };
      const pos = await on.pos(await on.tokenOf(await on.application(own)));
      assert.equal((await claim(pos, beside.tsn))['error'].code, 'wrong_store');
      assert.equal((await claim(pos, place.tsn))['error'].code, 'device_offline');
    });

    it('device_offline: at once, and after a wait', async () => {
      const { tsn } = await on.terminal();
      const pos = await on.pos(await on.tokenOf(till));
      const { error } = await claim(pos, tsn);
      assert.deepEqual(
        [error.code, error.retryable, error.retryAfterSeconds],
        ['device_offline', true, 5],
      );
      let told: Json = {};
      const waiting = claim(pos, tsn, { waitSeconds: 1 }).then((answer) => {
        told = answer;
      });
      await eventually('it gives up', () => {
        on.clock.advance(50);
        return told['type'] === 'error';
      });
      await waiting;
      assert.equal(told['error'].code, 'device_offline');
    });

    it('unavailable: a fault of ours, and the connection goes on', async () => {
      const { place, pos } = await ready();
      const { backplane } = on.connector;
      const { request } = backplane;
      backplane.request = () => Promise.reject(new Error('the database is away'));
      const { error } = await claim(pos, place.tsn).finally(() => {
        backplane.request = request;
      });
      assert.deepEqual([error.code, error.retryable], ['unavailable', true]);
      assert.equal((await claim(pos, place.tsn))['type'], 'claimed');
    });

    it('waits for a device that comes', async () => {
      const place = await on.terminal();
      const pos = await on.pos(await on.tokenOf(till));
      const waiting = claim(pos, place.tsn, { waitSeconds: 30 });
      await on.connect(place, till);
      assert.equal((await waiting)['type'], 'claimed');
    });

    it('device_claimed, pos_id_required, too_many_claims', async () => {
      const { place, pos } = await ready();
      await on.session(pos, { tsn: place.tsn, posId: 'p1' });
      const { error } = await claim(pos, place.tsn, { posId: 'p2', takeOver: true, force: true });
      assert.deepEqual([error.code, error.retryAfterSeconds], ['device_claimed', 5]);
      assert.ok(!JSON.stringify(error).includes('p1'));
      const unnamed = await on.ask(pos, { type: 'claim', requestId: 'u', tsn: place.tsn });
      assert.equal(unnamed['error'].code, 'pos_id_required');
      const { tsn } = await on.terminal();
      const waiting = { type: 'claim', tsn, posId: 'p1', waitSeconds: 30 };
      for (let n = 0; n < 64; n += 1) pos.send({ ...waiting, requestId: `w${n}` });
      const beyond = await on.ask(pos, { ...waiting, requestId: 'beyond' });
      assert.equal(beyond['error'].code, 'too_many_claims');
    });

    it('session_gone: an address that was used, has expired, or never was', async () => {
      const { place, pos } = await ready();
      const { claimed } = await on.session(pos, { tsn: place.tsn, posId: 'p1' });
      const path = new URL(claimed['sessionUrl']).pathname;
      const used = await refusal(on.open(path));
      assert.deepEqual([used.status, used.body['code']], [410, 'session_gone']);
      const made = `${connectorPaths.sessions}/${'A'.repeat(43)}`;
      assert.equal((await refusal(on.open(made))).status, 410);
      const other = await ready();
      const unused = await claim(other.pos, other.place.tsn);
      const foreign = await on.tokenOf(await on.application());
      const sessionPath = new URL(unused['sessionUrl']).pathname;
      assert.equal((await refusal(on.open(sessionPath, { token: foreign }))).status, 410);
      on.clock.advance(60_000);
      assert.equal((await refusal(on.open(sessionPath))).status, 410);
      assert.equal((await claim(other.pos, other.place.tsn, { posId: 'p2' }))['type'], 'claimed');
    });

    it('timeout: no claim in a minute', async () => {
      const pos = await on.pos(await on.tokenOf(till));
      on.clock.advance(60_000);
      assert.equal((await pos.next())['error'].code, 'timeout');
      assert.equal((await pos.closed()).code, 4408);
    });

    it('token_expired: unless it is renewed in time; open sessions live on', async () => {
      const { place, device, pos } = await ready();
      const { line } = await on.session(pos, { tsn: place.tsn, posId: 'p1' });
      on.clock.advance(hour / 2);
      const fresh = await on.tokenOf(till);
      const renewed = await on.ask(pos, { type: 'renewToken', requestId: 'n', token: fresh });
      assert.equal(renewed['type'], 'tokenRenewed');
      assert.ok(renewed['expiresIn'] > 3000);
      const others = await on.tokenOf(await on.application());
      const foreign = await on.ask(pos, { type: 'renewToken', requestId: 'f', token: others });
      assert.equal(foreign['error'].code, 'unauthorized');
      on.clock.advance(hour / 2 + 60_000);
      assert.equal(pos.socket.readyState, pos.socket.OPEN);
      on.clock.advance(hour);
      const { code } = await pos.closed();
      assert.equal(code, closeCodes.tokenExpired);
      line.send('still here');
      assert.equal((await device.raw()).data.toString(), 'still here');
    });

    it('unauthorized: an application that is disabled loses its connections', async () => {
      const place = await on.terminal();
      await on.connect(place, till);
      const client = await on.application();
      const pos = await on.pos(await on.tokenOf(client));
      const { line } = await on.session(pos, { tsn: place.tsn, posId: 'p1' });
      await on.identity.disableApplication(on.organizationId, client.clientId);
      assert.equal((await pos.closed()).code, closeCodes.unauthorized);
      assert.equal((await line.closed()).code, closeCodes.unauthorized);
    });

    it('unauthorized: a token that is revoked takes its sessions with it, and no others', async () => {
      const client = await on.application();
      const { clientId: client_id, clientSecret: client_secret } = client;
      const open = async (posId: string) => {
        const place = await on.terminal();
        const device = await on.connect(place, till);
        const posToken = await on.tokenOf(client);
        const pos = await on.pos(posToken);
        const { line } = await on.session(pos, { tsn: place.tsn, posId });
        return { place, device, pos, posToken, line };
      };
      const [gone, staying] = [await open('p1'), await open('p2')];
      const path = `/auth/realms/${on.userDomainId}/protocol/openid-connect/revoke`;
      const form = { token: gone.posToken, client_id, client_secret };
      assert.equal((await on.api(path, { form })).status, 200);
      assert.equal((await gone.pos.closed()).code, closeCodes.unauthorized);
      const { code, reason } = await gone.line.closed();
      assert.equal(code, closeCodes.unauthorized);
      assert.match(reason, /^unauthorized:/);
      // The device is free for a new claim, and the other token stays valid.
      const { tsn } = gone.place;
      assert.equal((await claim(staying.pos, tsn, { posId: 'p2' }))['type'], 'claimed');
      staying.line.send('still here');
      assert.equal((await staying.device.raw()).data.toString(), 'still here');
    });

    it('unauthorized: however long it takes to ask about devices', async (t) => {
      const place = await on.terminal();
      await on.connect(place, till);
      const client = await on.application();
      const pos = await on.pos(await on.tokenOf(client));
      const { findDevicesWithService: activeAt } = on.catalog;
      const { promise: held, resolve } = Promise.withResolvers<void>();
      t.after(() => {
        Object.assign(on.catalog, { activeAt });
        resolve();
      });
      let asked = 0;
      on.catalog.findDevicesWithService = async (...of) => {
        asked += 1;
        await held;
        return activeAt(...of);
      };
      await eventually('the question about devices', () => asked > 0);
      await on.identity.disableApplication(on.organizationId, client.clientId);
      assert.equal((await pos.closed()).code, closeCodes.unauthorized);
      assert.equal(asked, 1);
    });

    it('unauthorized: a device goes with the application that it registered by, and no other does', async () => {
      const place = await on.terminal();
      const staying = await on.connect(await on.terminal(), till);
      const client = await on.application();
      const device = await on.connect(place, client);
      const { answer } = await on.register({ tsn: place.tsn, ...credentials(client) });
      await on.identity.disableApplication(on.organizationId, client.clientId);
      assert.equal((await device.closed()).code, closeCodes.unauthorized);
      const path = new URL(answer['connectionUrl']).pathname;
      const late = await refusal(on.open(path, { token: answer['token'] }));
      assert.deepEqual([late.status, late.body['code']], [401, 'token_invalid']);
      assert.equal(staying.socket.readyState, staying.socket.OPEN);
    });

    it('role_missing: with its role an application loses its devices, sessions and connections', async () => {
      const [own, later, theirs] = [await on.terminal(), await on.terminal(), await on.terminal()];
      const staying = await on.connect(theirs, till);
      const client = await on.application();
      const device = await on.connect(own, client);
      const posToken = await on.tokenOf(client);
      const pos = await on.pos(posToken);
      const { line } = await on.session(pos, { tsn: theirs.tsn, posId: 'p1' });
      const { answer } = await on.register({ tsn: later.tsn, ...credentials(client) });
      // Changes the role as another process does; this process sees it when its cache entry
      // expires.
      await on.database.query(
        `UPDATE applications SET roles = '["Merchant"]'::jsonb
         WHERE organization_id = $1 AND client_id = $2`,
        [on.organizationId, client.clientId],
      );
      on.clock.advance(6_000);
      for (const one of [device, pos, line]) {
        assert.equal((await one.closed()).code, closeCodes.roleMissing);
      }
      const path = new URL(answer['connectionUrl']).pathname;
      for (const open of [
        () => on.open(path, { token: answer['token'] }),
        () => on.pos(posToken),
      ]) {
        const { status, body } = await refusal(open());
        assert.deepEqual([status, body['code']], [403, 'role_missing']);
      }
      assert.equal(staying.socket.readyState, staying.socket.OPEN);
    });

    it('rate_limited: one that asks without end', async () => {
      const { tsn } = await on.terminal();
      const pos = await on.pos(await on.tokenOf(till));
      for (let n = 0; n < 300; n += 1) pos.send({ type: 'status', requestId: String(n), tsn });
      assert.equal((await pos.closed()).code, closeCodes.rateLimited);
      await eventually('it is counted', async () =>
        (await on.metrics.registry.metrics()).includes('code="rate_limited"'),
      );
    });
  });
});
