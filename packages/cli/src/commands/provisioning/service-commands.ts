/** `switchyard services`: the service catalogue, subscriptions and activations. */
import type { Command } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import {
  addListOptions,
  type ListOptions,
  parseJsonOption,
} from '../../command-line/list-options.ts';
import {
  column,
  idColumn,
  printList,
  printResource,
  type Row,
} from '../../command-line/list-output.ts';
import {
  addSecretOptions,
  openSecretOutput,
  rotateSecret,
  type SecretOptions,
} from '../../command-line/secret-output.ts';
import { membersOf } from '../../http/problem-details.ts';
import { fail } from '../../runtime/command-error.ts';

type LevelOptions = {
  readonly merchant?: string;
  readonly store?: string;
  readonly device?: string;
};
type ActivateOptions = LevelOptions & { readonly parameters?: string; readonly alone?: boolean };

const path = '/service-catalog/v1';
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Finds a service by id, or by its full name if the name is unique. */
export async function findServiceId(context: CommandContext, service: string): Promise<string> {
  if (uuid.test(service)) return service;
  const matches: Row[] = [];
  for await (const each of context.api().list<Row>(`${path}/services`))
    if (each['name'] === service) matches.push(each);
  const [match] = matches;
  if (match === undefined)
    return fail(
      'notFound',
      `The catalogue has no service “${service}”. List the services: switchyard services list`,
    );
  return matches.length === 1
    ? String(match['serviceId'])
    : fail('usage', `More than one service has the name “${service}”. Use the id of the service.`);
}

/** The lowest level among the options; without an option the organisation. */
export async function selectLevel(
  context: CommandContext,
  { merchant, store, device }: LevelOptions,
) {
  if (device !== undefined)
    return { level: 'LogicalDevice', list: 'logical-devices', entityId: device };
  if (store !== undefined) return { level: 'Store', list: 'stores', entityId: store };
  if (merchant !== undefined) return { level: 'Merchant', list: 'merchants', entityId: merchant };
  return {
    level: 'Organization',
    list: 'organizations',
    entityId: await context.session().organizationId(),
  };
}

export function addLevelOptions(command: Command): Command {
  return command
    .option('--merchant <id>', 'at the level of this merchant')
    .option('--store <id>', 'at the level of this store')
    .option('--device <id>', 'at the level of this logical device');
}

async function declareService(
  context: CommandContext,
  file: string,
  options: SecretOptions & { publish?: boolean },
): Promise<undefined> {
  const outputSecret = openSecretOutput(options);
  const { body } = await context.api().call<Row>('POST', `${path}/services`, {
    body: membersOf(parseJsonOption(file, 'The declaration')),
  });
  const declared = outputSecret(body);
  if (options.publish)
    await context.api().call('POST', `${path}/services/${declared['serviceId']}/publish`);
  printResource(context, declared);
  return undefined;
}

async function subscribeToServices(
  context: CommandContext,
  services: string[],
  name: string | undefined,
): Promise<undefined> {
  const [first = ''] = services;
  if (name === undefined && uuid.test(first) && services.length === 1) {
    printResource(
      context,
      (await context.api().call('POST', `${path}/subscriptions`, { body: { packageId: first } }))
        .body,
    );
    return undefined;
  }
  if (name === undefined)
    fail(
      'usage',
      'Enter the id of a package, or create a package of these services with --package <name>.',
    );
  const serviceIds: string[] = [];
  for (const service of services) serviceIds.push(await findServiceId(context, service));
  const { body } = await context
    .api()
    .call<Row>('POST', `${path}/packages`, { body: { name, serviceIds } });
  printResource(
    context,
    (
      await context
        .api()
        .call('POST', `${path}/subscriptions`, { body: { packageId: body['packageId'] } })
    ).body,
  );
  return undefined;
}

function addCatalogueCommands(services: Command, { toAction }: CommandRunner): void {
  addListOptions(services.command('list'))
    .description('Lists the services of the catalogue.')
    .option('--domain <domain>', 'only those of this domain')
    .option('--status <status>', 'only this status: Draft, Published or Retired')
    .action(
      toAction<ListOptions & { domain?: string; status?: string }>(
        async (context, _args, options) => {
          const { domain, status } = options;
          await printList(context, `${path}/services`, { domain, status }, options, [
            idColumn('serviceId'),
            column('name'),
            column('domain'),
            column('status'),
            column('release'),
          ]);
          return undefined;
        },
      ),
    );
  addSecretOptions(services.command('declare <declaration>'))
    .description('Declares a service, as JSON or @file with JSON or YAML.')
    .option('--publish', 'publish the service at once')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard services declare @loyalty.yaml --publish --secret-out loyalty.secret',
    )
    .action(
      toAction<SecretOptions & { publish?: boolean }>((context, [file = ''], options) =>
        declareService(context, file, options),
      ),
    );
  services
    .command('publish <service>')
    .description('Publishes the latest declaration of a service.')
    .action(
      toAction(async (context, [service = '']) => {
        printResource(
          context,
          (
            await context
              .api()
              .call('POST', `${path}/services/${await findServiceId(context, service)}/publish`)
          ).body,
        );
        return undefined;
      }),
    );
  addSecretOptions(services.command('rotate-secret <service>'))
    .description(
      'Creates a new signing secret. For one day, calls are signed with the old and the new secret.',
    )
    .action(
      toAction<SecretOptions>(async (context, [service = ''], options) =>
        rotateSecret(
          context,
          `${path}/services/${await findServiceId(context, service)}/secret`,
          options,
        ),
      ),
    );
  addListOptions(services.command('packages'))
    .description('Lists packages.')
    .action(
      toAction<ListOptions>(async (context, _args, options) => {
        const columns = [
          idColumn('packageId'),
          column('name'),
          column('status'),
          column('serviceIds', 'SERVICES'),
        ];
        await printList(context, `${path}/packages`, {}, options, columns);
        return undefined;
      }),
    );
}

function addActivationCommands(services: Command, { toAction }: CommandRunner): void {
  addLevelOptions(services.command('activate <service>'))
    .description(
      'Activates a service for the organisation, or for the merchant, store or device of an option.',
    )
    .option('--parameters <json>', 'parameters as JSON, or @file')
    .option('--alone', 'activate only this level, not the existing levels below it')
    .addHelpText(
      'after',
      `\nExample:\n  $ switchyard services activate "Loyalty points" --merchant 0198… --parameters '{"account":"NG-1"}'`,
    )
    .action(
      toAction<ActivateOptions>(async (context, [service = ''], options) => {
        const { level, entityId } = await selectLevel(context, options);
        const parameters =
          options.parameters === undefined
            ? {}
            : parseJsonOption(options.parameters, '--parameters');
        const body = {
          serviceId: await findServiceId(context, service),
          level,
          entityId,
          parameters,
          includesExisting: !options.alone,
        };
        printResource(
          context,
          (await context.api().call('POST', `${path}/activations`, { body })).body,
        );
        return undefined;
      }),
    );
  addLevelOptions(services.command('deactivate <service>'))
    .description(
      'Deactivates a service for the organisation, or for the merchant, store or device of an option.',
    )
    .action(
      toAction<LevelOptions>(async (context, [service = ''], options) => {
        const { level, entityId } = await selectLevel(context, options);
        const body = { serviceId: await findServiceId(context, service), level, entityId };
        printResource(
          context,
          (await context.api().call('POST', `${path}/deactivations`, { body })).body,
        );
        return undefined;
      }),
    );
}

export function addServiceCommands(program: Command, runner: CommandRunner): void {
  const { toAction } = runner;
  const services = program
    .command('services')
    .summary('manage the service catalogue')
    .description('Declares, publishes, subscribes to, activates and deactivates services.');
  addCatalogueCommands(services, runner);
  services
    .command('subscribe <services...>')
    .description(
      'Subscribes the organisation to a package by its id, or to a new package of these services.',
    )
    .option('--package <name>', 'name of the new package')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard services subscribe "Loyalty points" --package Loyalty',
    )
    .action(
      toAction<{ package?: string }>((context, names, options) =>
        subscribeToServices(context, names, options.package),
      ),
    );
  addActivationCommands(services, runner);
  services
    .command('status <device>')
    .description('Shows which services are active at a logical device, level by level.')
    .action(
      toAction(async (context, [device = '']) => {
        const { body } = await context
          .api()
          .call<{ items: Row[] }>(
            'GET',
            `${path}/logical-devices/${encodeURIComponent(device)}/services`,
          );
        context.output.printResult(body, () =>
          context.output.formatTable(
            [
              idColumn('serviceId'),
              column('name'),
              column('active'),
              {
                title: 'LEVELS',
                value: ({ levels }) =>
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
