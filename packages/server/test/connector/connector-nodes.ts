// Three connector nodes at their own addresses, with one database and a real NATS server.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectorPaths, defined } from '@switchyard/contract';
import { type ClientOptions, WebSocket } from 'ws';
import {
  createLog,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/index.ts';
import { bearerHeaders } from '../support/bearer-headers.ts';
import { freePorts } from '../support/free-ports.ts';
import {
  type CuttableConnection,
  openCuttableConnection,
} from '../support/processes/cuttable-connection.ts';
import {
  createNatsServer,
  type NatsServer,
  natsPassword,
  natsUser,
} from '../support/processes/nats-server.ts';
import {
  createServerProcess,
  type DemoFacts,
  type ServerProcess,
} from '../support/processes/server-process.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { type Comparison, createComparison } from './check-websocket-document.ts';
import { comparedLine, type Json, type Line } from './test-connector.ts';

const startMs = 120_000;

export type Node = {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly server: ServerProcess;
  /** The connection between this node and NATS. */
  readonly wire: CuttableConnection;
  start(): Promise<void>;
  ready(): Promise<{ status: number; body: Json }>;
  open(path: string, token?: string): Promise<Line>;
  call(
    path: string,
    headers: Readonly<Record<string, string>>,
    sent: { body?: string; type?: string },
  ): Promise<{ status: number; body: Json }>;
};

export type TestConnectorNodes = {
  readonly nodes: readonly [Node, Node, Node];
  readonly nats: NatsServer;
  /** The database of these nodes only; a test may kill it, and it restarts itself. */
  readonly postgres: EmbeddedPostgres;
  readonly facts: DemoFacts;
  token(): Promise<string>;
  /** The connection path and token that a registration returns. */
  register(node: Node, tsn: string): Promise<{ path: string; token: string }>;
  /** Registers and connects a device at a node. */
  device(node: Node, tsn: string): Promise<Line>;
  pos(node: Node): Promise<Line>;
  ask(pos: Line, message: Json): Promise<Json>;
  /** Sends a request of the Retail API. */
  http(node: Node, path: string, body?: string): Promise<{ status: number; body: Json }>;
  close(): Promise<void>;
};

async function openLine(
  comparison: Comparison,
  url: string,
  options: ClientOptions,
): Promise<Line> {
  const socket = new WebSocket(url, options);
  const line = comparedLine(comparison, new URL(url).pathname, socket);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_, response) => {
      reject(new Error(`HTTP ${response.statusCode}`));
      response.destroy();
    });
  });
  return line;
}

type NodeOptions = {
  readonly name: string;
  readonly host: string;
  readonly directory: string;
  readonly shared: Record<string, string>;
  readonly roles: string;
  readonly natsPort: number;
  readonly comparison: Comparison;
};

async function makeNode(options: NodeOptions): Promise<Node> {
  const { name, host, directory, shared, roles, natsPort, comparison } = options;
  const wire = await openCuttableConnection(natsPort);
  const [port = 0, devicePort, metricsPort] = await freePorts(3);
  const dataDir = join(directory, name);
  await mkdir(dataDir, { recursive: true });
  const server = createServerProcess({
    ...shared,
    SWITCHYARD_DATA_DIR: dataDir,
    SWITCHYARD_HOST: host,
    SWITCHYARD_PORT: String(port),
    SWITCHYARD_DEVICE_PORT: String(devicePort),
    SWITCHYARD_METRICS_PORT: String(metricsPort),
    SWITCHYARD_CONNECTOR_NODE_URL: `https://${host}:${port}`,
    SWITCHYARD_NATS_URL: `nats://${natsUser}:${natsPassword}@localhost:${wire.port}`,
    SWITCHYARD_INSTANCE_NAME: name,
    SWITCHYARD_ROLES: roles,
  });
  const metricsUrl = `http://127.0.0.1:${metricsPort}`;
  return {
    name,
    host,
    port,
    server,
    wire,
    async start() {
      const file = join(dataDir, 'demo.json');
      const first = join(directory, 'a', 'demo.json');
      // A node that does not seed writes no demo facts, so the facts of the first node are copied.
      if (name !== 'a') {
        const demoFile = JSON.parse(await readFile(first, 'utf8'));
        await writeFile(file, JSON.stringify({ ...demoFile, metricsUrl }));
      }
      await server.start();
      await eventually(
        'NATS',
        async () => (await ready()).body['dependencies']?.nats === 'ok',
        startMs,
      );
    },
    ready,
    open: (path, token) =>
      openLine(comparison, `wss://${host}:${port}${path}`, {
        // Each node has its own authority here; these tests do not check the server's identity.
        rejectUnauthorized: false,
        headers: bearerHeaders(token),
      }),
    call: (path, headers, { body, type }) =>
      new Promise((resolve, reject) => {
        const clientRequest = request({
          host,
          port,
          path,
          rejectUnauthorized: false,
          agent: false,
          method: body === undefined ? 'GET' : 'POST',
          headers: { ...headers, ...defined({ 'content-type': type }) },
        });
        clientRequest.on('error', reject);
        clientRequest.on('response', (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(parts).toString();
            resolve({
              status: response.statusCode ?? 0,
              body: text === '' ? {} : JSON.parse(text),
            });
          });
        });
        clientRequest.end(body);
      }),
  };
  async function ready() {
    const answer = await fetch(`${metricsUrl}/readyz`);
    return { status: answer.status, body: (await answer.json()) as Json };
  }
}

export async function openConnectorNodes(): Promise<TestConnectorNodes> {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-nodes-'));
  const [natsPort = 0, acquirerPort] = await freePorts(2);
  const nats = createNatsServer(natsPort);
  await nats.start();
  const postgres = await startEmbeddedPostgres({
    dataDir: join(directory, 'postgres'),
    log: createLog({ logLevel: 'silent', instanceName: 'test' }),
    settings: { fsync: 'off', full_page_writes: 'off' },
  });
  const shared = {
    SWITCHYARD_DATABASE_URL: postgres.url,
    SWITCHYARD_PLATFORM_KEY: `demo:${randomBytes(32).toString('base64')}`,
    SWITCHYARD_ACQUIRER_PORT: String(acquirerPort),
    SWITCHYARD_LOG_LEVEL: 'info',
  };
  const comparison = createComparison();
  const common = { directory, natsPort, comparison };
  const a = await makeNode({
    ...common,
    name: 'a',
    host: '127.0.0.1',
    shared,
    roles: 'cards identity connector jobs',
  });
  const beside = { ...shared, SWITCHYARD_BASE_URL: `https://localhost:${a.port}` };
  const roles = 'identity connector';
  const b = await makeNode({ ...common, name: 'b', host: '127.0.0.2', shared: beside, roles });
  const c = await makeNode({ ...common, name: 'c', host: '127.0.0.3', shared: beside, roles });
  await a.start();
  await Promise.all([b.start(), c.start()]);
  const facts = await a.server.demoFacts();
  const cloud = facts.applications['cloud'];
  assert.ok(cloud);
  const { clientId, clientSecret } = cloud;
  let token: string | undefined;
  let requestCount = 0;

  const setup: TestConnectorNodes = {
    nodes: [a, b, c],
    nats,
    postgres,
    facts,
    async token() {
      token ??= await (await a.server.client()).token(facts.userDomainId, clientId, clientSecret);
      return token;
    },
    async register(node, tsn) {
      const first = await node.open(connectorPaths.deviceListener);
      first.send({ type: 'register', tsn, client_id: clientId, client_secret: clientSecret });
      const answer = await first.next();
      assert.equal(answer['type'], 'registered', JSON.stringify(answer));
      const { host, pathname } = new URL(answer['connectionUrl']);
      assert.equal(host, `${node.host}:${node.port}`);
      return { path: pathname, token: String(answer['token']) };
    },
    async device(node, tsn) {
      const { path, token } = await setup.register(node, tsn);
      return node.open(path, token);
    },
    pos: async (node) => node.open(connectorPaths.posListener, await setup.token()),
    async ask(pos, message) {
      requestCount += 1;
      const requestId = String(requestCount);
      pos.send({ ...message, requestId });
      for (;;) {
        const message = await pos.next();
        if (message['requestId'] === requestId) return message;
      }
    },
    async http(node, path, body) {
      const headers = { authorization: `Bearer ${await setup.token()}` };
      const sent = body === undefined ? {} : { body, type: 'application/json' };
      return node.call(path, headers, sent);
    },
    async close() {
      for (const { server, wire } of setup.nodes) {
        await server.kill();
        await wire.close();
      }
      await nats.kill();
      await postgres.stop();
      await rm(directory, { recursive: true, force: true });
      assert.deepEqual(comparison.faults, []);
    },
  };
  return setup;
}
