// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// Devices and points of sale at three nodes: a claim finds the device, and both sides learn of lost
// nodes and connections.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pause } from '../../src/platform/index.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { type Node, openConnectorNodes, type TestConnectorNodes } from './connector-nodes.ts';
import { codeOf, nodeIn, pathOf, payOn } from './continuous-sessions.ts';
import type { Json, Line } from './test-connector.ts';

const askAgainMs = 100;

describe('several nodes of the connector', () => {
  let setup: TestConnectorNodes;
  let tsns: readonly string[];
  before(async () => {
    setup = await openConnectorNodes();
    tsns = setup.facts.devices.map(({ tsn }) => tsn);
  });
  after(() => setup?.close());

  const tsnAt = (at: number): string => {
    const tsn = tsns[at];
    assert.ok(tsn);
    return tsn;
  };
  const claim = (pos: Line, tsn: string, facts: Json = {}) =>
    setup.ask(pos, { type: 'claim', tsn, posId: 'till', ...facts });
  const nodeOf = (answer: Json) => nodeIn(setup, answer);

  async function claimed(pos: Line, tsn: string, facts: Json = {}): Promise<Json> {
    const answer = await claim(pos, tsn, facts);
    assert.equal(answer['type'], 'claimed', JSON.stringify(answer));
    return answer;
  }
  /** Waits until the device has reached its new node and the nodes have found each other again. */
  async function claimedSoon(pos: Line, tsn: string): Promise<Json> {
    let got: Json = {};
    await eventually('a claim', async () => {
      got = await claim(pos, tsn);
      // The connector closes a connection that claims without a pause.
      if (got['type'] !== 'claimed') await pause(askAgainMs);
      return got['type'] === 'claimed';
    });
    return got;
  }
  const release = async (pos: Line, { sessionId }: Json) => {
    assert.equal((await setup.ask(pos, { type: 'release', sessionId }))['type'], 'released');
  };
  async function talk(device: Line, pos: Line, word: string): Promise<void> {
    pos.send(`ask ${word}`);
    assert.equal((await device.raw()).data.toString(), `ask ${word}`);
    device.send(`answer ${word}`);
    assert.equal((await pos.raw()).data.toString(), `answer ${word}`);
  }

  // Spec: NEXO-3
  it('leads a point of sale to the node that has the device, and no other one gets it', async () => {
    const [a, b, c] = setup.nodes;
    const tsn = tsnAt(0);
    const device = await setup.device(a, tsn);
    const [posB, posC] = [await setup.pos(b), await setup.pos(c)];
    const got = await claimed(posB, tsn);
    assert.equal(nodeOf(got), a);
    assert.equal(codeOf(await claim(posC, tsn, { posId: 'other' })), 'device_claimed');
    const status = await setup.ask(posC, { type: 'status', tsn });
    assert.deepEqual([status['online'], status['claimed']], [true, true]);
    const session = await a.open(pathOf(got));
    await talk(device, session, 'at its own node');
    const released = await setup.ask(posB, { type: 'release', sessionId: got['sessionId'] });
    assert.equal(released['type'], 'released');
    assert.equal((await session.closed()).code, 4000);
    device.close();
    for (const line of [posB, posC]) line.close();
  });

  it('says at once that no node has a device', async () => {
    const pos = await setup.pos(setup.nodes[1]);
    assert.equal(codeOf(await claim(pos, tsnAt(1))), 'device_offline');
    pos.close();
  });

  it('takes the token of a device once, at whichever node', async () => {
    const [a, b, c] = setup.nodes;
    const { path, token } = await setup.register(a, tsnAt(1));
    const device = await b.open(path, token);
    for (const node of [a, b, c]) await assert.rejects(node.open(path, token), /HTTP 410/);
    const pos = await setup.pos(c);
    const got = await claimedSoon(pos, tsnAt(1));
    assert.equal(nodeOf(got), b, 'where it is connected, and not where it registered');
    await release(pos, got);
    for (const line of [device, pos]) line.close();
    await device.closed();
  });

  it('carries the data over NATS where the address was used at another node', async () => {
    const [a, b, c] = setup.nodes;
    const tsn = tsnAt(0);
    const device = await setup.device(a, tsn);
    const pos = await setup.pos(b);
    const got = await claimed(pos, tsn);
    const session = await c.open(pathOf(got));
    await talk(device, session, 'over NATS');
    const large = Buffer.alloc(1_048_576, 7);
    session.send(large);
    const heard = await device.raw();
    assert.ok(heard.isBinary && heard.data.equals(large));
    device.send(large);
    assert.ok((await session.raw()).data.equals(large));
    for (let count = 0; count < 500; count += 1) session.send(`m${count}`);
    for (let count = 0; count < 500; count += 1) {
      assert.equal((await device.raw()).data.toString(), `m${count}`);
    }
    await assert.rejects(b.open(pathOf(got)), /HTTP 410/);
    session.close(1000);
    const again = await claimedSoon(pos, tsn);
    assert.notEqual(again['sessionId'], got['sessionId']);
    await release(pos, again);
    device.close();
    pos.close();
  });

  it('closes a session over NATS when NATS fails, and a node without NATS serves its own devices', async () => {
    const [a, b, c] = setup.nodes;
    const tsn = tsnAt(0);
    const device = await setup.device(a, tsn);
    const [posA, posB] = [await setup.pos(a), await setup.pos(b)];
    const far = await c.open(pathOf(await claimed(posB, tsn)));
    await talk(device, far, 'before');
    await setup.nats.kill();
    assert.equal((await far.closed()).code, 4003);
    const refusal = await claim(posB, tsn);
    assert.equal(codeOf(refusal), 'node_unreachable', JSON.stringify(refusal));
    assert.equal(refusal['error'].retryable, true);
    await eventually('the end of the cut session', async () => {
      const { status, body } = await a.ready();
      return status === 200 && body['dependencies'].nats === 'failed';
    });
    const claimAnswer = await claimedSoon(posA, tsn);
    await talk(device, await a.open(pathOf(claimAnswer)), 'without NATS');
    await release(posA, claimAnswer);
    await setup.nats.start();
    const got = await claimedSoon(posB, tsn);
    assert.equal(nodeOf(got), a);
    await release(posB, got);
    for (const line of [device, posA, posB]) line.close();
  });

  it('gives a device that moved during a cut to its new node alone', async () => {
    const [a, b] = setup.nodes;
    const tsn = tsnAt(0);
    const stale = await setup.device(a, tsn);
    const posA = await setup.pos(a);
    await release(posA, await claimedSoon(posA, tsn));
    a.wire.cut();
    await eventually(
      'the cut',
      async () => (await a.ready()).body['dependencies'].nats === 'failed',
    );
    const device = await setup.device(b, tsn);
    assert.equal(codeOf(await claim(posA, tsn)), 'node_unreachable');
    assert.equal((await stale.closed()).code, 4001);
    a.wire.restore();
    const got = await claimedSoon(posA, tsn);
    assert.equal(nodeOf(got), b);
    await talk(device, await b.open(pathOf(got)), 'at the new node');
    await release(posA, got);
    device.close();
    posA.close();
  });

  it('reserves a device that moves to another node for its point of sale, before others that wait', async () => {
    const [a, b, c] = setup.nodes;
    const tsn = tsnAt(0);
    const stale = await setup.device(a, tsn);
    const [pos, other] = [await setup.pos(c), await setup.pos(b)];
    const first = await claimedSoon(pos, tsn);
    const session = await a.open(pathOf(first));
    await talk(stale, session, 'at the old node');
    const waiting = claimed(other, tsn, { posId: 'other', waitSeconds: 30 });
    const device = await setup.device(b, tsn);
    assert.equal((await stale.closed()).code, 4001);
    assert.equal((await session.closed()).code, 4003);
    assert.equal(codeOf(await claim(pos, tsn, { posId: 'third' })), 'device_claimed');
    const resumed = await claimed(pos, tsn, { resumeToken: first['resumeToken'] });
    assert.deepEqual([nodeOf(resumed), resumed['resumed']], [b, true]);
    await talk(device, await b.open(pathOf(resumed)), 'at the new node');
    // A point of sale that does not resume releases the reserved session by its session id.
    const reconnected = await setup.device(a, tsn);
    await device.closed();
    await release(pos, resumed);
    const next = await waiting;
    assert.equal(nodeOf(next), a);
    await release(other, next);
    for (const line of [reconnected, pos, other]) line.close();
    await reconnected.closed();
  });

  it('closes the sessions of a killed node, and its device connects to another node and to the restarted node', async () => {
    const [a, b, c] = setup.nodes;
    const tsn = tsnAt(0);
    const lost = await setup.device(b, tsn);
    const pos = await setup.pos(a);
    const far = await c.open(pathOf(await claimedSoon(pos, tsn)));
    await talk(lost, far, 'before the kill');
    await b.server.kill();
    assert.equal((await far.closed()).code, 4003);
    assert.equal(codeOf(await claim(pos, tsn)), 'device_offline');
    const device = await setup.device(c, tsn);
    const got = await claimedSoon(pos, tsn);
    assert.equal(nodeOf(got), c);
    await talk(device, await c.open(pathOf(got)), 'at another node');
    await b.start();
    const reconnected = await setup.device(b, tsn);
    assert.equal((await device.closed()).code, 4001);
    const last = await claimedSoon(pos, tsn);
    assert.equal(nodeOf(last), b);
    await release(pos, last);
    reconnected.close();
    pos.close();
  });

  it('restarts node after node, and the device and the point of sale connect again each time', async () => {
    const tsn = tsnAt(0);
    for (const [at, node] of setup.nodes.entries()) {
      const other = setup.nodes[(at + 1) % setup.nodes.length] as Node;
      const third = setup.nodes[(at + 2) % setup.nodes.length] as Node;
      const before = await setup.device(node, tsn);
      const pos = await setup.pos(third);
      const session = await node.open(pathOf(await claimedSoon(pos, tsn)));
      await talk(before, session, 'before');
      const stopped = node.server.stop();
      assert.equal((await before.closed()).code, 1012);
      assert.ok([1012, 4003].includes((await session.closed()).code));
      const device = await setup.device(other, tsn);
      const got = await claimedSoon(pos, tsn);
      assert.equal(nodeOf(got), other);
      await talk(device, await other.open(pathOf(got)), 'meanwhile');
      assert.equal(await stopped, 0);
      await node.start();
      const again = await setup.pos(node);
      await release(pos, got);
      const last = await claimedSoon(again, tsn);
      assert.equal(nodeOf(last), other);
      await release(again, last);
      for (const line of [device, pos, again]) line.close();
    }
  });

  it('answers an HTTP request for a terminal at any node, also at one without its connection', async () => {
    const [a, b] = setup.nodes;
    const tsn = tsnAt(0);
    const device = await setup.device(a, tsn);
    device.socket.on('message', (data) => {
      const { SaleToPOIRequest: asked } = JSON.parse(String(data));
      const MessageHeader = { ...asked.MessageHeader, MessageType: 'Response' };
      const DiagnosisResponse = { Response: { Result: 'Success' } };
      device.send(JSON.stringify({ SaleToPOIResponse: { MessageHeader, DiagnosisResponse } }));
    });
    const header = {
      ProtocolVersion: '3.0',
      MessageClass: 'Service',
      MessageCategory: 'Diagnosis',
      MessageType: 'Request',
      ServiceID: '1',
      SaleID: 'nodes',
      POIID: tsn,
    };
    const messageBody = (ServiceID: string) =>
      JSON.stringify({
        SaleToPOIRequest: { MessageHeader: { ...header, ServiceID }, DiagnosisRequest: {} },
      });
    const path = `/retail/v1/devices/${tsn}/sync?posId=till&waitSeconds=20`;
    for (const [at, node] of [b, a, b].entries()) {
      const { status, body } = await setup.http(node, path, messageBody(String(at)));
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body['SaleToPOIResponse'].DiagnosisResponse.Response.Result, 'Success');
      assert.equal(body['SaleToPOIResponse'].MessageHeader.ServiceID, String(at));
    }
    device.close();
    await device.closed();
    const response = await setup.http(b, path.replace('20', '0'), messageBody('9'));
    assert.deepEqual([response.status, response.body['code']], [409, 'device_offline']);
  });

  // Spec: NEXO-5
  it('loses only the way between two nodes that cannot reach each other', async () => {
    const [a, b, c] = setup.nodes;
    const tsn = tsnAt(0);
    const device = await setup.device(a, tsn);
    const posB = await setup.pos(b);
    const posC = await setup.pos(c);
    const far = await c.open(pathOf(await claimedSoon(posB, tsn)));
    await talk(device, far, 'over NATS');
    b.wire.cut();
    await eventually(
      'the cut',
      async () => (await b.ready()).body['dependencies'].nats === 'failed',
    );
    await talk(device, far, 'between the two that are left');
    assert.equal(codeOf(await claim(posB, tsn)), 'node_unreachable');
    far.close(1000);
    const claimAnswer = await claimedSoon(posC, tsn);
    await talk(device, await a.open(pathOf(claimAnswer)), 'while one is alone');
    await release(posC, claimAnswer);
    b.wire.restore();
    const got = await claimedSoon(posB, tsn);
    await release(posB, got);
    for (const line of [device, posB, posC]) line.close();
  });

  // Spec: NEXO-5
  it('restarts node after node under load: rounds go on, and no answer goes astray', async (t) => {
    let at = 0;
    const running = payOn(t, setup, {
      tsn: tsnAt(0),
      start: 0,
      posAt() {
        at += 1;
        return setup.nodes[at % setup.nodes.length] as Node;
      },
    });
    await running.goesOn();
    for (const node of setup.nodes) {
      assert.equal(await node.server.stop(), 0);
      await running.goesOn();
      await node.start();
      await running.goesOn();
    }
    await running.end();
  });

  // Spec: NEXO-5
  it('continues sessions under load while PostgreSQL is killed and restarted', async (t) => {
    const [a, b] = setup.nodes;
    const running = payOn(t, setup, { tsn: tsnAt(0), start: 0, posAt: () => b });
    await running.goesOn();
    const device = await setup.device(a, tsnAt(1));
    const pos = await setup.pos(a);
    const session = await a.open(pathOf(await claimedSoon(pos, tsnAt(1))));
    await talk(device, session, 'before');
    const before = setup.postgres.pid();
    process.kill(before, 'SIGKILL');
    await talk(device, session, 'while there is no database');
    await eventually('another PostgreSQL', () => setup.postgres.pid() !== before);
    await running.goesOn();
    await talk(device, session, 'after all');
    await running.end();
    session.close(1000);
    for (const line of [device, pos]) line.close();
  });
});
