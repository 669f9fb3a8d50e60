// Device security over real TLS and a real database: devices, and clients that send certificates.

import { highLoadLimits } from '../high-load-limits.ts';
import { testPasswordHasher } from '../identity/test-password-hasher.ts';
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { randomBytes, webcrypto } from 'node:crypto';
import { Agent, request } from 'node:https';
import { text as readAll } from 'node:stream/consumers';
import { PemConverter, Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { type DeviceCertificate, defined } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { makeCertificate } from '../../../src/http/authentication/certificate.fixture.ts';
import { createHttp, type Http, type RatePolicies } from '../../../src/http/index.ts';
import {
  createIdentity,
  deviceListener,
  type Identity,
  type RecordChange,
  type TokenLimits,
} from '../../../src/identity/index.ts';
import {
  type AddressLookup,
  createAddressGuard,
  createLog,
  type Database,
  type Environment,
  systemIdGenerator,
} from '../../../src/platform/index.ts';
import { createProvisioning, type Provisioning } from '../../../src/provisioning/index.ts';
import { testDatabase } from '../database/test-database.ts';
import { type MovableClock, movableClock, sharedPasswordStrength } from '../identity/test-realm.ts';
import { testAudit } from '../test-audit.ts';
import { merchantBody } from './test-provisioning.ts';

export { makeCertificate };

/** A private key and its certificate, both PEM. */
export type CertificateAndKey = { readonly cert: string; readonly key: string };
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  readonly body: any;
};
export type DeviceRequestOptions = {
  readonly method?: string;
  readonly token?: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly raw?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Keeps its connection; without an agent each request opens a new one. */
  readonly agent?: Agent;
  readonly certificate?: CertificateAndKey | undefined;
};

export type TestTerminal = {
  readonly merchantId: string;
  readonly storeId: string;
  readonly logicalDeviceId: string;
  readonly physicalDeviceId: string;
  readonly serialNumber: string;
  readonly tsn: string;
};

export type TestDevices = {
  readonly identity: Identity;
  readonly app: FastifyInstance;
  readonly provisioning: Provisioning;
  readonly database: Database;
  readonly clock: MovableClock;
  readonly masterKey: Buffer;
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly apiPort: number;
  readonly devicePort: number;
  /** The authority of the server certificate. */
  readonly ca: string;
  /** A token of an application with all permissions in the organisation. */
  readonly token: string;
  agent(certificate?: CertificateAndKey, options?: object): Agent;
  api(path: string, options?: DeviceRequestOptions): Promise<Answer>;
  device(path: string, options?: DeviceRequestOptions): Promise<Answer>;
  /**
   * Creates a merchant with a store and a terminal; with `merchantId`, a terminal of that merchant.
   */
  createTerminal(facts?: {
    family?: string;
    merchantId?: string;
    isLinked?: boolean;
  }): Promise<TestTerminal>;
  certify(physicalDeviceId: string, key?: KeyKind): Promise<CertificateAndKey & DeviceCertificate>;
  /** Gets the credentials of the device from merchants-credentials. */
  credentials(
    certificate: CertificateAndKey,
  ): Promise<{ client_id: string; client_secret: string }>;
  close(): Promise<void>;
};

export type KeyKind = keyof typeof keyKinds;

const ecdsa = (namedCurve: string) => ({ name: 'ECDSA', namedCurve, hash: 'SHA-256' });
const rsa = (modulusLength: number, hash = 'SHA-256') => ({
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash,
});
const keyKinds = {
  'P-256': ecdsa('P-256'),
  'P-384': { ...ecdsa('P-384'), hash: 'SHA-384' },
  'P-521': { ...ecdsa('P-521'), hash: 'SHA-512' },
  'RSA-1024': rsa(1024),
  'RSA-2048': rsa(2048),
  'RSA-2048 with SHA-1': rsa(2048, 'SHA-1'),
};

export type GeneratedCertificateRequest = {
  readonly key: string;
  readonly csr: string;
  readonly der: Buffer;
};

/** A key and a PKCS#10 request signed by it, as a device makes them. */
export async function createCertificateRequest(
  kind: KeyKind = 'P-256',
  name = 'CN=any-device',
): Promise<GeneratedCertificateRequest> {
  const algorithm = keyKinds[kind];
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const signingAlgorithm = algorithm as unknown as EcdsaParams;
  const csr = await Pkcs10CertificateRequestGenerator.create(
    { name, keys, signingAlgorithm },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    key: PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    csr: csr.toString('pem'),
    der: Buffer.from(csr.rawData),
  };
}

type EcdsaParams = { readonly name: string; readonly hash: string };

function contentTypeOf({ form, json }: DeviceRequestOptions): string | undefined {
  if (json !== undefined) return 'application/json';
  return form === undefined ? undefined : 'application/x-www-form-urlencoded';
}

function send(
  port: number,
  path: string,
  agent: Agent,
  options: DeviceRequestOptions,
): Promise<Answer> {
  const { token, form, json, raw } = options;
  const body =
    raw ??
    (form === undefined
      ? json === undefined
        ? undefined
        : JSON.stringify(json)
      : new URLSearchParams(form).toString());
  const headers = {
    ...defined({
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'content-type': contentTypeOf(options),
      'content-length': body === undefined ? undefined : String(Buffer.byteLength(body)),
    }),
    ...options.headers,
  };
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, method, headers, agent }, (answer) => {
      readAll(answer).then((text) => {
        const status = answer.statusCode ?? 0;
        resolve({ status, headers: answer.headers, body: text === '' ? {} : JSON.parse(text) });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

let serials = 40_000_000;

export async function openDevices(
  options: {
    authorityFile?: string;
    /** In production only claimed terminals connect. */
    environment?: Environment;
    /** Resolves hosts of acquirer links. */
    lookup?: AddressLookup;
    trustedProxy?: readonly string[];
    tokenLimits?: TokenLimits;
    recordChange?: RecordChange;
    rateLimits?: RatePolicies;
    /** Default: the shared database. */
    database?: Database | undefined;
    /** Registers further modules behind the same listeners. */
    register?: (
      app: FastifyInstance,
      parts: Pick<TestDevices, 'database' | 'clock' | 'provisioning' | 'masterKey' | 'identity'> &
        Pick<Http, 'upgrades'>,
    ) => void;
  } = {},
): Promise<TestDevices> {
  const { authorityFile, trustedProxy } = options;
  const database = options.database ?? (await testDatabase());
  const clock = movableClock(Date.now());
  const masterKey = randomBytes(32);
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const provisioning = createProvisioning({
    database,
    clock,
    ids: systemIdGenerator,
    audit: testAudit(database, clock),
    isOperator: (organizationId) => identity.isOperator(organizationId),
    linkGuard: createAddressGuard({
      allowsLoopback: options.environment !== 'production',
      lookup: options.lookup,
    }),
  });
  const identity: Identity = createIdentity({
    database,
    settings: {
      authUrl: 'https://localhost:8443',
      environment: options.environment ?? 'demo',
      deviceCaFile: authorityFile,
      trustProxy: trustedProxy,
    },
    clock,
    ids: systemIdGenerator,
    log,
    masterKey,
    passwordStrength: sharedPasswordStrength,
    passwordHasher: testPasswordHasher,
    ...defined({ tokenLimits: options.tokenLimits, recordChange: options.recordChange }),
    findDevice: provisioning.findDevice,
    terminalClaims: provisioning.terminalClaims,
    findTerminal: async (scope, id) => (await provisioning.physicalDevices.get(scope, id)).view,
    findMerchantName: async (organization, id) =>
      (await provisioning.merchants.get({ organizationId: organization }, id)).view.name,
  });
  const server = await makeCertificate('server');
  const tls = { ...server, clientAuthorities: await identity.devices.authorities() };
  const baseUrl = 'https://localhost:8443';
  const http = await createHttp({
    settings: { host: '127.0.0.1', port: 0, baseUrl, authUrl: baseUrl, trustProxy: trustedProxy },
    log,
    ids: systemIdGenerator,
    eagerSchemas: true,
    // Tests share a machine, so a slow moment must not cause an overload response.
    loadLimits: highLoadLimits,
    validatesResponses: true,
    ...defined({ rateLimits: options.rateLimits }),
    verifyToken: identity.verifyToken,
    certificates: identity.devices.reader,
    tls,
    deviceListener: { port: 0, tls, ...deviceListener },
  });
  await identity.register(http.app);
  await identity.registerDevices(http.app);
  provisioning.register(http.app);
  const { upgrades } = http;
  options.register?.(http.app, { database, clock, provisioning, masterKey, identity, upgrades });
  const { port: apiPort, devicePort = 0 } = await http.listen();

  const organizationId = systemIdGenerator.uuid();
  const userDomainId = `realm-${organizationId}`;
  const scope = { organizationId };
  await provisioning.organizations.create(scope, { name: 'Acquirer' }, organizationId);
  await identity.createUserDomain({ userDomainId, organizationId });
  const agents = new Set<Agent>();

  const setup: TestDevices = {
    identity,
    app: http.app,
    provisioning,
    database,
    clock,
    masterKey,
    organizationId,
    userDomainId,
    apiPort,
    devicePort,
    ca: server.cert,
    token: await tokenOf(),
    agent(certificate, more = {}) {
      const made = new Agent({
        ca: server.cert,
        keepAlive: true,
        maxSockets: 1,
        ...certificate,
        ...more,
      });
      agents.add(made);
      return made;
    },
    api: (path, options = {}) => sendOnce(apiPort, path, options),
    device: (path, options = {}) => sendOnce(devicePort, path, options),
    async createTerminal({ family = 'axium', merchantId: given, isLinked = true } = {}) {
      serials += 1;
      const serialNumber = String(serials);
      const merchantId =
        given ?? (await provisioning.merchants.create(scope, merchantBody('Shop'))).view.merchantId;
      const store = await provisioning.stores.create(scope, { merchantId, name: 'Store' });
      const { storeId } = store.view;
      const logicalDevice = await provisioning.logicalDevices.create(scope, {
        storeId,
        name: 'Till',
      });
      const make = family === 'tetra' ? 'TETRA' : 'AXIUM';
      const model = family === 'tetra' ? 'LANE3000' : 'DX8000';
      const hardware = { serialNumber, make, model, family, merchantId };
      const { view } = await provisioning.physicalDevices.create(scope, hardware);
      const { logicalDeviceId } = logicalDevice.view;
      const { physicalDeviceId, tsn } = view;
      if (isLinked) {
        await provisioning.logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [
          physicalDeviceId,
        ]);
      }
      return { merchantId, storeId, logicalDeviceId, physicalDeviceId, serialNumber, tsn };
    },
    async certify(physicalDeviceId, kind) {
      const { key, csr: certificateRequest } = await createCertificateRequest(kind);
      const made = await identity.devices.certificates.enrol(scope, physicalDeviceId, {
        certificateRequest,
      });
      return { ...made, key, cert: made.certificateChain };
    },
    async credentials(certificate) {
      const { body } = await setup.device(`${deviceListener.prefix}merchants-credentials`, {
        certificate,
      });
      const [{ clientId: client_id, clientSecret: client_secret }] = body;
      return { client_id, client_secret };
    },
    async close() {
      for (const agent of agents) agent.destroy();
      await http.close();
      await identity.close();
    },
  };

  async function sendOnce(
    port: number,
    path: string,
    options: DeviceRequestOptions,
  ): Promise<Answer> {
    if (options.agent !== undefined) return send(port, path, options.agent, options);
    const once = new Agent({ ca: server.cert, maxCachedSessions: 0, ...options.certificate });
    try {
      return await send(port, path, once, options);
    } finally {
      once.destroy();
    }
  }

  async function tokenOf(): Promise<string> {
    const client = await identity.createApplication({
      organizationId,
      userDomainId,
      name: 'Back office',
      entityType: 'tenant',
      entityId: organizationId,
      roles: ['AcquirerAdministrator'],
      securityFlows: ['ClientCredentials'],
    });
    const answer = await sendOnce(apiPort, `/oauth2/v1/${userDomainId}/token`, {
      form: {
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
      },
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.access_token;
  }

  return setup;
}
