/** `switchyard users`: the users of a user domain. */
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { memberOption, type OptionValues, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { parseCommaList } from '../../command-line/list-options.ts';
import { column, idColumn, printList, type Row } from '../../command-line/list-output.ts';
import { resolvePath, usersPath } from '../../command-line/path-parameters.ts';

const groupsPath = '/user-management/v2/user-domains/{userDomainId}/groups';

/** The group names without the identifier of the entity. */
const shortGroupNames = ({ groups }: Row): string[] =>
  (Array.isArray(groups) ? groups : []).map((group) =>
    String(group).replace(/^[0-9a-f-]{36}_/, ''),
  );

type NewUser = { readonly entity?: string; readonly scope?: string; readonly group?: string[] };

async function membersOfNewUser(
  context: CommandContext,
  { entity, scope, group = [] }: NewUser,
  [username = '']: string[],
): Promise<Row> {
  const entityId = entity ?? (await context.session().organizationId());
  return {
    username,
    entityId,
    scope: scope ?? entityId,
    groups: group.map((each) => (each.includes(entityId) ? each : `${entityId}_${each}`)),
  };
}

async function listGroups(context: CommandContext, _args: string[], options: OptionValues) {
  const { path } = await resolvePath(context, groupsPath, [], {});
  const query = { entityId: options['entity'] as string | undefined };
  const columns = [column('group', 'GROUP', true), 'permissions'];
  await printList(context, path, query, { limit: 0, all: true }, columns);
}

export const userCommands: CommandGroup = {
  group: 'users',
  summary: 'manage users and their groups',
  description: 'Manages the users of the user domain.',
  commands: [
    {
      command: 'list',
      description: 'Lists users.',
      route: `GET ${usersPath}`,
      options: [
        memberOption('--entity <id>', 'only those of this organisation or merchant', 'entityId'),
        memberOption('--username <text>', 'only names that begin with this text', 'username'),
        memberOption('--status <status>', 'only this status: activated or deactivated', 'status'),
      ],
      columns: [
        idColumn('userId'),
        'username',
        'email',
        'status',
        { title: 'GROUPS', value: shortGroupNames },
      ],
    },
    {
      command: 'get <user>',
      description: 'Shows a user.',
      arguments: { user: 'id or user name' },
      route: `GET ${usersPath}/{userId}`,
    },
    {
      command: 'groups',
      description: 'Lists the groups for users of an organisation or a merchant.',
      options: [option('--entity <id>', 'organisation or merchant; default: your own')],
      run: listGroups,
    },
    {
      command: 'create <username>',
      description:
        'Creates a user. The platform sends a mail with a link to set the first password.',
      route: `POST ${usersPath}`,
      takesMembers: true,
      options: [
        memberOption('--email <address>', 'e-mail address of the user', 'email', {
          required: true,
        }),
        option(
          '--entity <id>',
          'organisation or merchant of the user; default: your own organisation',
        ),
        option('--scope <id>', 'organisation or merchant that the user manages; default: --entity'),
        option('--group <group>', 'group, such as org_admin; can be repeated', {
          parse: parseCommaList,
        }),
      ],
      toMembers: membersOfNewUser,
      examples: [
        'switchyard users create ann --email ann@shop.example --entity 0198… --group merchant_manager -s givenName=Ann',
      ],
    },
    {
      command: 'edit <user>',
      description: 'Changes fields of a user. The other fields do not change.',
      route: `PUT ${usersPath}/{userId}`,
      edits: true,
      examples: ['switchyard users edit ann -s familyName=Carter --unset phoneNumber'],
    },
    {
      command: 'activate <user>',
      description: 'Activates a user. The user can sign in again.',
      route: `PUT ${usersPath}/{userId}/status`,
      members: { status: 'activated' },
    },
    {
      command: 'deactivate <user>',
      description: 'Deactivates a user: all sessions end, and the user cannot sign in.',
      route: `PUT ${usersPath}/{userId}/status`,
      members: { status: 'deactivated' },
    },
    {
      command: 'reset-password <user>',
      description: 'Sends a mail with a link to set a new password.',
      route: `POST ${usersPath}/{userId}/reset-password`,
      print: ({ output }) => output.printResult({ sent: true }, () => 'The mail was sent.\n'),
    },
  ],
};
