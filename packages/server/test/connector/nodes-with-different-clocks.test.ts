// Whole run: devices, accounts or nodes are prepared for each test.
// Nodes with different clocks: the newest connection of a device does not depend on the time.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import { createConnector } from '../../src/connector/index.ts';
import { type Backplane, createLocalBackplane } from '../../src/connector/nodes/backplane.ts';
import { createHttp } from '../../src/http/index.ts';
import { createLog, createMetrics, systemIdGenerator } from '../../src/platform/index.ts';
import { highLoadLimits } from '../support/high-load-limits.ts';
import { makeCertificate, type TestTerminal } from '../support/provisioning/test-devices.ts';
import { testAudit } from '../support/test-audit.ts';
import {
  type Client,
  handshakeErrorOf,
  type Line,
  settings,
  startTestConnector,
  type TestConnector,
} from './test-connector.ts';

const minute = 60_000;

type NodeAt = {
  register(terminal: TestTerminal): Promise<{ path: string; token: string }>;
  open(path: string, token: string): Promise<Line>;
  /** Registers and connects a device. */
  device(terminal: TestTerminal): Promise<Line>;
  pos(): Promise<Line>;
  stop(): Promise<void>;
};

describe('nodes whose clocks are apart', () => {
  let setup: TestConnector;
  let till: Client;
  let ahead: NodeAt;
  let behind: NodeAt;
  /** The messages that nodes otherwise exchange by NATS. */
  const sharedBackplane = createLocalBackplane();

  async function nodeAt(name: string, apartMs: number): Promise<NodeAt> {
    const clock = { now: () => setup.clock.now() + apartMs };
    const { database, identity, masterKey, provisioning, catalog } = setup;
    const log = createLog({ logLevel: 'silent', instanceName: name });
    const certificate = await makeCertificate('server');
    const { baseUrl } = settings;
    const { verifyToken } = identity;
    const certificates = identity.devices.reader;
    const http = await createHttp({
      settings: { host: '127.0.0.1', port: 0, baseUrl, authUrl: baseUrl },
      log,
      ids: systemIdGenerator,
      verifyToken,
      certificates,
      tls: certificate,
      loadLimits: highLoadLimits,
    });
    const backplane: Backplane = { ...sharedBackplane, close: async () => {} };
    const far = { publish: () => () => {}, useAddress: async () => undefined, tick() {} };
    const connector = createConnector({
      settings: { ...settings, instanceName: name },
      masterKey,
      database,
      provisioning,
      catalog,
      clock,
      log,
      ids: systemIdGenerator,
      verifyToken,
      certificates,
      clients: identity.clientVerifier,
      audit: testAudit(database, clock),
      metrics: createMetrics(),
      nodes: {
        backplane,
        remoteSessions: far,
        isUp: () => true,
        onConnectionChange: () => () => {},
      },
      times: { tickMs: 10, recheckMs: minute },
    });
    connector.register(http.upgrades);
    connector.start();
    const { port } = await http.listen();
    const listenerOptions = { port, ca: certificate.cert };
    const node: NodeAt = {
      async register({ tsn }) {
        const { clientId: client_id, clientSecret: client_secret } = till;
        const { answer } = await setup.register({ tsn, client_id, client_secret }, listenerOptions);
        assert.equal(answer['type'], 'registered', JSON.stringify(answer));
        return { path: new URL(answer['connectionUrl']).pathname, token: answer['token'] };
      },
      open: (path, token) => setup.open(path, { ...listenerOptions, token }),
      async device(terminal) {
        const { path, token } = await node.register(terminal);
        return node.open(path, token);
      },
      pos: async () => node.open('/cloud-connector/v1/pos-listener', await setup.tokenOf(till)),
      async stop() {
        await connector.stop();
        await http.close();
      },
    };
    return node;
  }

  before(async () => {
    setup = await startTestConnector();
    till = await setup.application();
    ahead = await nodeAt('ahead', 20 * minute);
    behind = await nodeAt('behind', -20 * minute);
  });
  after(async () => {
    await Promise.all([ahead, behind].map((node) => node?.stop()));
    await setup.close();
  });

  // Spec: NEXO-8
  it('give a device to its newest connection, whichever of them it came to', async () => {
    const terminal = await setup.terminal();
    let former = await ahead.device(terminal);
    for (const [node, other] of [
      [behind, ahead],
      [ahead, behind],
      [behind, ahead],
    ] as const) {
      const device = await node.device(terminal);
      assert.equal((await former.closed()).code, closeCodes.superseded);
      for (const listeningNode of [node, other]) {
        const pos = await listeningNode.pos();
        const claim = { type: 'claim', requestId: 'c', tsn: terminal.tsn, posId: 'p' };
        const claimed = await setup.ask(pos, claim);
        assert.equal(claimed['type'], 'claimed', JSON.stringify(claimed));
        const { sessionId } = claimed;
        assert.equal(
          (await setup.ask(pos, { type: 'release', requestId: 'r', sessionId }))['type'],
          'released',
        );
        pos.close();
      }
      assert.equal(device.socket.readyState, device.socket.OPEN);
      former = device;
    }
    former.close();
    await former.closed();
  });

  it('take no token of a registration before the last one that connected', async () => {
    const terminal = await setup.terminal();
    const elder = await ahead.register(terminal);
    const device = await behind.device(terminal);
    const { status, body } = await handshakeErrorOf(ahead.open(elder.path, elder.token));
    assert.deepEqual([status, body['code']], [410, 'session_gone']);
    assert.equal(device.socket.readyState, device.socket.OPEN);
    device.close();
  });

  it('give it up to a process of the version before, and take it back', async () => {
    const terminal = await setup.terminal();
    const device = await ahead.device(terminal);
    // The row that a process of the previous version writes when the device connects to it.
    const [row] = await setup.database.query(
      `UPDATE device_presence SET connection_id = $3, node = 'before'
       WHERE organization_id = $1 AND physical_device_id = $2 AND connection_id < $3
       RETURNING node`,
      [setup.organizationId, terminal.physicalDeviceId, systemIdGenerator.uuid()],
    );
    assert.deepEqual(row, { node: 'before' });
    const pos = await ahead.pos();
    const claim = { type: 'claim', requestId: 'c', tsn: terminal.tsn, posId: 'p' };
    assert.equal((await setup.ask(pos, claim))['error'].code, 'device_offline');
    assert.equal((await device.closed()).code, closeCodes.superseded);
    const reconnected = await behind.device(terminal);
    assert.equal((await setup.ask(pos, { ...claim, requestId: 'd' }))['type'], 'claimed');
    for (const line of [reconnected, pos]) line.close();
  });

  // Spec: NEXO-8
  it('keep the newer of two connections that open in parallel', async () => {
    const terminal = await setup.terminal();
    const elder = await ahead.register(terminal);
    const younger = await behind.register(terminal);
    const [first, second] = await Promise.allSettled([
      ahead.open(elder.path, elder.token),
      behind.open(younger.path, younger.token),
    ]);
    assert.equal(second.status, 'fulfilled');
    if (first.status === 'fulfilled') {
      assert.equal((await first.value.closed()).code, closeCodes.superseded);
    }
    const { socket } = second.value;
    assert.equal(socket.readyState, socket.OPEN);
    socket.close();
  });
});
