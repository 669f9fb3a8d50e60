// `switchyard admin operator`: creates the operator of the platform: the operator's organisation, its user domain and its application, each once.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../../packages/cli/src/command-line/command-runner.ts';
import { fail } from '../../packages/cli/src/runtime/command-error.ts';
import {
  type Application,
  createApplication,
  prepareDatabase,
} from '../../packages/server/src/application.ts';
import { createCommandLineApplication } from '../../packages/server/src/onboarding/index.ts';
import type { Database } from '../../packages/server/src/platform/index.ts';
import { type OpenPlatform, withPlatformDatabase } from './platform-database.ts';

type CreateOptions = {
  readonly name: string;
  readonly domain: string;
  /** The mail address of a first administrator; without it there is only the application. */
  readonly administrator?: string;
};

export type OperatorAccount = {
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The mail address that gets an invitation as soon as a platform runs. */
  readonly invited?: string;
  /** Why the administrator could not be invited; the account exists. */
  readonly invitationFault?: string;
};

type NewOrganization = { readonly name: string; readonly userDomainId: string };

export type ExistingOperator = { readonly organizationId: string; readonly clientId: string };

const role = 'PlatformOperator';
const applicationName = 'Operator of the platform';

export type OpenApplication = Pick<OpenPlatform, 'database' | 'author'> & {
  readonly platform: Application;
};

/** Works beside a running platform, and before its first start: the schema is brought up to date. */
export function withApplication(
  { environment }: CommandContext,
  command: string,
  action: (application: OpenApplication) => Promise<void>,
): Promise<void> {
  return withPlatformDatabase(environment.env, command, async (opened) => {
    const { settings, database, log, author } = opened;
    await prepareDatabase({ settings, database, log });
    // This instance is never started; a running platform does the queued jobs, such as mails.
    const platform = await createApplication({ settings, database, log, author });
    try {
      await action({ platform, database, author });
    } finally {
      await platform.stop();
    }
  });
}

function printAccount({ output }: CommandContext, account: OperatorAccount): void {
  output.printResult(account, () => output.formatMembers(account));
  output.printNote('Store the secret now. It is not shown again.');
  if (account.invitationFault !== undefined)
    fail(
      'fault',
      `the operator exists, but the administrator could not be invited: ${account.invitationFault}; invite the administrator with this application`,
    );
}

export async function findOperator(database: Database): Promise<ExistingOperator | undefined> {
  const [row] = await database.query<{ organization_id: string; client_id: string }>(
    `SELECT organization_id, client_id FROM applications
     WHERE roles @> $1::jsonb AND removed_at IS NULL ORDER BY created_at LIMIT 1`,
    [JSON.stringify([role])],
  );
  return row && { organizationId: row.organization_id, clientId: row.client_id };
}

/** A command that was cut short has left the domain, whose organisation is used again. */
export async function findOrganizationOfDomain(
  database: Database,
  domain: string,
): Promise<string | undefined> {
  const [row] = await database.query<{ organization_id: string }>(
    'SELECT organization_id FROM user_domains WHERE user_domain_id = $1',
    [domain],
  );
  return row?.organization_id;
}

async function requireSameName(
  { provisioning }: Application,
  organizationId: string,
  { name, userDomainId }: NewOrganization,
) {
  const { view } = await provisioning.organizations.get({ organizationId }, organizationId);
  if (view.name === name) return;
  fail(
    'fault',
    `the user domain ${userDomainId} belongs to the organisation ${view.name}, not to ${name}; use this name, or another user domain`,
  );
}

/** The running platform sends the mail. */
export async function inviteAdministrator(
  { audit, identity }: Application,
  account: Pick<OperatorAccount, 'organizationId' | 'userDomainId'>,
  email: string,
): Promise<void> {
  const { organizationId, userDomainId } = account;
  const groups = [`${organizationId}_org_admin`];
  const username = email.toLowerCase();
  const newUser = {
    organizationId,
    userDomainId,
    email,
    username,
    entityType: 'tenant' as const,
    entityId: organizationId,
    secondFactor: 'Required' as const,
    groups,
  };
  await identity.accounts.invite(newUser, (trx, { after: { userId } }) =>
    audit.recordChange(trx, {
      organizationId,
      action: 'user.created',
      entity: { type: 'user', id: userId },
      after: { userId, username, groups },
    }),
  );
}

/** Creates an organisation with its user domain; one that exists under this name is used again. */
export async function createOrganization(
  { platform, database, author }: OpenApplication,
  organization: NewOrganization,
): Promise<{ organizationId: string; isNew: boolean }> {
  const { audit, identity, provisioning } = platform;
  const { name, userDomainId } = organization;
  const existing = await findOrganizationOfDomain(database, userDomainId);
  if (existing !== undefined) await requireSameName(platform, existing, organization);
  const organizationId = existing ?? randomUUID();
  await provisioning.organizations.createIfNew(
    { organizationId, author },
    { name },
    organizationId,
  );
  if (existing === undefined) {
    await database.transaction(async (trx) => {
      await identity.userDomains.create({ userDomainId, organizationId }, trx);
      await audit.recordChange(trx, {
        organizationId,
        action: 'userDomain.created',
        entity: { type: 'userDomain', id: userDomainId },
      });
    });
  }
  await createCommandLineApplication(identity, { organizationId, userDomainId });
  return { organizationId, isNew: existing === undefined };
}

/** @throws CommandError if the platform has an operator */
export async function createOperatorAccount(
  { platform, database, author }: OpenApplication,
  options: CreateOptions,
): Promise<OperatorAccount> {
  const { name, domain: userDomainId, administrator } = options;
  const existing = await findOperator(database);
  if (existing !== undefined) {
    fail(
      'fault',
      `the platform has an operator: application ${existing.clientId} of organisation ${existing.organizationId}. To create a new secret: switchyard admin operator rotate-secret`,
    );
  }
  const { organizationId } = await createOrganization(
    { platform, database, author },
    { name, userDomainId },
  );
  const credentials = await platform.identity.createApplication({
    organizationId,
    userDomainId,
    name: applicationName,
    roles: [role],
    entityType: 'tenant',
    entityId: organizationId,
    securityFlows: ['ClientCredentials'],
  });
  const account = { organizationId, userDomainId, ...credentials };
  if (administrator === undefined) return account;
  try {
    await inviteAdministrator(platform, account, administrator);
  } catch (error) {
    return { ...account, invitationFault: (error as Error).message };
  }
  return { ...account, invited: administrator };
}

/** For a lost secret: the old secret becomes invalid immediately. */
async function rotateAccountSecret({
  platform,
  database,
}: OpenApplication): Promise<OperatorAccount> {
  const existing = await findOperator(database);
  if (existing === undefined)
    return fail(
      'fault',
      'the platform has no operator yet. To create it: switchyard admin operator create',
    );
  const { organizationId, clientId } = existing;
  const { clientSecret } = await platform.identity.rotateSecret(organizationId, clientId);
  const userDomainId =
    (await platform.identity.userDomains.findByOrganization(organizationId)) ?? '';
  return { organizationId, userDomainId, clientId, clientSecret };
}

export const createOperator = (
  context: CommandContext,
  _args: string[],
  options: CreateOptions,
): Promise<void> =>
  withApplication(context, 'operator create', async (application) =>
    printAccount(context, await createOperatorAccount(application, options)),
  );

export const rotateSecret = (context: CommandContext): Promise<void> =>
  withApplication(context, 'operator rotate-secret', async (application) =>
    printAccount(context, await rotateAccountSecret(application)),
  );
