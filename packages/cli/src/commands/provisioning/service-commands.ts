/** The service catalogue: declared, published, subscribed to, switched on and off. */
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { jsonValue, type ListOptions, listOptions } from '../../command-line/list-options.ts';
import { column, idColumn, type Row, showList, showThing } from '../../command-line/list-output.ts';
import {
  openSecret,
  renewSecret,
  type SecretOptions,
  secretOptions,
} from '../../command-line/secret-options.ts';
import { membersOf } from '../../http/problem-details.ts';
import { fail } from '../../runtime/command-error.ts';

type Place = { readonly merchant?: string; readonly store?: string; readonly device?: string };
type ActivateOptions = Place & { readonly parameters?: string; readonly alone?: boolean };

const path = '/service-catalog/v1';
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** By id, or by the whole name where it is the only one. */
export async function serviceIdOf(kit: Kit, service: string): Promise<string> {
  if (uuid.test(service)) return service;
  const found: Row[] = [];
  for await (const each of kit.api().list<Row>(`${path}/services`))
    if (each['name'] === service) found.push(each);
  const [only] = found;
  if (only === undefined) return fail('notFound', `The catalogue has no service “${service}”.`);
  return found.length === 1
    ? String(only['serviceId'])
    : fail('usage', `“${service}” is not the only one: name it by its id.`);
}

/** The lowest level that was named; none: the organisation. */
export async function placeOf(kit: Kit, { merchant, store, device }: Place) {
  if (device !== undefined)
    return { level: 'LogicalDevice', list: 'logical-devices', entityId: device };
  if (store !== undefined) return { level: 'Store', list: 'stores', entityId: store };
  if (merchant !== undefined) return { level: 'Merchant', list: 'merchants', entityId: merchant };
  return {
    level: 'Organization',
    list: 'organizations',
    entityId: await kit.session().organizationId(),
  };
}

export function placeOptions(command: Command): Command {
  return command
    .option('--merchant <id>', 'at this merchant')
    .option('--store <id>', 'at this store')
    .option('--device <id>', 'at this logical device');
}

async function declare(
  kit: Kit,
  file: string,
  options: SecretOptions & { publish?: boolean },
): Promise<undefined> {
  const keep = openSecret(options);
  const { body } = await kit
    .api()
    .call<Row>('POST', `${path}/services`, { body: membersOf(jsonValue(file, 'The declaration')) });
  const made = keep(body);
  if (options.publish)
    await kit.api().call('POST', `${path}/services/${made['serviceId']}/publish`);
  showThing(kit, made);
  return undefined;
}

async function subscribe(
  kit: Kit,
  services: string[],
  name: string | undefined,
): Promise<undefined> {
  const [first = ''] = services;
  if (name === undefined && uuid.test(first) && services.length === 1) {
    showThing(
      kit,
      (await kit.api().call('POST', `${path}/subscriptions`, { body: { packageId: first } })).body,
    );
    return undefined;
  }
  if (name === undefined)
    fail('usage', 'Name a package by its id, or make one of services with --package <name>.');
  const serviceIds: string[] = [];
  for (const service of services) serviceIds.push(await serviceIdOf(kit, service));
  const { body } = await kit
    .api()
    .call<Row>('POST', `${path}/packages`, { body: { name, serviceIds } });
  showThing(
    kit,
    (
      await kit
        .api()
        .call('POST', `${path}/subscriptions`, { body: { packageId: body['packageId'] } })
    ).body,
  );
  return undefined;
}

function addOffers(services: Command, { act }: Runner): void {
  listOptions(services.command('list'))
    .description('Lists the services of the catalogue.')
    .option('--domain <domain>', 'of this domain')
    .option('--status <status>', 'Draft, Published or Retired')
    .action(
      act<ListOptions & { domain?: string; status?: string }>(async (kit, _args, options) => {
        const { domain, status } = options;
        await showList(kit, `${path}/services`, { domain, status }, options, [
          idColumn('serviceId'),
          column('name'),
          column('domain'),
          column('status'),
          column('release'),
        ]);
        return undefined;
      }),
    );
  secretOptions(services.command('declare <declaration>'))
    .description('Declares a service: JSON, or @file with JSON or YAML.')
    .option('--publish', 'publishes it at once')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard services declare @loyalty.yaml --publish --secret-out loyalty.secret',
    )
    .action(
      act<SecretOptions & { publish?: boolean }>((kit, [file = ''], options) =>
        declare(kit, file, options),
      ),
    );
  services
    .command('publish <service>')
    .description('Publishes what was declared last.')
    .action(
      act(async (kit, [service = '']) => {
        showThing(
          kit,
          (
            await kit
              .api()
              .call('POST', `${path}/services/${await serviceIdOf(kit, service)}/publish`)
          ).body,
        );
        return undefined;
      }),
    );
  secretOptions(services.command('renew-secret <service>'))
    .description('Makes a new signing secret; calls carry both signatures for a day.')
    .action(
      act<SecretOptions>(async (kit, [service = ''], options) =>
        renewSecret(kit, `${path}/services/${await serviceIdOf(kit, service)}/secret`, options),
      ),
    );
  listOptions(services.command('packages'))
    .description('Lists packages.')
    .action(
      act<ListOptions>(async (kit, _args, options) => {
        const columns = [
          idColumn('packageId'),
          column('name'),
          column('status'),
          column('serviceIds', 'SERVICES'),
        ];
        await showList(kit, `${path}/packages`, {}, options, columns);
        return undefined;
      }),
    );
}

function addSwitches(services: Command, { act }: Runner): void {
  placeOptions(services.command('activate <service>'))
    .description('Switches a service on: for the organisation, or at the level that is named.')
    .option('--parameters <json>', 'parameters: JSON, or @file')
    .option('--alone', 'this level alone, not what stands below it now')
    .addHelpText(
      'after',
      `\nExample:\n  $ switchyard services activate "Loyalty points" --merchant 0198… --parameters '{"account":"NG-1"}'`,
    )
    .action(
      act<ActivateOptions>(async (kit, [service = ''], options) => {
        const { level, entityId } = await placeOf(kit, options);
        const parameters =
          options.parameters === undefined ? {} : jsonValue(options.parameters, '--parameters');
        const body = {
          serviceId: await serviceIdOf(kit, service),
          level,
          entityId,
          parameters,
          includesExisting: !options.alone,
        };
        showThing(kit, (await kit.api().call('POST', `${path}/activations`, { body })).body);
        return undefined;
      }),
    );
  placeOptions(services.command('deactivate <service>'))
    .description('Switches a service off.')
    .action(
      act<Place>(async (kit, [service = ''], options) => {
        const { level, entityId } = await placeOf(kit, options);
        const body = { serviceId: await serviceIdOf(kit, service), level, entityId };
        showThing(kit, (await kit.api().call('POST', `${path}/deactivations`, { body })).body);
        return undefined;
      }),
    );
}

export function addServiceCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  const services = program
    .command('services')
    .summary('the service catalogue')
    .description('Services: declared, subscribed to, switched on and off.');
  addOffers(services, runner);
  services
    .command('subscribe <services...>')
    .description(
      'Subscribes the organisation to a package, by its id, or to a new one of these services.',
    )
    .option('--package <name>', 'the name of the new package')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard services subscribe "Loyalty points" --package Loyalty',
    )
    .action(
      act<{ package?: string }>((kit, names, options) => subscribe(kit, names, options.package)),
    );
  addSwitches(services, runner);
  services
    .command('status <device>')
    .description('How the services stand at a logical device, level by level.')
    .action(
      act(async (kit, [device = '']) => {
        const { body } = await kit
          .api()
          .call<{ items: Row[] }>(
            'GET',
            `${path}/logical-devices/${encodeURIComponent(device)}/services`,
          );
        kit.screen.result(body, () =>
          kit.screen.table(
            [
              idColumn('serviceId'),
              column('name'),
              column('active'),
              {
                title: 'LEVELS',
                of: ({ levels }) =>
                  (Array.isArray(levels) ? levels.map(membersOf) : []).map(
                    ({ level, active }) => `${level} ${active ? 'on' : 'off'}`,
                  ),
              },
            ],
            body.items,
          ),
        );
        return undefined;
      }),
    );
}
