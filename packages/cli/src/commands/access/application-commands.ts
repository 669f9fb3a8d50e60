/** Applications, and points of sale: what signs in with a secret of its own. */
import { defined } from '@switchyard/contract';
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions, words } from '../../command-line/list-options.ts';
import { column, idColumn, showList, showThing } from '../../command-line/list-output.ts';
import {
  edit,
  membersFrom,
  type SetOptions,
  setOptions,
} from '../../command-line/member-options.ts';
import {
  openSecret,
  renewSecret,
  type SecretOptions,
  secretOptions,
} from '../../command-line/secret-options.ts';
import { addSaleCommands } from '../point-of-sale/pos-sale-commands.ts';
import { userDomainOf } from './user-commands.ts';

type CreateOptions = SetOptions &
  SecretOptions & {
    readonly clientId?: string;
    readonly role?: string[];
    readonly entity?: string;
    readonly public?: boolean;
  };

async function appsPath(kit: Kit, clientId?: string): Promise<string> {
  const path = `/application-management/v1/user-domains/${await userDomainOf(kit)}/applications`;
  return clientId === undefined ? path : `${path}/${encodeURIComponent(clientId)}`;
}

async function create(kit: Kit, name: string, options: CreateOptions): Promise<undefined> {
  const { clientId, role, entity, public: isPublic } = options;
  const keep = isPublic ? (told: unknown) => told as Record<string, unknown> : openSecret(options);
  const body = {
    ...membersFrom(options),
    name,
    ...defined({ clientId, roles: role, entityId: entity }),
    ...(isPublic ? { clientType: 'Public' } : {}),
  };
  const { body: made } = await kit.api().call('POST', await appsPath(kit), { body });
  showThing(kit, keep(made));
  return undefined;
}

function addReads(apps: Command, { act }: Runner): void {
  listOptions(apps.command('list'))
    .description('Lists applications.')
    .option('--name <text>', 'whose name begins so')
    .option('--entity <id>', 'of this organisation or merchant')
    .action(
      act<ListOptions & { name?: string; entity?: string }>(async (kit, _args, options) => {
        const { name, entity: entityId } = options;
        await showList(kit, await appsPath(kit), { name, entityId }, options, [
          column('clientId', 'CLIENT ID', true),
          column('name'),
          column('type'),
          column('status'),
          column('roles'),
        ]);
        return undefined;
      }),
    );
  apps
    .command('get <clientId>')
    .description('Shows an application.')
    .action(
      act(async (kit, [clientId = '']) => {
        showThing(kit, (await kit.api().call('GET', await appsPath(kit, clientId))).body);
        return undefined;
      }),
    );
}

export function addAppCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  const apps = program
    .command('apps')
    .summary('applications and their secrets')
    .description('The applications of the user domain.');
  addReads(apps, runner);
  secretOptions(setOptions(apps.command('create <name>'), false))
    .description('Registers an application.')
    .option('--client-id <id>', 'left out, the platform makes one')
    .option('--role <role>', 'such as Merchant; may be repeated', words)
    .option('--entity <id>', 'the organisation or merchant that it acts for')
    .option('--public', 'without a secret, for what can keep none')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard apps create "Back office" --role MerchantReadOnly --entity 0198… --secret-out office.secret',
    )
    .action(act<CreateOptions>((kit, [name = ''], options) => create(kit, name, options)));
  setOptions(apps.command('edit <clientId>'), true)
    .description('Changes members of an application; the others stay.')
    .action(
      act<SetOptions>(async (kit, [clientId = ''], options) => {
        showThing(kit, await edit(kit, await appsPath(kit, clientId), options));
        return undefined;
      }),
    );
  apps
    .command('approve <clientId>')
    .description('Approves an application that waits for approval; it gets tokens from now on.')
    .action(
      act(async (kit, [clientId = '']) => {
        const path = `${await appsPath(kit, clientId)}/approve`;
        showThing(kit, (await kit.api().call('POST', path)).body);
        return undefined;
      }),
    );
  apps
    .command('remove <clientId>')
    .description('Removes an application; its client id is never given again.')
    .action(
      act(async (kit, [clientId = '']) => {
        await kit.api().call('DELETE', await appsPath(kit, clientId));
        kit.screen.result({ removed: clientId }, () => 'Removed.\n');
        return undefined;
      }),
    );
  secretOptions(apps.command('renew-secret <clientId>'))
    .description('Makes a new secret; the old one is dead at once.')
    .action(
      act<SecretOptions>(async (kit, [clientId = ''], options) =>
        renewSecret(kit, `${await appsPath(kit, clientId)}/secret`, options),
      ),
    );
}

const tills = '/provisioning/v2/points-of-sale';

export function addPosCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  const pos = program
    .command('pos')
    .summary('points of sale and their secrets')
    .description('Points of sale: tills with credentials of their own.');
  listOptions(pos.command('list'))
    .description('Lists points of sale.')
    .option('--store <id>', 'of this store')
    .action(
      act<ListOptions & { store?: string }>(async (kit, _args, options) => {
        await showList(kit, tills, { storeId: options.store }, options, [
          idColumn('pointOfSaleId'),
          column('name'),
          column('status'),
          column('clientId', 'CLIENT ID', true),
        ]);
        return undefined;
      }),
    );
  secretOptions(setOptions(pos.command('create <name>'), false))
    .description('Makes a point of sale with credentials of its own.')
    .requiredOption('--store <id>', 'the store in which it sells')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard pos create "Till 3" --store 0198… --secret-out till-3.secret',
    )
    .action(
      act<SetOptions & SecretOptions & { store: string }>(async (kit, [name = ''], options) => {
        const keep = openSecret(options);
        const body = { ...membersFrom(options), name, storeId: options.store };
        showThing(kit, keep((await kit.api().call('POST', tills, { body })).body));
        return undefined;
      }),
    );
  secretOptions(pos.command('renew <id>'))
    .description('Makes a new secret of a point of sale; the old one is dead at once.')
    .action(
      act<SecretOptions>((kit, [id = ''], options) =>
        renewSecret(kit, `${tills}/${encodeURIComponent(id)}/secret`, options),
      ),
    );
  addSaleCommands(pos, runner);
}
