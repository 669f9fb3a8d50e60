// Provisioning with the platform's HTTP layer over a real database, with callers of each kind.

import assert from 'node:assert/strict';
import { defined, ProblemError, permissions } from '@switchyard/contract';
import type { Audit } from '../../../src/audit/index.ts';
import { type Caller, createHttp, type Http } from '../../../src/http/index.ts';
import {
  type Clock,
  createLog,
  type Database,
  systemIdGenerator,
} from '../../../src/platform/index.ts';
import {
  createProvisioning,
  type Provisioning,
  type ProvisioningDeps,
} from '../../../src/provisioning/index.ts';
import { testDatabase } from '../database/test-database.ts';
import { highLoadLimits } from '../high-load-limits.ts';
import { testAudit } from '../test-audit.ts';

export type Answer = {
  status: number;
  headers: Record<string, unknown>;
  body: Record<string, unknown>;
};
export type Call = { body?: unknown; headers?: Record<string, string> };
export type MerchantWithStore = { merchantId: string; storeId: string; token: string };

export type TestProvisioning = {
  readonly provisioning: Provisioning;
  readonly database: Database;
  readonly organizationId: string;
  /** The audit, whose routes are also open. */
  readonly audit: Audit;
  /** Sends requests to paths outside /provisioning/v2. */
  readonly app: Http['app'];
  /** Adds a token for a caller like `org`, with these changes. */
  addCaller(token: string, facts: Partial<Caller>): void;
  /**
   * The caller is `org`, `reader`, `nobody`, `other` (another organisation), or the name of a merchant.
   */
  call(token: string, method: string, path: string, options?: Call): Promise<Answer>;
  /** Sends a POST and asserts status 201. */
  made(token: string, path: string, body: unknown): Promise<Record<string, string>>;
  /** Creates a merchant with a store and a token that is bound to it. */
  createMerchant(name: string): Promise<MerchantWithStore>;
  close(): Promise<void>;
};

export const merchantBody = (name: string) => ({
  name,
  country: 'FR',
  mcc: '5814',
  timeZone: 'Europe/Paris',
});

export const contractBody = (acquirerLink: string, head: string) => ({
  acquirerLink,
  acquirerMerchantId: '100000000000001',
  terminalIdRange: { from: `${head}0001`, to: `${head}0099` },
  currencies: ['EUR', 'JPY'],
  captureModes: ['Immediate', 'Deferred'],
});

let serials = 30_000_000;

export function deviceBody() {
  serials += 1;
  return { serialNumber: String(serials), make: 'AXIUM', model: 'DX8000', family: 'axium' };
}

export function assertRefused(answer: Answer, status: number, code: string, pointer?: string) {
  assert.deepEqual([answer.status, answer.body['code']], [status, code]);
  const errors = (answer.body['errors'] ?? []) as { pointer: string }[];
  if (pointer !== undefined) assert.equal(errors[0]?.pointer, pointer);
}

/** The callers of one organisation by token; all other tokens are refused. */
function createCallers(organizationId: string) {
  const callers = new Map<string, Caller>();
  return {
    add(token: string, facts: Partial<Caller>): void {
      callers.set(token, {
        subject: token,
        clientId: token,
        realm: 'test',
        organizationId,
        entityType: 'tenant',
        entityId: organizationId,
        permissions: new Set(permissions),
        expiresAt: Number.MAX_SAFE_INTEGER,
        tokenId: token,
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

const baseUrl = 'https://localhost:8443';

const nothing = async () => {};
/** These tests request no token for a point of sale. */
const noApplications = {
  create: nothing,
  change: nothing,
  rotateSecret: nothing,
  remove: nothing,
  invalidate: () => {},
};

export async function openProvisioning(
  clock: Clock = { now: () => Date.now() },
  deps: Partial<ProvisioningDeps> = {},
): Promise<TestProvisioning> {
  const database = await testDatabase();
  const organizationId = systemIdGenerator.uuid();
  const otherOrganizationId = systemIdGenerator.uuid();
  const audit = testAudit(database, clock);
  const provisioning = createProvisioning({
    database,
    clock,
    ids: systemIdGenerator,
    audit,
    posClients: () => noApplications,
    approvesLinksAtOnce: true,
    ...deps,
  });
  const callers = createCallers(organizationId);
  const { app, close } = await createHttp({
    settings: { host: 'localhost', port: 0, baseUrl, authUrl: baseUrl },
    log: createLog({ logLevel: 'error', instanceName: 'test' }),
    ids: systemIdGenerator,
    eagerSchemas: true,
    loadLimits: highLoadLimits,
    verifyToken: callers.verify,
    findOrganization: provisioning.findOrganization,
  });
  provisioning.register(app);
  audit.register(app);
  await app.ready();
  for (const id of [organizationId, otherOrganizationId]) {
    await provisioning.organizations.create({ organizationId: id }, { name: 'Acquirer' }, id);
  }
  callers.add('org', {});
  callers.add('reader', { permissions: new Set(['prov.read']) });
  callers.add('nobody', { permissions: new Set() });
  callers.add('other', { organizationId: otherOrganizationId, entityId: otherOrganizationId });

  const setup: TestProvisioning = {
    provisioning,
    database,
    organizationId,
    audit,
    app,
    addCaller: callers.add,
    async call(token, method, path, { body, headers = {} } = {}) {
      const isJson = body === undefined ? {} : { 'content-type': 'application/json' };
      const response = await app.inject({
        method: method as 'GET',
        url: `/provisioning/v2${path}`,
        headers: { authorization: `Bearer ${token}`, ...isJson, ...headers },
        ...defined({ payload: body === undefined ? undefined : JSON.stringify(body) }),
      });
      const json = response.body === '' ? {} : response.json<Record<string, unknown>>();
      return { status: response.statusCode, headers: response.headers, body: json };
    },
    async made(token, path, body) {
      const answer = await setup.call(token, 'POST', path, { body });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer.body as Record<string, string>;
    },
    async createMerchant(name) {
      const { merchantId = '' } = await setup.made('org', '/merchants', merchantBody(name));
      const store = await setup.made('org', '/stores', { merchantId, name: `${name} store` });
      callers.add(name, { entityType: 'merchant', entityId: merchantId, merchantId });
      return { merchantId, storeId: store['storeId'] ?? '', token: name };
    },
    close: () => close(),
  };
  return setup;
}
