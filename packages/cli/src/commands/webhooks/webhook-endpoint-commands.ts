/** `switchyard webhooks endpoints`, and the group of all webhook commands. */

import { defined, type WebhookEndpoint } from '@switchyard/contract';
import type { Command } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import {
  addListOptions,
  type ListOptions,
  parseCommaList,
} from '../../command-line/list-options.ts';
import { column, idColumn, printList, printResource } from '../../command-line/list-output.ts';
import { addSetOptions, editResource, type SetOptions } from '../../command-line/member-options.ts';
import {
  addSecretOptions,
  openSecretOutput,
  rotateSecret,
  type SecretOptions,
} from '../../command-line/secret-output.ts';
import { fail } from '../../runtime/command-error.ts';
import { addDeliveryCommands, endpointsPath } from './webhook-delivery-commands.ts';
import { addListenCommand, requireEventPatterns } from './webhook-listen-command.ts';
import { addTriggerCommands } from './webhook-trigger-command.ts';

type CreateOptions = SecretOptions & {
  readonly events?: string[];
  readonly merchant?: string;
  readonly description?: string;
  readonly challenge?: boolean;
};

const endpointPath = (id: string): string => `${endpointsPath}/${encodeURIComponent(id)}`;

async function createEndpoint(
  context: CommandContext,
  url: string,
  options: CreateOptions,
): Promise<undefined> {
  const { events, merchant: merchantId, description, challenge } = options;
  if (events === undefined)
    return fail('usage', 'Name the event types with --events, such as --events "transaction.*".');
  const outputSecret = openSecretOutput(options);
  const body = {
    url,
    eventTypes: requireEventPatterns(events),
    ...defined({ merchantId, description, challenge }),
  };
  printResource(
    context,
    outputSecret((await context.api().call('POST', endpointsPath, { body })).body),
  );
  return undefined;
}

async function setStatus(context: CommandContext, id: string, status: WebhookEndpoint['status']) {
  printResource(
    context,
    await editResource(context, endpointPath(id), { set: [`status=${status}`] }),
  );
  return undefined;
}

function addEndpointListCommands(endpoints: Command, { toAction }: CommandRunner): void {
  addListOptions(endpoints.command('list', { isDefault: true }))
    .description('Lists endpoints.')
    .action(
      toAction<ListOptions>(async (context, _args, options) => {
        await printList(context, endpointsPath, {}, options, [
          idColumn('endpointId'),
          column('status'),
          column('url', 'URL'),
          column('eventTypes', 'EVENTS'),
        ]);
        return undefined;
      }),
    );
  endpoints
    .command('get <endpointId>')
    .description('Shows an endpoint, its delivery state and the public key of its signatures.')
    .action(
      toAction(async (context, [id = '']) => {
        printResource(context, (await context.api().call('GET', endpointPath(id))).body);
        return undefined;
      }),
    );
}

function addEndpointChangeCommands(endpoints: Command, { toAction }: CommandRunner): void {
  addSecretOptions(endpoints.command('create <url>'))
    .description('Creates an endpoint. The platform sends events to it from now on.')
    .option(
      '--events <types>',
      'event types, such as transaction.*; can be repeated',
      parseCommaList,
    )
    .option('--merchant <id>', 'only events of this merchant')
    .option('--description <text>', 'description of the endpoint')
    .option(
      '--challenge',
      'enable the endpoint only after it has answered a challenge with its secret',
    )
    .addHelpText(
      'after',
      "\nExample:\n  $ switchyard webhooks endpoints create https://shop.example/hooks --events 'transaction.*' --secret-out hook.secret",
    )
    .action(
      toAction<CreateOptions>((context, [url = ''], options) =>
        createEndpoint(context, url, options),
      ),
    );
  addSetOptions(endpoints.command('edit <endpointId>'), true)
    .description('Changes members of an endpoint. The other members do not change.')
    .action(
      toAction<SetOptions>(async (context, [id = ''], options) => {
        printResource(context, await editResource(context, endpointPath(id), options));
        return undefined;
      }),
    );
  endpoints
    .command('verify <endpointId>')
    .description('Sends the challenge to an endpoint again. A correct answer enables the endpoint.')
    .action(
      toAction(async (context, [id = '']) => {
        printResource(
          context,
          (await context.api().call('POST', `${endpointPath(id)}/verify`)).body,
        );
        return undefined;
      }),
    );
  endpoints
    .command('enable <endpointId>')
    .description('Enables an endpoint: the platform sends events to it again.')
    .action(toAction((context, [id = '']) => setStatus(context, id, 'Enabled')));
  endpoints
    .command('disable <endpointId>')
    .description('Disables an endpoint. Pending deliveries wait until it is enabled.')
    .action(toAction((context, [id = '']) => setStatus(context, id, 'Disabled')));
  endpoints
    .command('remove <endpointId>')
    .description('Removes an endpoint and its pending deliveries.')
    .action(
      toAction(async (context, [id = '']) => {
        await context.api().call('DELETE', endpointPath(id));
        context.output.printResult({ removed: id }, () => 'Removed.\n');
        return undefined;
      }),
    );
  addSecretOptions(endpoints.command('rotate-secret <endpointId>'))
    .description(
      'Creates a new signing secret and key. For one day, deliveries are signed with the old and the new ones.',
    )
    .action(
      toAction<SecretOptions>((context, [id = ''], options) =>
        rotateSecret(context, `${endpointPath(id)}/secret`, options),
      ),
    );
}

export function addWebhookCommands(program: Command, runner: CommandRunner): void {
  const webhooks = program
    .command('webhooks')
    .summary('receive, trigger and replay events')
    .description('Manages webhook endpoints and deliveries, and shows and triggers events.');
  addListenCommand(webhooks, runner);
  addTriggerCommands(webhooks, runner);
  const endpoints = webhooks
    .command('endpoints')
    .description('Manages the webhook endpoints of the organisation.');
  addEndpointListCommands(endpoints, runner);
  addEndpointChangeCommands(endpoints, runner);
  addDeliveryCommands(webhooks, runner);
}
