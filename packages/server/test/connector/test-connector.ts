// The connector over real TLS and a real database, with devices and points of sale that use its
// protocol.
import assert from 'node:assert/strict';
import { connectorPaths, defined } from '@switchyard/contract';
import { type ClientOptions, type RawData, WebSocket } from 'ws';
import { type Catalog, createCatalog, scopeAuthoredByPlatform } from '../../src/catalog/index.ts';
import {
  type Connector,
  type ConnectorSettings,
  type ConnectorTimes,
  createConnector,
} from '../../src/connector/index.ts';
import type { RatePolicies } from '../../src/http/index.ts';
import {
  createLog,
  createMetrics,
  createOutgoingCalls,
  type Database,
  type Environment,
  type Metrics,
  systemIdGenerator,
  type Tracer,
} from '../../src/platform/index.ts';
import { bearerHeaders } from '../support/bearer-headers.ts';
import {
  type CertificateAndKey,
  openDevices,
  type TestDevices,
  type TestTerminal,
} from '../support/provisioning/test-devices.ts';
import { testAudit } from '../support/test-audit.ts';
import { type Comparison, createComparison, watch } from './check-websocket-document.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes
export type Json = Record<string, any>;

/** A WebSocket that records all messages in order. */
export type Line = {
  readonly socket: WebSocket;
  send(message: Json | string | Buffer): void;
  /** The next unread message, parsed as JSON. */
  next(): Promise<Json>;
  raw(): Promise<{ data: Buffer; isBinary: boolean }>;
  /** Waits for the close and returns its code and reason. */
  closed(): Promise<{ code: number; reason: string }>;
  close(code?: number): void;
};

/** The HTTP response that rejects a handshake. */
export class HandshakeError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Json;

  constructor(status: number, headers: Readonly<Record<string, unknown>>, body: Json) {
    super(`${status} ${body['code']}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

export type Client = { readonly clientId: string; readonly clientSecret: string };
export type TestConnector = TestDevices & {
  readonly connector: Connector;
  readonly catalog: Catalog;
  readonly metrics: Metrics;
  readonly logged: string[];
  /** Compares all traffic of its connections with the AsyncAPI document. */
  readonly comparison: Comparison;
  /** From now on the connector refuses handshakes with a retry. */
  drain(): void;
  open(path: string, options?: ClientOptions & { token?: string; port?: number }): Promise<Line>;
  /** Creates a merchant, a store and a terminal with the active service. */
  terminal(facts?: { family?: string; merchantId?: string }): Promise<TestTerminal>;
  /** An application with the role of a point of sale; default: of the organisation. */
  application(facts?: object): Promise<Client>;
  tokenOf(client: Client, userDomainId?: string): Promise<string>;
  /** Registers and connects a device. */
  connect(
    terminal: { tsn: string },
    client: Client,
    certificate?: CertificateAndKey,
  ): Promise<Line>;
  register(
    message: Json | string,
    options?: ClientOptions & { port?: number },
  ): Promise<{ line: Line; answer: Json }>;
  /** Opens a control connection of a point of sale. */
  pos(token: string): Promise<Line>;
  ask(pos: Line, message: Json): Promise<Json>;
  /** Claims a terminal and connects to the session. */
  session(pos: Line, claim: Json): Promise<{ line: Line; claimed: Json }>;
  /** Activates the service at a place. */
  activate(terminal: TestTerminal): Promise<void>;
  readonly serviceId: string;
};

const bytesOf = (data: RawData): Buffer =>
  Buffer.isBuffer(data) ? data : Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);

export function lineOf(socket: WebSocket): Line {
  const heard: { data: Buffer; isBinary: boolean }[] = [];
  let waiting: (() => void) | undefined;
  const ended = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => {
      resolve({ code, reason: reason.toString() });
      waiting?.();
    });
  });
  socket.on('error', () => {});
  socket.on('message', (data, isBinary) => {
    heard.push({ data: bytesOf(data), isBinary });
    waiting?.();
  });
  const line: Line = {
    socket,
    send: (message) =>
      socket.send(
        typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message),
      ),
    async raw() {
      for (;;) {
        const first = heard.shift();
        if (first !== undefined) return first;
        assert.notEqual(socket.readyState, WebSocket.CLOSED, 'closed before a message came');
        await new Promise<void>((resolve) => {
          waiting = resolve;
        });
      }
    },
    next: async () => JSON.parse((await line.raw()).data.toString()),
    closed: () => ended,
    close: (code) => socket.close(code),
  };
  return line;
}

/** A line whose messages and close are compared with the document. */
export function comparedLine(comparison: Comparison, path: string, socket: WebSocket): Line {
  const line = lineOf(socket);
  const watching = watch(comparison, path, socket);
  return {
    ...line,
    send(message) {
      const isJson = typeof message !== 'string' && !Buffer.isBuffer(message);
      watching.sent(isJson ? JSON.stringify(message) : message);
      line.send(message);
    },
    close(code) {
      watching.closing();
      line.close(code);
    },
  };
}

export const settings: ConnectorSettings = {
  environment: 'demo',
  baseUrl: 'https://localhost:8443',
  deviceAuthUrl: 'https://localhost:9021',
  connectorNodeUrl: 'https://localhost:8443',
  instanceName: 'test',
  connectorFamilies: ['axium', 'tetra'],
  connectorSessionAuth: 'url',
  connectorIdleSeconds: 3600,
  connectorResumeSeconds: 30,
  connectorConnections: 1000,
};

const declaration = { name: 'Cloud Connector', description: 'It.', domain: 'Retail API' };

export async function startTestConnector(
  given: {
    times?: Partial<ConnectorTimes>;
    settings?: Partial<ConnectorSettings>;
    rateLimits?: RatePolicies;
    database?: Database;
    environment?: Environment;
    tracer?: Tracer | undefined;
  } = {},
): Promise<TestConnector> {
  const logged: string[] = [];
  const log = createLog(
    { logLevel: 'debug', instanceName: 'test' },
    { write: (line: string) => void logged.push(line) },
  );
  const metrics = createMetrics();
  let built: { catalog: Catalog; connector: Connector; drain: () => void } | undefined;
  const setup = await openDevices({
    ...defined({ rateLimits: given.rateLimits }),
    database: given.database,
    ...defined({ environment: given.environment }),
    register(_app, { database, clock, provisioning, masterKey, identity, upgrades }) {
      const audit = testAudit(database, clock);
      const catalog = createCatalog({
        database,
        clock,
        provisioning,
        masterKey,
        ids: systemIdGenerator,
        log,
        audit,
        jobs: { handle() {}, async enqueue() {}, wake() {} },
        calls: createOutgoingCalls({ allowsLoopback: true }),
        valueRules: {},
        baseUrl: settings.baseUrl,
      });
      const connector = createConnector({
        settings: {
          ...settings,
          ...defined({ environment: given.environment }),
          instanceName: systemIdGenerator.uuid(),
          ...given.settings,
        },
        masterKey,
        database,
        provisioning,
        catalog,
        audit,
        clock,
        log,
        metrics,
        tracer: given.tracer,
        ids: systemIdGenerator,
        verifyToken: identity.verifyToken,
        certificates: identity.devices.reader,
        clients: identity.clientVerifier,
        times: { tickMs: 10, recheckMs: 20, previousNodeWaitMs: 3000, ...given.times },
      });
      connector.register(upgrades);
      connector.start();
      built = { catalog, connector, drain: upgrades.drain };
    },
  });
  assert.ok(built !== undefined);
  const { connector, drain } = built;
  const { services, packagesAndSubscriptions: offers, activations } = built.catalog;
  const { organizationId, userDomainId, identity } = setup;
  const author = scopeAuthoredByPlatform(organizationId);
  const { serviceId } = (await services.create(author, declaration as never)).view;
  await services.publish(author, serviceId);
  const offer = await offers.createPackage(author, { name: 'Offer', serviceIds: [serviceId] });
  await offers.subscribe(author, offer.view.packageId);
  await activations.activate(author, {
    serviceId,
    level: 'Organization',
    entityId: organizationId,
  });
  const lines = new Set<WebSocket>();
  const active = new Set<string>();
  const comparison = createComparison();

  const opened: TestConnector = {
    ...setup,
    connector,
    drain,
    metrics,
    logged,
    serviceId,
    catalog: built.catalog,
    comparison,
    async open(path, { token, port = setup.apiPort, ...options } = {}) {
      const bearer = bearerHeaders(token);
      const headers = { ...bearer, ...options.headers };
      const how: ClientOptions = { ca: setup.ca, ...options, headers };
      const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, how);
      lines.add(socket);
      const line = comparedLine(comparison, path, socket);
      await new Promise<void>((resolve, reject) => {
        socket.once('open', resolve);
        socket.once('error', reject);
        socket.once('unexpected-response', (_request, response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('end', () => {
            const text = Buffer.concat(parts).toString();
            const { statusCode = 0, headers } = response;
            reject(new HandshakeError(statusCode, headers, JSON.parse(text)));
          });
        });
      });
      return line;
    },
    async activate({ merchantId, storeId }) {
      if (!active.has(merchantId)) {
        await activations.activate(author, { serviceId, level: 'Merchant', entityId: merchantId });
      }
      active.add(merchantId);
      await activations.activate(author, { serviceId, level: 'Store', entityId: storeId });
    },
    async terminal(facts) {
      const terminal = await setup.createTerminal(facts);
      await opened.activate(terminal);
      return terminal;
    },
    application: (facts) =>
      identity.createApplication({
        organizationId,
        userDomainId,
        name: 'Till',
        entityType: 'tenant',
        entityId: organizationId,
        roles: ['PointOfSaleTerminal'],
        securityFlows: ['ClientCredentials'],
        ...facts,
      }),
    async tokenOf({ clientId, clientSecret }, domain = userDomainId) {
      const form = { grant_type: 'client_credentials', client_id: clientId };
      const answer = await setup.api(`/oauth2/v1/${domain}/token`, {
        form: { ...form, client_secret: clientSecret },
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body.access_token;
    },
    async register(message, options) {
      const line = await opened.open(connectorPaths.deviceListener, options);
      line.send(message);
      return { line, answer: await line.next() };
    },
    async connect({ tsn }, { clientId, clientSecret }, certificate) {
      const message = { tsn, client_id: clientId, client_secret: clientSecret };
      const { answer } = await opened.register({ type: 'register', ...message }, certificate);
      assert.equal(answer['type'], 'registered', JSON.stringify(answer));
      const path = new URL(answer['connectionUrl']).pathname;
      return opened.open(path, { token: answer['token'], ...certificate });
    },
    pos: (token) => opened.open(connectorPaths.posListener, { token }),
    async ask(pos, message) {
      pos.send(message);
      for (;;) {
        const reply = await pos.next();
        if (reply['requestId'] === message['requestId']) return reply;
      }
    },
    async session(pos, claim) {
      const requestId = systemIdGenerator.uuid();
      const claimed = await opened.ask(pos, { type: 'claim', requestId, ...claim });
      assert.equal(claimed['type'], 'claimed', JSON.stringify(claimed));
      return { line: await opened.open(new URL(claimed['sessionUrl']).pathname), claimed };
    },
    async close() {
      for (const socket of lines) socket.terminate();
      await connector.stop();
      await setup.close();
      assert.deepEqual(comparison.faults, []);
    },
  };
  return opened;
}

/** The HTTP response that rejects the handshake. */
export async function handshakeErrorOf(opening: Promise<unknown>): Promise<HandshakeError> {
  const error = await opening.then(
    () => assert.fail('it was let in'),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof HandshakeError, String(error));
  return error;
}
