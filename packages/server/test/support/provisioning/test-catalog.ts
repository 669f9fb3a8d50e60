// The catalog with the platform's HTTP layer over a real database, and the server of a provider.

import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defined, ProblemError, permissions } from '@switchyard/contract';
import { createAudit } from '../../../src/audit/index.ts';
import { type Catalog, createCatalog } from '../../../src/catalog/index.ts';
import { type Caller, createHttp } from '../../../src/http/index.ts';
import {
  createLog,
  createOutgoingCalls,
  type Database,
  type Job,
  type JobHandler,
  type Reschedule,
  systemIdGenerator,
} from '../../../src/platform/index.ts';
import { createProvisioning, type Provisioning } from '../../../src/provisioning/index.ts';
import { testDatabase } from '../database/test-database.ts';
import { highLoadLimits } from '../high-load-limits.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
type Body = Record<string, any>;
export type Answer = { status: number; headers: Record<string, unknown>; body: Body };

export type MerchantWithDevice = {
  merchantId: string;
  storeId: string;
  deviceId: string;
  /** An access token that is bound to the merchant. */
  token: string;
};

export type TestCatalog = {
  readonly database: Database;
  readonly catalog: Catalog;
  readonly provisioning: Provisioning;
  readonly organizationId: string;
  readonly providerId: string;
  readonly otherId: string;
  /**
   * The caller is `org`, `provider`, `other` (a third organisation), `nobody`, or the token of a
   * merchant.
   */
  call(
    token: string,
    method: string,
    path: string,
    body?: unknown,
    ifMatch?: string,
  ): Promise<Answer>;
  /** Sends a request and asserts success. */
  done(token: string, method: string, path: string, body?: unknown): Promise<Body>;
  createMerchant(name?: string): Promise<MerchantWithDevice>;
  device(storeId: string): Promise<string>;
  /** An access token that was issued to a device. */
  deviceToken(merchant: MerchantWithDevice): string;
  /** Creates a published service of `provider`. */
  service(declaration?: object): Promise<Body>;
  /** Creates a published service to which the organisation is subscribed. */
  subscribed(declaration?: object): Promise<Body>;
  /** Runs each waiting job once and returns the jobs to retry, with their due times. */
  work(): Promise<Reschedule[]>;
  close(): Promise<void>;
};

const baseUrl = 'https://localhost:8443';
const callTimeoutMs = 2000;

/** Jobs in memory, so that no other platform of the same database runs them. */
function createQueue() {
  const handlers = new Map<string, JobHandler>();
  let waiting: Job[] = [];
  return {
    jobs: {
      handle: (kind: string, handler: JobHandler) => void handlers.set(kind, handler),
      async enqueue({
        organizationId,
        kind,
        payload,
        dueAt = 0,
      }: Omit<Job, 'jobId' | 'attempts' | 'dueAt'> & { dueAt?: number }) {
        // Jobs that are due later, such as audit checkpoints, are not part of these tests.
        if (dueAt > 0) return;
        waiting.push({
          organizationId,
          jobId: systemIdGenerator.uuid(),
          kind,
          payload,
          attempts: 0,
          dueAt,
        });
      },
      wake: () => {},
    },
    async work(): Promise<Reschedule[]> {
      const due = waiting;
      waiting = [];
      const laters = await Promise.all(
        due.map(async (job) => {
          const later = await handlers.get(job.kind)?.(job);
          if (later === undefined) return undefined;
          const attempts = job.attempts + (later.countAttempt === false ? 0 : 1);
          waiting.push({ ...job, attempts });
          return later;
        }),
      );
      return laters.filter((later) => later !== undefined);
    },
  };
}

function createCallers(organizationId: string) {
  const callers = new Map<string, Caller>();
  return {
    add(token: string, facts: Partial<Caller>): void {
      callers.set(token, {
        subject: token,
        clientId: token,
        realm: 'test',
        organizationId,
        tokenId: token,
        entityType: 'tenant',
        entityId: facts.organizationId ?? organizationId,
        permissions: new Set(permissions),
        expiresAt: Number.MAX_SAFE_INTEGER,
        ...facts,
      });
    },
    async verify(token: string): Promise<Caller> {
      const caller = callers.get(token);
      if (caller === undefined) throw new ProblemError('token_invalid', 'Unknown.');
      return caller;
    },
  };
}

export async function openCatalog(): Promise<TestCatalog> {
  const database = await testDatabase();
  const clock = { now: () => Date.now() };
  const ids = systemIdGenerator;
  const log = createLog({ logLevel: 'error', instanceName: 'test' });
  const [organizationId, providerId, otherId] = [ids.uuid(), ids.uuid(), ids.uuid()];
  const { jobs, work } = createQueue();
  const masterKey = Buffer.alloc(32, 5);
  const audit = createAudit({ database, clock, jobs, masterKey });
  const provisioning = createProvisioning({ database, clock, ids, audit });
  const calls = createOutgoingCalls({ allowsLoopback: true, timeoutMs: callTimeoutMs });
  const catalog = createCatalog({
    database,
    clock,
    ids,
    log,
    masterKey,
    jobs,
    audit,
    provisioning,
    calls,
    baseUrl,
    retryDelaysMs: [10, 20],
  });
  const callers = createCallers(organizationId);
  const { app, close } = await createHttp({
    settings: { host: 'localhost', port: 0, baseUrl, authUrl: baseUrl },
    log,
    ids,
    eagerSchemas: true,
    validatesResponses: true,
    verifyToken: callers.verify,
    loadLimits: highLoadLimits,
  });
  provisioning.register(app);
  catalog.register(app);
  audit.register(app);
  await app.ready();
  for (const id of [organizationId, providerId, otherId]) {
    await provisioning.organizations.create({ organizationId: id }, { name: 'Acquirer' }, id);
  }
  callers.add('org', {});
  callers.add('provider', { organizationId: providerId });
  callers.add('other', { organizationId: otherId });
  callers.add('nobody', { permissions: new Set() });
  const scope = { organizationId };

  const setup: TestCatalog = {
    database,
    catalog,
    provisioning,
    organizationId,
    providerId,
    otherId,
    work,
    close: () => close(),
    async call(token, method, path, body, ifMatch) {
      const response = await app.inject({
        method: method as 'GET',
        url: /^\/(?:audit|configuration)\//.test(path) ? path : `/service-catalog/v1${path}`,
        headers: {
          authorization: `Bearer ${token}`,
          ...defined({
            'content-type': body === undefined ? undefined : 'application/json',
            'if-match': ifMatch,
          }),
        },
        ...defined({ payload: body === undefined ? undefined : JSON.stringify(body) }),
      });
      const json = response.body === '' ? {} : response.json<Body>();
      return { status: response.statusCode, headers: response.headers, body: json };
    },
    async done(token, method, path, body) {
      const answer = await setup.call(token, method, path, body);
      assert.ok(answer.status < 300, JSON.stringify(answer.body));
      return answer.body;
    },
    async createMerchant(name = `merchant-${systemIdGenerator.uuid()}`) {
      const merchant = { name, country: 'FR', mcc: '5814', timeZone: 'Europe/Paris' };
      const { merchantId } = (await provisioning.merchants.create(scope, merchant)).view;
      const { storeId } = (await provisioning.stores.create(scope, { merchantId, name })).view;
      callers.add(name, { entityType: 'merchant', entityId: merchantId, merchantId });
      return { merchantId, storeId, deviceId: await setup.device(storeId), token: name };
    },
    async device(storeId) {
      const made = await provisioning.logicalDevices.create(scope, { storeId, name: 'Till' });
      return made.view.logicalDeviceId;
    },
    deviceToken({ merchantId, storeId, deviceId }) {
      const bound = { merchantId, storeId, deviceId };
      const rights = { permissions: new Set(['conf.read'] as const) };
      callers.add(deviceId, { entityType: 'merchant', entityId: merchantId, ...bound, ...rights });
      return deviceId;
    },
    async service(declaration = {}) {
      const serviceInput = { name: 'QR', domain: 'Payments', ...declaration };
      const declared = await setup.done('provider', 'POST', '/services', serviceInput);
      await setup.done('provider', 'POST', `/services/${declared['serviceId']}/publish`);
      return declared;
    },
    async subscribed(declaration) {
      const service = await setup.service(declaration);
      const offer = { name: 'Offer', serviceIds: [service['serviceId']] };
      const { packageId } = await setup.done('org', 'POST', '/packages', offer);
      await setup.done('org', 'POST', '/subscriptions', { packageId });
      return service;
    },
  };
  return setup;
}

export type ProviderCall = { headers: IncomingHttpHeaders; body: string };
export type ProviderScript = (call: ProviderCall, reply: ServerResponse) => unknown;

export type Provider = {
  readonly url: string;
  readonly calls: ProviderCall[];
  /** The response of the provider from now on. */
  script: ProviderScript;
  close(): Promise<void>;
};

export const answering =
  (status: number, body: unknown = ''): ProviderScript =>
  (_call, reply) => {
    reply.writeHead(status, { 'content-type': 'application/json' });
    reply.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** The server of a service provider, which answers as its script defines. */
export async function openProvider(): Promise<Provider> {
  const server = createServer((request, reply) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const call = { headers: request.headers, body };
      provider.calls.push(call);
      void provider.script(call, reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider: Provider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/spi`,
    calls: [],
    script: answering(200, { status: 'Accepted' }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return provider;
}
