// Makes the seat of the platform: the operator's organisation, its user domain and its application, each once.
import { randomUUID } from 'node:crypto';
import {
  type Application,
  createApplication,
  prepareDatabase,
} from '../../packages/server/src/application.ts';
import { createCommandLineApplication } from '../../packages/server/src/onboarding/index.ts';
import {
  type Database,
  omitCardSettings,
  readSettings,
} from '../../packages/server/src/platform/index.ts';
import { withDatabase } from '../open-platform-database.ts';

export type Wanted = {
  readonly command: 'create' | 'rotate-secret';
  readonly name: string;
  readonly domain: string;
  /** The mail address of a first administrator; left out, there is the application alone. */
  readonly administrator?: string | undefined;
};

export type Seat = {
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Who gets a link by mail, as soon as a platform runs. */
  readonly invited?: string;
};

type Standing = { readonly organizationId: string; readonly clientId: string };

/** A sentence for whoever gave the command, and no fault of ours. */
export class SeatFault extends Error {}

const role = 'PlatformOperator';
const applicationName = 'Operator of the platform';

export type Open = { readonly house: Application; readonly database: Database };

/** Works beside a running platform, and before its first start: the schema is brought up to date. */
export async function withPlatform<T>(work: (open: Open) => Promise<T>): Promise<T> {
  // No card is seen here, so the keys of cards are left alone.
  const settings = readSettings(omitCardSettings(process.env));
  return withDatabase(settings, { name: 'operator', connections: 2 }, async ({ database, log }) => {
    await prepareDatabase({ settings, database, log });
    // Never started: what is ordered here, such as a mail, a running platform does.
    const house = await createApplication({ settings, database, log });
    try {
      return await work({ house, database });
    } finally {
      await house.stop();
    }
  });
}

async function standingOf(database: Database): Promise<Standing | undefined> {
  const [row] = await database.query<{ organization_id: string; client_id: string }>(
    `SELECT organization_id, client_id FROM applications
     WHERE roles @> $1::jsonb AND removed_at IS NULL ORDER BY created_at LIMIT 1`,
    [JSON.stringify([role])],
  );
  return row && { organizationId: row.organization_id, clientId: row.client_id };
}

/** A command that was cut short has left the domain, whose organisation is used again. */
async function organizationOf(database: Database, domain: string): Promise<string | undefined> {
  const [row] = await database.query<{ organization_id: string }>(
    'SELECT organization_id FROM user_domains WHERE user_domain_id = $1',
    [domain],
  );
  return row?.organization_id;
}

async function demandOwn({ provisioning }: Application, organizationId: string, name: string) {
  const { view } = await provisioning.organizations.get({ organizationId }, organizationId);
  if (view.name === name) return;
  throw new SeatFault(`the user domain belongs to ${view.name} already: choose another --domain`);
}

async function invite({ identity }: Application, seat: Seat, email: string): Promise<void> {
  const { organizationId, userDomainId } = seat;
  await identity.accounts.invite({
    organizationId,
    userDomainId,
    email,
    username: email.toLowerCase(),
    entityType: 'tenant',
    entityId: organizationId,
    secondFactor: 'Required',
    groups: [`${organizationId}_org_admin`],
  });
}

export async function createSeat({ house, database }: Open, wanted: Wanted): Promise<Seat> {
  const { name, domain: userDomainId, administrator } = wanted;
  const standing = await standingOf(database);
  if (standing !== undefined) {
    throw new SeatFault(
      `the platform has an operator: application ${standing.clientId} of organisation ${standing.organizationId}. rotate-secret gives it a new secret`,
    );
  }
  const known = await organizationOf(database, userDomainId);
  if (known !== undefined) await demandOwn(house, known, name);
  const organizationId = known ?? randomUUID();
  const { identity, provisioning } = house;
  await provisioning.organizations.createIfNew({ organizationId }, { name }, organizationId);
  if (known === undefined) await identity.createUserDomain({ userDomainId, organizationId });
  await createCommandLineApplication(identity, { organizationId, userDomainId });
  const credentials = await identity.createApplication({
    organizationId,
    userDomainId,
    name: applicationName,
    roles: [role],
    entityType: 'tenant',
    entityId: organizationId,
    securityFlows: ['ClientCredentials'],
  });
  const seat = { organizationId, userDomainId, ...credentials };
  if (administrator === undefined) return seat;
  await invite(house, seat, administrator);
  return { ...seat, invited: administrator };
}

/** For a lost secret: the old one is dead from here on. */
export async function renewSeat({ house, database }: Open): Promise<Seat> {
  const standing = await standingOf(database);
  if (standing === undefined)
    throw new SeatFault('the platform has no operator yet: create makes it');
  const { organizationId, clientId } = standing;
  const { clientSecret } = await house.identity.rotateSecret(organizationId, clientId);
  const userDomainId = (await house.identity.findUserDomain(organizationId)) ?? '';
  return { organizationId, userDomainId, clientId, clientSecret };
}
