// Whole run: much is made, or waited for, before it shows.
// Many registrations and claims at once never exceed the limits. The real limits are in the
// thousands; these tests lower the limits and the load.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { connectorPaths } from '@switchyard/contract';
import { eventually } from '../support/wait-for-condition.ts';
import {
  type Client,
  HandshakeError,
  type Json,
  type Line,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';

const second = 1000;

async function small(t: TestContext, connectorConnections: number): Promise<TestConnector> {
  const setup = await startTestConnector({ settings: { connectorConnections } });
  t.after(() => setup.close());
  return setup;
}

async function metric(setup: TestConnector, name: string): Promise<number> {
  const all = await setup.metrics.registry.metrics();
  const metricLine = all.split('\n').find((row) => row.startsWith(`${name} `));
  return Number(metricLine?.split(' ').at(-1));
}
const claims = (setup: TestConnector) => metric(setup, 'switchyard_connector_claims');
const countUnidentified = (setup: TestConnector) =>
  metric(setup, 'switchyard_connector_connections{kind="registration"}');

const claimOf = (tsn: string, more: Json = {}) => ({ type: 'claim', tsn, posId: 'p', ...more });

describe('the connector with many connections', () => {
  // Spec: NEXO-12
  it('of registrations takes a quarter of all connections, and a row for each device', async (t) => {
    const setup = await small(t, 40);
    const till = await setup.application();
    const terminals = [await setup.terminal(), await setup.terminal()];
    const opened: Line[] = [];
    let refusals = 0;
    const openings = Array.from({ length: 200 }, async () => {
      try {
        opened.push(await setup.open(connectorPaths.deviceListener));
      } catch (error) {
        assert.ok(error instanceof HandshakeError, String(error));
        assert.deepEqual([error.status, error.body['code']], [429, 'rate_limited']);
        refusals += 1;
      }
      assert.ok((await countUnidentified(setup)) <= 10);
    });
    await Promise.all(openings);
    assert.deepEqual([opened.length, refusals], [10, 190]);
    for (const line of opened) line.close();
    await eventually('all have gone', async () => (await countUnidentified(setup)) === 0);
    const { clientId: client_id, clientSecret: client_secret } = till;
    for (let round = 0; round < 20; round += 1) {
      const tsn = terminals[round % 2]?.tsn;
      const { line, answer } = await setup.register({ tsn, client_id, client_secret });
      assert.equal(answer['type'], 'registered', JSON.stringify(answer));
      await line.closed();
    }
    const rows = await setup.database.query<{ registrations: number }>(
      `SELECT registrations FROM device_registrations WHERE organization_id = $1`,
      [setup.organizationId],
    );
    assert.deepEqual(
      rows.map(({ registrations }) => registrations),
      [10, 10],
    );
  });

  // Spec: NEXO-12
  it('of claims takes the places that there are, and leaves some to others', async (t) => {
    const setup = await small(t, 20);
    const [till, other] = [await setup.application(), await setup.application()];
    const terminal = await setup.terminal();
    const tillToken = await setup.tokenOf(till);
    const tills = await Promise.all([1, 2, 3, 4].map(() => setup.pos(tillToken)));
    const answers: Json[] = [];
    for (const pos of tills) {
      pos.socket.on('message', (data) => answers.push(JSON.parse(String(data))));
      for (let n = 0; n < 60; n += 1) {
        pos.send(claimOf(terminal.tsn, { requestId: String(n), waitSeconds: 30 }));
      }
    }
    await eventually('claims above the limit are refused', () => answers.length === 220);
    for (const { type, error } of answers) {
      assert.deepEqual([type, error.code], ['error', 'rate_limited']);
      assert.deepEqual([error.retryable, error.retryAfterSeconds], [true, 1]);
    }
    assert.equal(await claims(setup), 20, 'half of all: the rest is for others');
    const beside = await setup.pos(await setup.tokenOf(other));
    const answer = await setup.ask(beside, claimOf(terminal.tsn, { requestId: 'b' }));
    assert.equal(answer['error'].code, 'device_offline');
    setup.clock.advance(30 * second);
    await eventually('no claim waits', async () => (await claims(setup)) === 0);
    await eventually('all claims are answered', () => answers.length === 240);
    await setup.connect(terminal, other);
    const [first] = tills;
    assert.ok(first);
    first.send(claimOf(terminal.tsn, { requestId: 'again' }));
    await eventually('a claim', () => answers.some(({ type }) => type === 'claimed'));
    assert.equal(await claims(setup), 1);
    for (const pos of tills) pos.close();
    await eventually('all is given back', async () => (await claims(setup)) === 0);
  });

  /** Claims one terminal after the other and uses none of the sessions. */
  async function claimOneByOne(
    setup: TestConnector,
    { count, most }: { count: number; most: number },
  ): Promise<void> {
    const till: Client = await setup.application();
    const pos = await setup.pos(await setup.tokenOf(till));
    for (let n = 0; n < count; n += 1) {
      const terminal = await setup.terminal();
      const device = await setup.connect(terminal, till);
      const claimed = await setup.ask(pos, claimOf(terminal.tsn, { requestId: `c${n}` }));
      assert.equal(claimed['type'], 'claimed', JSON.stringify(claimed));
      assert.ok((await claims(setup)) <= most);
      // The session stays unused, and the terminal disconnects.
      setup.clock.advance(60 * second);
      device.close();
      await eventually('it has ended', async () => {
        const statusRequest = { type: 'status', requestId: `s${n}`, tsn: terminal.tsn };
        const { online, claimed: isClaimed } = await setup.ask(pos, statusRequest);
        return online === false && isClaimed === false;
      });
    }
  }

  it('of ended sessions stays within the limit, because the connector removes their claims', async (t) => {
    const setup = await small(t, 10);
    await claimOneByOne(setup, { count: 15, most: 10 });
    assert.equal(await claims(setup), 10);
  });

  it('of ended sessions stays within the limit, also if messages about their end are lost', async (t) => {
    const setup = await small(t, 10);
    // The same effect as a NATS outage.
    setup.connector.backplane.publish = () => {};
    await claimOneByOne(setup, { count: 15, most: 10 });
    assert.ok((await claims(setup)) <= 10);
  });

  // Spec: NEXO-12
  it('of open and ended sessions stays within the limit, and the connector removes only ended sessions', async (t) => {
    const setup = await small(t, 10);
    // The same effect as a NATS outage.
    setup.connector.backplane.publish = () => {};
    const till = await setup.application();
    const token = await setup.tokenOf(till);
    const [pos, other] = [await setup.pos(token), await setup.pos(token)];
    const connect = async (): Promise<{ tsn: string; device: Line }> => {
      const { tsn } = await setup.terminal();
      return { tsn, device: await setup.connect({ tsn }, till) };
    };
    /** Retries, because a claim checks only a few of the other claims. */
    const claimed = async (tsn: string, attempts = 3): Promise<Json> => {
      const answer = await setup.ask(pos, claimOf(tsn, { requestId: `${tsn} ${attempts}` }));
      if (answer['type'] === 'claimed') return answer;
      assert.equal(answer['error'].code, 'rate_limited', JSON.stringify(answer));
      assert.ok(attempts > 1, 'no claim is accepted after all retries');
      return claimed(tsn, attempts - 1);
    };
    const living: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const { tsn } = await connect();
      living.push(tsn);
      await claimed(tsn);
    }
    for (let n = 0; n < 12; n += 1) {
      const { tsn, device } = await connect();
      const { sessionId } = await claimed(tsn);
      const message = { ...claimOf(tsn), type: 'release', sessionId, requestId: `r${n}` };
      const released = await setup.ask(other, message);
      assert.equal(released['type'], 'released', JSON.stringify(released));
      device.close();
      await device.closed();
    }
    assert.equal(await claims(setup), 10);
    for (const tsn of living) {
      const status = await setup.ask(other, { type: 'status', requestId: tsn, tsn });
      assert.equal(status['claimed'], true, 'who lives is asked, and goes on');
    }
  });

  it('of claims over one connection stays within the limit, because the connector uses the state of the terminals', async (t) => {
    const setup = await small(t, 200);
    const { backplane } = setup.connector;
    const { publish, request } = backplane;
    // The message about the end is lost, but the state of the terminal still arrives.
    backplane.publish = (topic, message) => {
      if (message['kind'] !== 'ended') publish(topic, message);
    };
    backplane.request = (key, message) => {
      assert.notEqual(message['kind'], 'holds', 'nobody has to be asked');
      return request(key, message);
    };
    const till = await setup.application();
    const token = await setup.tokenOf(till);
    const [pos, other] = [await setup.pos(token), await setup.pos(token)];
    for (let n = 0; n < 66; n += 1) {
      const { tsn } = await setup.terminal();
      await setup.connect({ tsn }, till);
      const claimed = await setup.ask(pos, claimOf(tsn, { requestId: `c${n}` }));
      assert.equal(claimed['type'], 'claimed', JSON.stringify(claimed));
      const { sessionId } = claimed;
      const released = await setup.ask(other, {
        ...claimOf(tsn),
        type: 'release',
        sessionId,
        requestId: `r${n}`,
      });
      assert.equal(released['type'], 'released', JSON.stringify(released));
    }
  });
});
