/** Fills the parameters of a path: from the arguments, which may be names, and from the options. */
import { parseTsn } from '@switchyard/contract';
import type { Query } from '../http/api-client.ts';
import { fail } from '../runtime/command-error.ts';
import { type OptionValues, option } from './command-option.ts';
import type { CommandContext } from './command-runner.ts';
import type { Row } from './list-output.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const isUuid = (text: string): boolean => uuid.test(text);

export const usersPath = '/user-management/v2/user-domains/{userDomainId}/users';
export const servicesPath = '/service-catalog/v1/services';
export const devicesPath = '/provisioning/v2/physical-devices';

/** The options that select a level of services and configurations. */
export const levelOptions = [
  option('--merchant <id>', 'at the level of this merchant'),
  option('--store <id>', 'at the level of this store'),
  option('--device <id>', 'at the level of this logical device'),
];

/** The lowest level among the options; without an option the organisation. */
export async function selectLevel(
  context: CommandContext,
  { merchant, store, device }: OptionValues,
) {
  if (device !== undefined)
    return { level: 'LogicalDevice', list: 'logical-devices', entityId: String(device) };
  if (store !== undefined) return { level: 'Store', list: 'stores', entityId: String(store) };
  if (merchant !== undefined)
    return { level: 'Merchant', list: 'merchants', entityId: String(merchant) };
  const entityId = await context.session().organizationId();
  return { level: 'Organization', list: 'organizations', entityId };
}

/** The user domain of the profile, or of the organisation of --organization. */
async function findUserDomain(context: CommandContext): Promise<string> {
  const { organization } = context.globals;
  if (organization === undefined) return context.session().profile.userDomainId;
  const path = `/provisioning/v2/organizations/${encodeURIComponent(organization)}`;
  const { userDomainId } = (await context.api().call<{ userDomainId?: string }>('GET', path)).body;
  return (
    userDomainId ??
    fail('notFound', 'That organisation has no user domain. Use the organisation above it.')
  );
}

async function findAll(
  context: CommandContext,
  path: string,
  query: Query,
  isMatch: (row: Row) => boolean,
): Promise<Row[]> {
  const matches: Row[] = [];
  for await (const row of context.api().list<Row>(path, query)) if (isMatch(row)) matches.push(row);
  return matches;
}

/** Finds a user by id or full user name. */
async function findUserId(context: CommandContext, user: string): Promise<string> {
  if (isUuid(user)) return user;
  const { path } = await resolvePath(context, usersPath, [], {});
  const isMatch = ({ username }: Row) => String(username).toLowerCase() === user.toLowerCase();
  const [match] = await findAll(context, path, { username: user }, isMatch);
  if (match !== undefined) return String(match['userId']);
  return fail('notFound', `There is no user “${user}”. List the users: switchyard users list`);
}

/** Finds a service by id, or by its full name if the name is unique. */
export async function findServiceId(context: CommandContext, service: string): Promise<string> {
  if (isUuid(service)) return service;
  const matches = await findAll(context, servicesPath, {}, ({ name }) => name === service);
  if (matches.length > 1)
    fail('usage', `More than one service has the name “${service}”. Use the id of the service.`);
  const [match] = matches;
  if (match !== undefined) return String(match['serviceId']);
  return fail(
    'notFound',
    `The catalogue has no service “${service}”. List the services: switchyard services list`,
  );
}

/** Finds an acquirer link by id or name. */
export async function findAcquirerLinkId(context: CommandContext, link: string): Promise<string> {
  if (isUuid(link)) return link;
  const isMatch = ({ name }: Row) => name === link;
  const [match] = await findAll(
    context,
    '/provisioning/v2/acquirer-links',
    { name: link },
    isMatch,
  );
  if (match !== undefined) return String(match['acquirerLinkId']);
  return fail(
    'notFound',
    `There is no acquirer link “${link}”. List the links: switchyard acquirer links`,
  );
}

/** Finds a device by id, serial number or terminal serial number (TSN). */
export async function findDevice(context: CommandContext, device: string): Promise<Row> {
  if (isUuid(device))
    return (await context.api().call<Row>('GET', `${devicesPath}/${device}`)).body;
  const query = { serialNumber: parseTsn(device).serialNumber };
  const isMatch = ({ tsn, serialNumber }: Row) => tsn === device || serialNumber === device;
  const matches = await findAll(context, devicesPath, query, isMatch);
  if (matches.length > 1)
    fail(
      'usage',
      `More than one device has the serial number “${device}”. Use one of these terminal serial numbers:`,
      ...matches.map(({ tsn }) => String(tsn)),
    );
  return (
    matches[0] ??
    fail('notFound', `There is no device “${device}”. List the devices: switchyard devices list`)
  );
}

/** Parameters that no argument names. */
const parametersOfContext: Readonly<
  Record<string, (context: CommandContext, options: OptionValues) => Promise<string>>
> = {
  userDomainId: findUserDomain,
  level: async (context, options) => (await selectLevel(context, options)).list,
  entityId: async (context, options) => (await selectLevel(context, options)).entityId,
};

/** Parameters whose argument may be a name in place of the id. */
const parametersByName: Readonly<
  Record<string, (context: CommandContext, name: string) => Promise<string>>
> = {
  userId: findUserId,
  serviceId: findServiceId,
  physicalDeviceId: async (context, name) =>
    String((await findDevice(context, name))['physicalDeviceId']),
};

/** Each `{parameter}` of the path takes the next argument, unless it comes from the session or the options. */
export async function resolvePath(
  context: CommandContext,
  template: string,
  args: readonly string[],
  options: OptionValues,
): Promise<{ path: string; unusedArgs: string[] }> {
  const unusedArgs = [...args];
  const parts: string[] = [];
  for (const part of template.split('/')) {
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
    if (name === undefined) {
      parts.push(part);
      continue;
    }
    const fromContext = parametersOfContext[name];
    const value =
      fromContext === undefined
        ? await findByArgument(context, name, unusedArgs.shift() ?? '')
        : await fromContext(context, options);
    parts.push(encodeURIComponent(value));
  }
  return { path: parts.join('/'), unusedArgs };
}

const findByArgument = async (context: CommandContext, name: string, argument: string) =>
  (await parametersByName[name]?.(context, argument)) ?? argument;
