// Makes what asks for tokens: applications and people of one realm, and realms by the thousand.
import { generateKeyPair, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { createApplicationStore } from '../../../packages/server/src/identity/clients/application-sql.ts';
import { createApplications } from '../../../packages/server/src/identity/clients/applications.ts';
import { recordNothing } from '../../../packages/server/src/identity/infrastructure/audit-port.ts';
import { createChangeCounter } from '../../../packages/server/src/identity/infrastructure/change-counter.ts';
import { createRealmStore } from '../../../packages/server/src/identity/realms-and-keys/realm-sql.ts';
import {
  createKeyRing,
  type GeneratePrivateKey,
} from '../../../packages/server/src/identity/realms-and-keys/signing-keys.ts';
import { systemClock, systemIdGenerator } from '../../../packages/server/src/platform/index.ts';
import type { Platform } from '../environment/platform.ts';
import {
  createClient,
  createPasswordClient,
  createUser,
  type Organization,
  readPlatformKey,
  withIdentity,
} from '../environment/provision-in-database.ts';
import type { Credentials } from '../environment/send-single-request.ts';

/** Each is limited to 6,000 tokens a minute. */
const applicationsCount = 240;
const usersCount = 64;
/** People sign in at these by turns: refreshes of one alone would meet the same limit. */
const passwordClientsCount = 16;
const realmsAtOnce = 8;
const generate = promisify(generateKeyPair);

/** `clientId` is public, with the password grant. */
export type BenchUser = { username: string; password: string; clientId: string };
export type TokenProvision = Organization & { applications: Credentials[]; users: BenchUser[] };
export type ManyRealms = { realm: string; credentials: Credentials }[];

/** Before the server starts. */
export function provisionTokens(platform: Platform): Promise<TokenProvision> {
  const organizationId = systemIdGenerator.uuid();
  const realm = `bench-${randomUUID().slice(0, 8)}`;
  const organization = { organizationId, realm };
  return withIdentity(platform, async (identity) => {
    await identity.createUserDomain({ userDomainId: realm, organizationId });
    const applications: Credentials[] = [];
    while (applications.length < applicationsCount) {
      const name = `Till ${applications.length}`;
      applications.push(await createClient(identity, organization, 'PointOfSaleTerminal', name));
    }
    const clientIds: string[] = [];
    while (clientIds.length < passwordClientsCount) {
      const name = `Devices ${clientIds.length}`;
      clientIds.push(await createPasswordClient(identity, organization, name));
    }
    const users: BenchUser[] = [];
    while (users.length < usersCount) {
      const clientId = clientIds[users.length % clientIds.length] ?? '';
      const user = await createUser(identity, organization, `clerk-${users.length}`);
      users.push({ ...user, clientId });
    }
    return { ...organization, applications, users };
  });
}

/** An RSA key takes a tenth of a second to make: realms by the thousand take turns with a few. */
async function fewKeys(count: number): Promise<GeneratePrivateKey> {
  const made = await Promise.all(
    Array.from({ length: count }, async () => ({
      ES256: (await generate('ec', { namedCurve: 'P-256' })).privateKey,
      RS256: (await generate('rsa', { modulusLength: 2048 })).privateKey,
    })),
  );
  let at = 0;
  return async (algorithm) => {
    at += 1;
    const pair = made[at % made.length];
    if (pair === undefined) throw new Error('no keys were made');
    return pair[algorithm];
  };
}

/** Each with an organisation, keys and one application of its own. */
export async function provisionRealms(platform: Platform, count: number): Promise<ManyRealms> {
  const { database } = platform;
  const keyRing = createKeyRing(readPlatformKey(platform), await fewKeys(realmsAtOnce));
  const store = createRealmStore(database);
  const applications = createApplications({
    store: createApplicationStore(database),
    clock: systemClock,
    ids: systemIdGenerator,
    changeCounter: createChangeCounter(),
    // Thousands of realms at once, which no organisation asks about.
    recordChange: recordNothing,
  });

  async function makeRealm(number: number): Promise<ManyRealms[number]> {
    const organizationId = systemIdGenerator.uuid();
    const realm = `many-${number}`;
    const now = systemClock.now();
    const keys = await keyRing.createSealedKeys(organizationId, now);
    const domain = { userDomainId: realm, organizationId, status: 'Enabled' } as const;
    if (!(await store.insertDomain(domain, keys, now))) throw new Error(`${realm} is there`);
    const credentials = await applications.create({
      organizationId,
      name: 'Till',
      entityType: 'tenant',
      entityId: organizationId,
      roles: ['PointOfSaleTerminal'],
      securityFlows: ['ClientCredentials'],
    });
    return { realm, credentials };
  }

  const realms: ManyRealms = [];
  for (let from = 0; from < count; from += realmsAtOnce) {
    const numbers = Array.from(
      { length: Math.min(realmsAtOnce, count - from) },
      (_, at) => from + at,
    );
    realms.push(...(await Promise.all(numbers.map(makeRealm))));
  }
  return realms;
}
