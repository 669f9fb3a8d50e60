/** `switchyard services`: the service catalogue, subscriptions and activations. */
import type { CommandDefinition, CommandGroup } from '../../command-line/command-definition.ts';
import { memberOption, type OptionValues, option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { parseJsonOption } from '../../command-line/list-options.ts';
import { column, idColumn, printResource, type Row } from '../../command-line/list-output.ts';
import {
  findServiceId,
  isUuid,
  levelOptions,
  selectLevel,
  servicesPath,
} from '../../command-line/path-parameters.ts';
import {
  requestSecret,
  type SecretOptions,
  secretOptions,
} from '../../command-line/secret-output.ts';
import { listOf, membersOf } from '../../http/problem-details.ts';
import { fail } from '../../runtime/command-error.ts';

const packagesPath = '/service-catalog/v1/packages';
const subscriptionsPath = '/service-catalog/v1/subscriptions';

async function declareService(
  context: CommandContext,
  [file = '']: string[],
  options: SecretOptions & { readonly publish?: boolean },
): Promise<void> {
  const body = membersOf(parseJsonOption(file, 'The declaration'));
  const declared = await requestSecret(options, () =>
    context.api().call<Row>('POST', servicesPath, { body }),
  );
  if (options.publish)
    await context.api().call('POST', `${servicesPath}/${declared['serviceId']}/publish`);
  printResource(context, declared);
}

async function subscribeToServices(
  context: CommandContext,
  services: string[],
  { package: name }: { readonly package?: string },
): Promise<void> {
  const subscribe = async (packageId: unknown) => {
    const body = { packageId };
    printResource(context, (await context.api().call('POST', subscriptionsPath, { body })).body);
    return;
  };
  const [first = ''] = services;
  if (name === undefined && isUuid(first) && services.length === 1) return subscribe(first);
  if (name === undefined)
    fail(
      'usage',
      'Enter the id of a package, or create a package of these services with --package <name>.',
    );
  const serviceIds: string[] = [];
  for (const service of services) serviceIds.push(await findServiceId(context, service));
  const { body } = await context
    .api()
    .call<Row>('POST', packagesPath, { body: { name, serviceIds } });
  return subscribe(body['packageId']);
}

async function serviceAndLevel(
  context: CommandContext,
  options: OptionValues,
  [service = '']: string[],
): Promise<Row> {
  const { level, entityId } = await selectLevel(context, options);
  return { serviceId: await findServiceId(context, service), level, entityId };
}

async function membersOfActivation(
  context: CommandContext,
  options: OptionValues,
  args: string[],
): Promise<Row> {
  const { parameters: text } = options;
  const parameters = text === undefined ? {} : parseJsonOption(String(text), '--parameters');
  return { ...(await serviceAndLevel(context, options, args)), parameters };
}

function printServiceStates({ output }: CommandContext, response: Row): void {
  const levelStates = ({ levels }: Row): string[] =>
    listOf(levels).map(({ level, active }) => `${level} ${active ? 'on' : 'off'}`);
  const columns = [
    idColumn('serviceId'),
    'name',
    'active',
    { title: 'LEVELS', value: levelStates },
  ];
  output.printResult(response, () => output.formatTable(columns, response['items'] as Row[]));
}

const catalogueCommands: readonly CommandDefinition[] = [
  {
    command: 'list',
    description: 'Lists the services of the catalogue.',
    route: `GET ${servicesPath}`,
    options: [
      memberOption('--domain <domain>', 'only those of this domain', 'domain'),
      memberOption('--status <status>', 'only this status: Draft, Published or Retired', 'status'),
    ],
    columns: [idColumn('serviceId'), 'name', 'domain', 'status', 'release'],
  },
  {
    command: 'declare <declaration>',
    description: 'Declares a service, as JSON or @file with JSON or YAML.',
    options: [...secretOptions, option('--publish', 'publish the service at once')],
    run: declareService,
    examples: ['switchyard services declare @loyalty.yaml --publish --secret-out loyalty.secret'],
  },
  {
    command: 'publish <service>',
    description: 'Publishes the latest declaration of a service.',
    route: `POST ${servicesPath}/{serviceId}/publish`,
  },
  {
    command: 'rotate-secret <service>',
    description:
      'Creates a new signing secret. For one day, calls are signed with the old and the new secret.',
    route: `POST ${servicesPath}/{serviceId}/secret`,
    hasSecret: true,
  },
  {
    command: 'packages',
    description: 'Lists packages.',
    route: `GET ${packagesPath}`,
    columns: [idColumn('packageId'), 'name', 'status', column('serviceIds', 'SERVICES')],
  },
  {
    command: 'subscribe <services...>',
    description:
      'Subscribes the organisation to the package with this id. With --package, the command creates a package of these services and subscribes the organisation to it.',
    options: [option('--package <name>', 'name of the new package')],
    run: subscribeToServices,
    examples: ['switchyard services subscribe "Loyalty points" --package Loyalty'],
  },
];

const activationCommands: readonly CommandDefinition[] = [
  {
    command: 'activate <service>',
    description:
      'Activates a service for the organisation, or for the merchant, store or device in --merchant, --store or --device.',
    route: 'POST /service-catalog/v1/activations',
    members: { includesExisting: true },
    toMembers: membersOfActivation,
    options: [
      ...levelOptions,
      option('--parameters <json>', 'parameters as JSON, or @file'),
      memberOption(
        '--alone',
        'activate the service only at this level, not for existing merchants, stores and devices below it',
        'includesExisting',
        { value: false },
      ),
    ],
    examples: [
      `switchyard services activate "Loyalty points" --merchant 0198… --parameters '{"account":"NG-1"}'`,
    ],
  },
  {
    command: 'deactivate <service>',
    description:
      'Deactivates a service for the organisation, or for the merchant, store or device in --merchant, --store or --device.',
    route: 'POST /service-catalog/v1/deactivations',
    toMembers: serviceAndLevel,
    options: levelOptions,
  },
  {
    command: 'status <device>',
    description: 'Shows which services are active at a logical device, level by level.',
    route: 'GET /service-catalog/v1/logical-devices/{logicalDeviceId}/services',
    print: printServiceStates,
  },
];

export const serviceCommands: CommandGroup = {
  group: 'services',
  summary: 'manage the service catalogue',
  description: 'Declares, publishes, subscribes to, activates and deactivates services.',
  commands: [...catalogueCommands, ...activationCommands],
};
