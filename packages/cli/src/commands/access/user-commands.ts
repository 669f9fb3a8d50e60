/** `switchyard users`: the users of a user domain. */
import type { Command } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import {
  addListOptions,
  type ListOptions,
  parseCommaList,
} from '../../command-line/list-options.ts';
import {
  column,
  idColumn,
  printList,
  printResource,
  type Row,
} from '../../command-line/list-output.ts';
import {
  addSetOptions,
  editResource,
  parseMembers,
  type SetOptions,
} from '../../command-line/member-options.ts';
import { fail } from '../../runtime/command-error.ts';

type FindOptions = ListOptions & {
  readonly entity?: string;
  readonly username?: string;
  readonly status?: string;
};
type CreateOptions = SetOptions & {
  readonly email: string;
  readonly entity?: string;
  readonly scope?: string;
  readonly group?: string[];
};

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The user domain of the profile, or of the organisation of --organization. */
export async function resolveCommandUserDomain(context: CommandContext): Promise<string> {
  const { organization } = context.globals;
  if (organization === undefined) return context.session().profile.userDomainId;
  const path = `/provisioning/v2/organizations/${encodeURIComponent(organization)}`;
  const { userDomainId } = (await context.api().call<{ userDomainId?: string }>('GET', path)).body;
  return (
    userDomainId ??
    fail('notFound', 'That organisation has no user domain. Use the organisation above it.')
  );
}

/** The group names without the identifier of the entity. */
const shortGroupNames = (groups: unknown): string[] =>
  (Array.isArray(groups) ? groups : []).map((group) =>
    String(group).replace(/^[0-9a-f-]{36}_/, ''),
  );

const usersPath = async (context: CommandContext) =>
  `/user-management/v2/user-domains/${await resolveCommandUserDomain(context)}/users`;

/** Finds a user by id or full user name. */
async function userPath(context: CommandContext, user: string): Promise<string> {
  const path = await usersPath(context);
  if (uuid.test(user)) return `${path}/${user}`;
  for await (const candidate of context.api().list<Row>(path, { username: user })) {
    if (String(candidate['username']).toLowerCase() === user.toLowerCase())
      return `${path}/${candidate['userId']}`;
  }
  return fail('notFound', `There is no user “${user}”. List the users: switchyard users list`);
}

async function createUser(
  context: CommandContext,
  username: string,
  options: CreateOptions,
): Promise<undefined> {
  const entityId = options.entity ?? (await context.session().organizationId());
  const body = {
    ...parseMembers(options),
    username,
    email: options.email,
    entityId,
    scope: options.scope ?? entityId,
    groups: (options.group ?? []).map((group) =>
      group.includes(entityId) ? group : `${entityId}_${group}`,
    ),
  };
  printResource(
    context,
    (await context.api().call('POST', await usersPath(context), { body })).body,
  );
  return undefined;
}

function addListCommands(users: Command, { toAction }: CommandRunner): void {
  addListOptions(users.command('list'))
    .description('Lists users.')
    .option('--entity <id>', 'only those of this organisation or merchant')
    .option('--username <text>', 'only names that begin with this text')
    .option('--status <status>', 'only this status: activated or deactivated')
    .action(
      toAction<FindOptions>(async (context, _args, options) => {
        const { entity: entityId, username, status } = options;
        await printList(
          context,
          await usersPath(context),
          { entityId, username, status },
          options,
          [
            idColumn('userId'),
            column('username'),
            column('email'),
            column('status'),
            { title: 'GROUPS', value: ({ groups }) => shortGroupNames(groups) },
          ],
        );
        return undefined;
      }),
    );
  users
    .command('get <user>')
    .description('Shows a user. Name the user by id or user name.')
    .action(
      toAction(async (context, [user = '']) => {
        printResource(
          context,
          (await context.api().call('GET', await userPath(context, user))).body,
        );
        return undefined;
      }),
    );
  users
    .command('groups')
    .description('Lists the groups for users of an organisation or a merchant.')
    .option('--entity <id>', 'organisation or merchant; default: your own')
    .action(
      toAction<{ entity?: string }>(async (context, _args, { entity: entityId }) => {
        const path = `/user-management/v2/user-domains/${await resolveCommandUserDomain(context)}/groups`;
        const all = { limit: 200, all: true };
        await printList(context, path, { entityId }, all, [
          column('group', 'GROUP', true),
          column('permissions'),
        ]);
        return undefined;
      }),
    );
}

function addStatusCommands(users: Command, { toAction }: CommandRunner): void {
  for (const [name, status, summary] of [
    ['activate', 'activated', 'Activates a user. The user can sign in again.'],
    [
      'deactivate',
      'deactivated',
      'Deactivates a user: all sessions end, and the user cannot sign in.',
    ],
  ] as const) {
    users
      .command(`${name} <user>`)
      .description(summary)
      .action(
        toAction(async (context, [user = '']) => {
          const path = `${await userPath(context, user)}/status`;
          printResource(
            context,
            (await context.api().call('PUT', path, { body: { status } })).body,
          );
          return undefined;
        }),
      );
  }
  users
    .command('reset-password <user>')
    .description('Sends a mail with a link to set a new password.')
    .action(
      toAction(async (context, [user = '']) => {
        await context.api().call('POST', `${await userPath(context, user)}/reset-password`);
        context.output.printResult({ sent: true }, () => 'The mail was sent.\n');
        return undefined;
      }),
    );
}

export function addUserCommands(program: Command, runner: CommandRunner): void {
  const { toAction } = runner;
  const users = program
    .command('users')
    .summary('manage users and their groups')
    .description('Manages the users of the user domain.');
  addListCommands(users, runner);
  addSetOptions(users.command('create <username>'), false)
    .description('Creates a user. The platform sends a mail with a link to set the first password.')
    .requiredOption('--email <address>', 'e-mail address of the user')
    .option('--entity <id>', 'organisation or merchant of the user; default: your own organisation')
    .option('--scope <id>', 'organisation or merchant that the user manages; default: --entity')
    .option('--group <group>', 'group, such as org_admin; can be repeated', parseCommaList)
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard users create ann --email ann@shop.example --entity 0198… --group merchant_manager -s givenName=Ann',
    )
    .action(
      toAction<CreateOptions>((context, [username = ''], options) =>
        createUser(context, username, options),
      ),
    );
  addSetOptions(users.command('edit <user>'), true)
    .description('Changes members of a user. The other members do not change.')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard users edit ann -s familyName=Carter --unset phoneNumber',
    )
    .action(
      toAction<SetOptions>(async (context, [user = ''], options) => {
        printResource(context, await editResource(context, await userPath(context, user), options));
        return undefined;
      }),
    );
  addStatusCommands(users, runner);
}
