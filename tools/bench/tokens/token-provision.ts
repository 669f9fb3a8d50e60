// Makes what asks for tokens: applications and people of one realm, and realms by the thousand.
import { generateKeyPair, randomBytes, randomUUID } from 'node:crypto';
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
import {
  type Database,
  type Log,
  readSettings,
  systemClock,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import { type Credentials, openIdentity } from '../environment/provision.ts';

/** Each is limited to 6,000 tokens a minute. */
const applicationsCount = 240;
const usersCount = 64;
/** People sign in at these by turns: refreshes of one alone would meet the same limit. */
const passwordClientsCount = 16;
const realmsAtOnce = 8;
const generate = promisify(generateKeyPair);

/** `clientId` is public, with the password grant. */
export type BenchUser = { username: string; password: string; clientId: string };
export type TokenProvision = {
  organizationId: string;
  realm: string;
  applications: Credentials[];
  users: BenchUser[];
};
export type ManyRealms = { realm: string; credentials: Credentials }[];

type Deps = { database: Database; log: Log; dataDir: string };

/** Straight to the database of a server that does not run yet. */
export async function provisionTokens(deps: Deps): Promise<TokenProvision> {
  const identity = openIdentity(deps);
  const organizationId = systemIds.uuid();
  const realm = `bench-${randomUUID().slice(0, 8)}`;
  await identity.createUserDomain({ userDomainId: realm, organizationId });
  const facts = {
    organizationId,
    userDomainId: realm,
    entityType: 'tenant',
    entityId: organizationId,
  } as const;
  const applications: Credentials[] = [];
  for (let number = 0; number < applicationsCount; number += 1) {
    const made = await identity.createApplication({
      ...facts,
      name: `Till ${number}`,
      roles: ['PointOfSaleTerminal'],
      securityFlows: ['ClientCredentials'],
    });
    applications.push(made);
  }
  const clientIds: string[] = [];
  for (let number = 0; number < passwordClientsCount; number += 1) {
    const { clientId } = await identity.createPublicApplication({
      ...facts,
      name: `Devices ${number}`,
      roles: [],
      securityFlows: ['Password'],
    });
    clientIds.push(clientId);
  }
  const users: BenchUser[] = [];
  for (let number = 0; number < usersCount; number += 1) {
    const clientId = clientIds[number % clientIds.length] ?? '';
    users.push({ ...(await makeUser(identity, { organizationId, realm }, number)), clientId });
  }
  await identity.close();
  return { organizationId, realm, applications, users };
}

async function makeUser(
  identity: ReturnType<typeof openIdentity>,
  { organizationId, realm }: { organizationId: string; realm: string },
  number: number,
): Promise<Omit<BenchUser, 'clientId'>> {
  const username = `clerk-${number}`;
  const password = randomBytes(18).toString('base64url');
  await identity.accounts.create({
    organizationId,
    userDomainId: realm,
    username,
    entityType: 'tenant',
    entityId: organizationId,
    email: `${username}@bench.example`,
    emailVerified: true,
    groups: [],
    secondFactor: 'Off',
    password,
  });
  return { username, password };
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
export async function provisionRealms(deps: Deps, count: number): Promise<ManyRealms> {
  const { database, dataDir } = deps;
  const { platformKey } = readSettings({ SWITCHYARD_DATA_DIR: dataDir });
  const keyRing = createKeyRing(platformKey, await fewKeys(realmsAtOnce));
  const store = createRealmStore(database);
  const applications = createApplications({
    store: createApplicationStore(database),
    clock: systemClock,
    ids: systemIds,
    changeCounter: createChangeCounter(),
    // Thousands of realms at once, which no organisation asks about.
    recordChange: recordNothing,
  });

  async function makeRealm(number: number): Promise<ManyRealms[number]> {
    const organizationId = systemIds.uuid();
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
