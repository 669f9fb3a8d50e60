/** `switchyard webhooks endpoints`, and the group of all webhook commands. */
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { memberOption, type OptionValues, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { parseCommaList } from '../../command-line/list-options.ts';
import { column, idColumn, type Row } from '../../command-line/list-output.ts';
import { fail } from '../../runtime/command-error.ts';
import { deliveryCommands, endpointsPath } from './webhook-delivery-commands.ts';
import { listenCommand, requireEventPatterns } from './webhook-listen-command.ts';
import { triggerCommands } from './webhook-trigger-command.ts';

const endpointPath = `${endpointsPath}/{endpointId}`;

function membersOfNewEndpoint(
  _context: CommandContext,
  { events }: OptionValues,
  [url = '']: string[],
): Row {
  if (!Array.isArray(events))
    return fail('usage', 'Name the event types with --events, such as --events "transaction.*".');
  return { url, eventTypes: requireEventPatterns(events) };
}

const endpointCommands: CommandGroup = {
  group: 'endpoints',
  description: 'Manages the webhook endpoints of the organisation.',
  commands: [
    {
      command: 'list',
      isDefault: true,
      description: 'Lists endpoints.',
      route: `GET ${endpointsPath}`,
      columns: [
        idColumn('endpointId'),
        'status',
        column('url', 'URL'),
        column('eventTypes', 'EVENTS'),
      ],
    },
    {
      command: 'get <endpointId>',
      description: 'Shows an endpoint, its delivery state and the public key of its signatures.',
      route: `GET ${endpointPath}`,
    },
    {
      command: 'create <url>',
      description: 'Creates an endpoint. The platform sends events to it from now on.',
      route: `POST ${endpointsPath}`,
      hasSecret: true,
      toMembers: membersOfNewEndpoint,
      options: [
        option('--events <types>', 'event types, such as transaction.*; can be repeated', {
          parse: parseCommaList,
        }),
        memberOption('--merchant <id>', 'only events of this merchant', 'merchantId'),
        memberOption('--description <text>', 'description of the endpoint', 'description'),
        memberOption(
          '--challenge',
          'enable the endpoint only after it has answered a signed challenge',
          'challenge',
        ),
      ],
      examples: [
        "switchyard webhooks endpoints create https://shop.example/hooks --events 'transaction.*' --secret-out hook.secret",
      ],
    },
    {
      command: 'edit <endpointId>',
      description: 'Changes fields of an endpoint. The other fields do not change.',
      route: `PUT ${endpointPath}`,
      edits: true,
    },
    {
      command: 'verify <endpointId>',
      description:
        'Sends the challenge to an endpoint again. A correct answer enables the endpoint.',
      route: `POST ${endpointPath}/verify`,
    },
    {
      command: 'enable <endpointId>',
      description: 'Enables an endpoint: the platform sends events to it again.',
      route: `PUT ${endpointPath}`,
      edits: true,
      members: { status: 'Enabled' },
    },
    {
      command: 'disable <endpointId>',
      description: 'Disables an endpoint. Pending deliveries wait until it is enabled.',
      route: `PUT ${endpointPath}`,
      edits: true,
      members: { status: 'Disabled' },
    },
    {
      command: 'remove <endpointId>',
      description: 'Removes an endpoint and its pending deliveries.',
      route: `DELETE ${endpointPath}`,
    },
    {
      command: 'rotate-secret <endpointId>',
      description:
        'Creates a new signing secret and key. For one day, deliveries are signed with the old and the new ones.',
      route: `POST ${endpointPath}/secret`,
      hasSecret: true,
    },
  ],
};

export const webhookCommands: CommandGroup = {
  group: 'webhooks',
  summary: 'receive, trigger and replay events',
  description: 'Manages webhook endpoints and deliveries, and shows and triggers events.',
  commands: [listenCommand, ...triggerCommands, endpointCommands, ...deliveryCommands],
};
