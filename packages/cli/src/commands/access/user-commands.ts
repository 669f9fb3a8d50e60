/** The people of a user domain. */
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions, words } from '../../command-line/list-options.ts';
import { column, idColumn, type Row, showList, showThing } from '../../command-line/list-output.ts';
import {
  edit,
  membersFrom,
  type SetOptions,
  setOptions,
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

/** In an organisation below it is the domain of that one. */
export async function userDomainOf(kit: Kit): Promise<string> {
  const { organization } = kit.globals;
  if (organization === undefined) return kit.session().profile.userDomainId;
  const path = `/provisioning/v2/organizations/${encodeURIComponent(organization)}`;
  const { userDomainId } = (await kit.api().call<{ userDomainId?: string }>('GET', path)).body;
  return userDomainId ?? fail('notFound', 'That organisation has no user domain of its own.');
}

/** Without the identifier of the entity, which is the same in all of them. */
const groupNames = (groups: unknown): string[] =>
  (Array.isArray(groups) ? groups : []).map((group) =>
    String(group).replace(/^[0-9a-f-]{36}_/, ''),
  );

const usersPath = async (kit: Kit) =>
  `/user-management/v2/user-domains/${await userDomainOf(kit)}/users`;

/** By id, or by the whole user name. */
async function userPath(kit: Kit, user: string): Promise<string> {
  const path = await usersPath(kit);
  if (uuid.test(user)) return `${path}/${user}`;
  for await (const found of kit.api().list<Row>(path, { username: user })) {
    if (String(found['username']).toLowerCase() === user.toLowerCase())
      return `${path}/${found['userId']}`;
  }
  return fail('notFound', `There is no user “${user}”.`);
}

async function create(kit: Kit, username: string, options: CreateOptions): Promise<undefined> {
  const entityId = options.entity ?? (await kit.session().organizationId());
  const body = {
    ...membersFrom(options),
    username,
    email: options.email,
    entityId,
    scope: options.scope ?? entityId,
    groups: (options.group ?? []).map((group) =>
      group.includes(entityId) ? group : `${entityId}_${group}`,
    ),
  };
  showThing(kit, (await kit.api().call('POST', await usersPath(kit), { body })).body);
  return undefined;
}

function addReads(users: Command, { act }: Runner): void {
  listOptions(users.command('list'))
    .description('Lists users.')
    .option('--entity <id>', 'of this organisation or merchant')
    .option('--username <text>', 'whose name begins so')
    .option('--status <status>', 'activated or deactivated')
    .action(
      act<FindOptions>(async (kit, _args, options) => {
        const { entity: entityId, username, status } = options;
        await showList(kit, await usersPath(kit), { entityId, username, status }, options, [
          idColumn('userId'),
          column('username'),
          column('email'),
          column('status'),
          { title: 'GROUPS', of: ({ groups }) => groupNames(groups) },
        ]);
        return undefined;
      }),
    );
  users
    .command('get <user>')
    .description('Shows a user, by id or user name.')
    .action(
      act(async (kit, [user = '']) => {
        showThing(kit, (await kit.api().call('GET', await userPath(kit, user))).body);
        return undefined;
      }),
    );
  users
    .command('groups')
    .description('Lists the groups that users of an organisation or a merchant can have.')
    .option('--entity <id>', 'of this organisation or merchant; left out, of your own')
    .action(
      act<{ entity?: string }>(async (kit, _args, { entity: entityId }) => {
        const path = `/user-management/v2/user-domains/${await userDomainOf(kit)}/groups`;
        const all = { limit: 200, all: true };
        await showList(kit, path, { entityId }, all, [
          column('group', 'GROUP', true),
          column('permissions'),
        ]);
        return undefined;
      }),
    );
}

function addStatus(users: Command, { act }: Runner): void {
  for (const [name, status, said] of [
    ['activate', 'activated', 'Lets a user sign in again.'],
    ['deactivate', 'deactivated', 'Signs a user out, and lets him in no more.'],
  ] as const) {
    users
      .command(`${name} <user>`)
      .description(said)
      .action(
        act(async (kit, [user = '']) => {
          const path = `${await userPath(kit, user)}/status`;
          showThing(kit, (await kit.api().call('PUT', path, { body: { status } })).body);
          return undefined;
        }),
      );
  }
  users
    .command('reset-password <user>')
    .description('Sends a mail with a link that sets a new password.')
    .action(
      act(async (kit, [user = '']) => {
        await kit.api().call('POST', `${await userPath(kit, user)}/reset-password`);
        kit.screen.result({ sent: true }, () => 'The mail is on its way.\n');
        return undefined;
      }),
    );
}

export function addUserCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  const users = program
    .command('users')
    .summary('people and their groups')
    .description('The people of the user domain.');
  addReads(users, runner);
  setOptions(users.command('create <username>'), false)
    .description('Makes a user, who gets a mail with a link to the first password.')
    .requiredOption('--email <address>', 'where mail goes')
    .option('--entity <id>', 'the organisation or merchant of the user; left out, your own')
    .option('--scope <id>', 'what the user acts on; left out, the entity')
    .option('--group <group>', 'such as org_admin; may be repeated', words)
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard users create ann --email ann@shop.example --entity 0198… --group merchant_manager -s givenName=Ann',
    )
    .action(act<CreateOptions>((kit, [username = ''], options) => create(kit, username, options)));
  setOptions(users.command('edit <user>'), true)
    .description('Changes members of a user; the others stay.')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard users edit ann -s familyName=Carter --unset phoneNumber',
    )
    .action(
      act<SetOptions>(async (kit, [user = ''], options) => {
        showThing(kit, await edit(kit, await userPath(kit, user), options));
        return undefined;
      }),
    );
  addStatus(users, runner);
}
