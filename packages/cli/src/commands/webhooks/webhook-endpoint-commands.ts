/** Webhooks: where events go, what became of them, and how to write what takes them. */

import { defined, type WebhookEndpoint } from '@switchyard/contract';
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions, words } from '../../command-line/list-options.ts';
import { column, idColumn, showList, showThing } from '../../command-line/list-output.ts';
import { edit, type SetOptions, setOptions } from '../../command-line/member-options.ts';
import {
  openSecret,
  renewSecret,
  type SecretOptions,
  secretOptions,
} from '../../command-line/secret-options.ts';
import { fail } from '../../runtime/command-error.ts';
import { addDeliveryCommands, endpointsPath } from './webhook-delivery-commands.ts';
import { addListenCommand, patternsOf } from './webhook-listen-command.ts';
import { addTriggerCommands } from './webhook-trigger-command.ts';

type CreateOptions = SecretOptions & {
  readonly events?: string[];
  readonly merchant?: string;
  readonly description?: string;
  readonly challenge?: boolean;
};

const endpointPath = (id: string): string => `${endpointsPath}/${encodeURIComponent(id)}`;

async function create(kit: Kit, url: string, options: CreateOptions): Promise<undefined> {
  const { events, merchant: merchantId, description, challenge } = options;
  if (events === undefined) return fail('usage', 'Say with --events which events it takes.');
  const keep = openSecret(options);
  const body = {
    url,
    eventTypes: patternsOf(events),
    ...defined({ merchantId, description, challenge }),
  };
  showThing(kit, keep((await kit.api().call('POST', endpointsPath, { body })).body));
  return undefined;
}

/** Read, changed and written back with the version that was read. */
async function setStatus(kit: Kit, id: string, status: WebhookEndpoint['status']) {
  showThing(kit, await edit(kit, endpointPath(id), { set: [`status=${status}`] }));
  return undefined;
}

function addEndpointReads(endpoints: Command, { act }: Runner): void {
  listOptions(endpoints.command('list', { isDefault: true }))
    .description('Lists endpoints.')
    .action(
      act<ListOptions>(async (kit, _args, options) => {
        await showList(kit, endpointsPath, {}, options, [
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
    .description('Shows an endpoint, how it fares, and the public key of its signatures.')
    .action(
      act(async (kit, [id = '']) => {
        showThing(kit, (await kit.api().call('GET', endpointPath(id))).body);
        return undefined;
      }),
    );
}

function addEndpointChanges(endpoints: Command, { act }: Runner): void {
  secretOptions(endpoints.command('create <url>'))
    .description('Makes an endpoint; events go there from now on.')
    .option('--events <types>', 'which events, such as transaction.*; may be repeated', words)
    .option('--merchant <id>', 'only events of this merchant')
    .option('--description <text>', 'what it is for')
    .option('--challenge', 'begins only once it has answered a challenge with its secret')
    .addHelpText(
      'after',
      "\nExample:\n  $ switchyard webhooks endpoints create https://shop.example/hooks --events 'transaction.*' --secret-out hook.secret",
    )
    .action(act<CreateOptions>((kit, [url = ''], options) => create(kit, url, options)));
  setOptions(endpoints.command('edit <endpointId>'), true)
    .description('Changes members of an endpoint; the others stay.')
    .action(
      act<SetOptions>(async (kit, [id = ''], options) => {
        showThing(kit, await edit(kit, endpointPath(id), options));
        return undefined;
      }),
    );
  endpoints
    .command('verify <endpointId>')
    .description('Sends the challenge of an endpoint again; answered, it is enabled.')
    .action(
      act(async (kit, [id = '']) => {
        showThing(kit, (await kit.api().call('POST', `${endpointPath(id)}/verify`)).body);
        return undefined;
      }),
    );
  endpoints
    .command('enable <endpointId>')
    .description('Sends events there again.')
    .action(act((kit, [id = '']) => setStatus(kit, id, 'Enabled')));
  endpoints
    .command('disable <endpointId>')
    .description('Sends nothing there any more; what was planned waits.')
    .action(act((kit, [id = '']) => setStatus(kit, id, 'Disabled')));
  endpoints
    .command('remove <endpointId>')
    .description('Removes an endpoint, and what was planned for it.')
    .action(
      act(async (kit, [id = '']) => {
        await kit.api().call('DELETE', endpointPath(id));
        kit.screen.result({ removed: id }, () => 'Removed.\n');
        return undefined;
      }),
    );
  secretOptions(endpoints.command('renew-secret <endpointId>'))
    .description('Makes new keys; the old ones sign as well for a day.')
    .action(
      act<SecretOptions>((kit, [id = ''], options) =>
        renewSecret(kit, `${endpointPath(id)}/secret`, options),
      ),
    );
}

export function addWebhookCommands(program: Command, runner: Runner): void {
  const webhooks = program
    .command('webhooks')
    .summary('events: where they go, and as they happen')
    .description('Events: where they go, what became of them, and as they happen.');
  addListenCommand(webhooks, runner);
  addTriggerCommands(webhooks, runner);
  const endpoints = webhooks
    .command('endpoints')
    .description('Where the events of the organisation are sent.');
  addEndpointReads(endpoints, runner);
  addEndpointChanges(endpoints, runner);
  addDeliveryCommands(webhooks, runner);
}
