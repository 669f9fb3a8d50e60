// A realm with one application over a real database, for the tests of the identity module.
import { randomBytes, randomUUID } from 'node:crypto';
import { defined } from '@switchyard/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import { createPasswordStrength } from '../../../src/identity/accounts/passwords/password-strength.ts';
import {
  createIdentity,
  type FindDevice,
  type Identity,
  type IdentityDeps,
  type NewApplication,
  type TokenLimits,
} from '../../../src/identity/index.ts';
import {
  type Clock,
  createLog,
  type Database,
  systemIdGenerator,
} from '../../../src/platform/index.ts';
import { makeRealmKey } from '../processes/realm-key-pool.ts';

import { testPasswordHasher } from './test-password-hasher.ts';

export { type MovableClock, movableClock } from '../movable-clock.ts';

export const authUrl = 'https://localhost:8443';

export type TestRealm = {
  readonly identity: Identity;
  readonly app: FastifyInstance;
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly tokenPath: string;
  createApplication(
    facts?: Partial<NewApplication>,
  ): Promise<{ clientId: string; clientSecret: string }>;
  /** Posts a form, as an OAuth client does. */
  post(
    path: string,
    form: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<RealmResponse>;
  /** Creates a public application with the password grant and returns its client id. */
  createPasswordClient(facts?: Partial<NewApplication>): Promise<string>;
  /** Gets an access token by the client credentials grant. */
  getToken(client: { clientId: string; clientSecret: string }): Promise<string>;
  close(): Promise<void>;
};

export type RealmResponse = {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Record<string, unknown>;
};

export type TestRealmOptions = {
  readonly database: Database;
  readonly clock: Clock;
  readonly masterKey?: Buffer;
  readonly tokenLimits?: TokenLimits;
  readonly attemptLimits?: IdentityDeps['attemptLimits'];
  readonly jobs?: IdentityDeps['jobs'];
  readonly mail?: IdentityDeps['mail'];
  /** Default: an address that no test opens. */
  readonly authUrl?: string;
  /** Default: as strict as production. */
  readonly environment?: 'demo' | 'test' | 'production';
  /** Settings of the sign-in pages. */
  readonly pages?: Pick<
    IdentityDeps['settings'],
    'portalDomain' | 'signInBrandName' | 'supportContact'
  >;
  /** Default: no device exists. */
  readonly findDevice?: FindDevice;
  /** Default: a plain server that accepts only injected requests. */
  openApp?(identity: Identity): Promise<FastifyInstance>;
};

const passwordStrength = createPasswordStrength();
/**
 * All realms of the process share it, because loading the word lists takes a second of CPU time.
 */
export const sharedPasswordStrength = { ...passwordStrength, close: async () => {} };

/** The default limits are those of production, which are well above the calls of a test. */
export async function openTestRealm(deps: TestRealmOptions): Promise<TestRealm> {
  const { database, clock, masterKey = randomBytes(32), tokenLimits } = deps;
  const log = createLog({ logLevel: 'silent', instanceName: 'test' });
  const identity = createIdentity({
    database,
    settings: {
      authUrl: deps.authUrl ?? authUrl,
      ...defined({ environment: deps.environment }),
      ...deps.pages,
    },
    clock,
    ids: systemIdGenerator,
    log,
    masterKey,
    generatePrivateKey: makeRealmKey,
    findDevice: deps.findDevice ?? (async () => undefined),
    passwordStrength: sharedPasswordStrength,
    passwordHasher: testPasswordHasher,
    ...defined({
      tokenLimits,
      attemptLimits: deps.attemptLimits,
      jobs: deps.jobs,
      mail: deps.mail,
    }),
  });
  const organizationId = randomUUID();
  const userDomainId = `realm-${randomUUID()}`;
  await identity.createUserDomain({ userDomainId, organizationId });
  const app = deps.openApp === undefined ? Fastify() : await deps.openApp(identity);
  await identity.register(app);

  const realm: TestRealm = {
    identity,
    app,
    organizationId,
    userDomainId,
    tokenPath: `/oauth2/v1/${userDomainId}/token`,
    createApplication: (facts) =>
      identity.createApplication({
        organizationId,
        userDomainId,
        name: 'Till 7',
        entityType: 'tenant',
        entityId: organizationId,
        roles: ['PointOfSaleTerminal'],
        securityFlows: ['ClientCredentials'],
        ...facts,
      }),
    async createPasswordClient(facts) {
      const { clientId } = await identity.createPublicApplication({
        organizationId,
        userDomainId,
        name: 'Device',
        entityType: 'tenant',
        entityId: organizationId,
        roles: [],
        securityFlows: ['Password'],
        ...facts,
      });
      return clientId;
    },
    async post(path, form, headers = {}) {
      const response = await app.inject({
        method: 'POST',
        url: path,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: new URLSearchParams(form).toString(),
      });
      return {
        status: response.statusCode,
        headers: response.headers,
        body: response.body === '' ? {} : response.json(),
      };
    },
    async getToken({ clientId, clientSecret }) {
      const { body } = await realm.post(realm.tokenPath, {
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      });
      return String(body['access_token']);
    },
    async close() {
      await app.close();
      await identity.close();
    },
  };
  return realm;
}
