/** Reads the estate from the server: each list once, then it assigns the keys. */

import type { ApiClient } from '../http/api-client.ts';
import type { Progress } from '../output/progress-line.ts';
import { CommandError, fail } from '../runtime/command-error.ts';
import { omitDefaults } from './convert-estate-document.ts';
import {
  createUniqueKeys,
  type Estate,
  type Json,
  type Members,
  type Resource,
  type ResourceKind,
} from './estate-model.ts';
import { filterByMerchants } from './filter-estate.ts';
import { organizationMembers, resourceDefinition, resourceDefinitions } from './resource-kinds.ts';
import {
  configurationPaths,
  type EstateOwner,
  isCreatedByPlatform,
  type KeyOf,
  levelOf,
  routeOf,
  toFileMembers,
  type View,
} from './resource-routes.ts';
import { runConcurrently } from './run-concurrently.ts';

export type ReadOptions = {
  readonly progress: Progress;
  readonly stopping: AbortSignal;
  /** Kinds that are not read; the file does not contain them. */
  readonly skipped: ReadonlySet<ResourceKind>;
  readonly only?: readonly string[] | undefined;
  note(text: string): void;
};

type ListedViews = Map<ResourceKind, View[]>;

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const noViews = [] as const;

/** Counts the items of all lists for the progress. */
function createCounter(progress: Progress) {
  let count = 0;
  return () => {
    count += 1;
    progress.step(count);
  };
}

async function readList(
  api: ApiClient,
  path: string,
  query: Record<string, string>,
  onItem: () => void,
): Promise<View[]> {
  const views: View[] = [];
  for await (const view of api.list<View>(path, query)) {
    views.push(view);
    onItem();
  }
  return views;
}

/** Contracts are listed by merchant: one request for each. */
async function readContracts(
  api: ApiClient,
  owner: EstateOwner,
  merchants: readonly View[],
  options: ReadOptions,
  onItem: () => void,
) {
  const results: View[][] = [];
  await runConcurrently(merchants, options.stopping, async (merchant, index) => {
    const path = routeOf('acquirerContract').path(owner, text(merchant['merchantId']));
    results[index] = path === undefined ? [] : await readList(api, path, {}, onItem);
  });
  return results.flat();
}

/** The list of services leaves out large members, so each service is read by itself. */
async function readServices(
  api: ApiClient,
  views: readonly View[],
  stopping: AbortSignal,
): Promise<View[]> {
  const wholeEstate: View[] = [];
  await runConcurrently(views, stopping, async (view, index) => {
    const path = `${routeOf('service').path({ organizationId: '', userDomainId: undefined }, undefined)}/${text(view['serviceId'])}`;
    wholeEstate[index] = (await api.call<View>('GET', path)).body;
  });
  return wholeEstate;
}

async function readLists(
  api: ApiClient,
  owner: EstateOwner,
  options: ReadOptions,
  onItem: () => void,
): Promise<ListedViews> {
  const listedViews: ListedViews = new Map();
  for (const { name } of resourceDefinitions) {
    if (options.skipped.has(name) || name === 'configuration') continue;
    try {
      if (name === 'acquirerContract') {
        listedViews.set(
          name,
          await readContracts(api, owner, listedViews.get('merchant') ?? noViews, options, onItem),
        );
        continue;
      }
      const path = routeOf(name).path(owner, undefined);
      if (path === undefined) continue;
      const query = name === 'service' ? { providerId: owner.organizationId } : {};
      const views = await readList(api, path, query as Record<string, string>, onItem);
      listedViews.set(
        name,
        name === 'service' ? await readServices(api, views, options.stopping) : views,
      );
    } catch (error) {
      // A user without the permission for one list can still export the others.
      if (!(error instanceof CommandError) || error.exit !== 'notPermitted') throw error;
      options.note(
        `Skipped, because you have no permission to read: ${resourceDefinition(name).list}`,
      );
    }
  }
  return listedViews;
}

/** The resources by id, and their keys. */
function createIndex() {
  const byId = new Map<string, Resource>();
  const keyOf: KeyOf = (kind, id) => byId.get(`${kind} ${id}`)?.key ?? id;
  return { byId, keyOf };
}

function parentOf(
  name: ResourceKind,
  view: View,
  byId: ReadonlyMap<string, Resource>,
): Resource | undefined | 'unknown' {
  if (name === 'activation') {
    const level = Object.entries(levelOf).find(([, each]) => each === view['level'])?.[0] as
      | ResourceKind
      | undefined;
    if (level === 'organization') return undefined;
    return byId.get(`${level} ${text(view['entityId'])}`) ?? 'unknown';
  }
  const [parentKind] = resourceDefinition(name).within;
  const { parentMember } = routeOf(name);
  if (parentKind === undefined || parentKind === 'organization' || parentMember === undefined)
    return undefined;
  return byId.get(`${parentKind} ${text(view[parentMember])}`) ?? 'unknown';
}

function toResources(
  listedViews: ListedViews,
  owner: EstateOwner,
): { resources: Resource[]; byId: Map<string, Resource> } {
  const { byId, keyOf } = createIndex();
  const keys = createUniqueKeys();
  const resources: Resource[] = [];
  const posClientIds = new Set(
    (listedViews.get('pointOfSale') ?? []).map((view) => text(view['clientId'])),
  );
  for (const { name } of resourceDefinitions) {
    const { idMember } = name === 'configuration' ? { idMember: '' } : routeOf(name);
    for (const view of listedViews.get(name) ?? noViews) {
      if (isCreatedByPlatform(name, view, posClientIds)) continue;
      const parent = parentOf(name, view, byId);
      // The parent was created after its list was read; the next export has both.
      if (parent === 'unknown') continue;
      const members = toFileMembers(name, view, owner, keyOf);
      const resource: Resource = {
        kind: name,
        key: keys(parent, name, resourceDefinition(name).keyOf(members)),
        parent,
        members: omitDefaults(name, members),
        id: text(view[idMember]),
      };
      resources.push(resource);
      byId.set(`${name} ${text(view[idMember])}`, resource);
    }
  }
  return { resources, byId };
}

type Configurable = { readonly serviceId: string; readonly isSet: boolean };

/** The configuration that each level sets itself; read only if a service can be configured. */
async function readConfigurations(
  api: ApiClient,
  organization: Resource,
  resources: readonly Resource[],
  keyOf: KeyOf,
  options: ReadOptions,
): Promise<Resource[]> {
  const servicesPath = (resource: Resource) =>
    `/configuration/v1/${configurationPaths[resource.kind]}/${resource.id}/services`;
  const configurable: Configurable[] = [];
  for await (const service of api.list<Configurable>(servicesPath(organization)))
    configurable.push(service);
  if (configurable.length === 0) return [];
  const levels = [
    organization,
    ...resources.filter(({ kind }) => configurationPaths[kind] !== undefined),
  ];
  const results: Resource[][] = [];
  await runConcurrently(levels, options.stopping, async (resource, index) => {
    const set: Resource[] = [];
    for await (const { serviceId, isSet } of api.list<Configurable>(servicesPath(resource))) {
      if (!isSet) continue;
      const { values } = (await api.call<View>('GET', `${servicesPath(resource)}/${serviceId}`))
        .body;
      const service = keyOf('service', serviceId);
      const parent = resource.kind === 'organization' ? undefined : resource;
      const members: Members = { service, values: values ?? {} };
      set.push({ kind: 'configuration', key: service, parent, members, id: serviceId });
    }
    results[index] = set;
  });
  return results.flat();
}

/** The user domain of the top organisation comes from the session and is not in the file. */
async function organizationThing(
  api: ApiClient,
  organizationId: string,
  isTop: boolean,
): Promise<Resource> {
  const { body } = await api.call<View>('GET', `/provisioning/v2/organizations/${organizationId}`);
  const memberNames = Object.keys(organizationMembers)
    .filter((member) => body[member] !== undefined)
    .filter((member) => !(isTop && member === 'userDomainId'));
  const members = Object.fromEntries(memberNames.map((member) => [member, body[member] as Json]));
  const key = text(members['externalId']) || text(members['name']);
  return {
    kind: 'organization',
    key,
    parent: undefined,
    members: omitDefaults('organization', members),
    id: organizationId,
  };
}

/** The keys of the merchants that the user named by key or id. */
function findMerchantKeys(estate: Estate, names: readonly string[]): string[] {
  return names.map((name) => {
    const results = estate.resources.find(
      ({ kind, key, id }) => kind === 'merchant' && (key === name || id === name),
    );
    return (
      results?.key ??
      fail(
        'notFound',
        `The organisation has no merchant “${name}”. List the merchants: switchyard search --type Merchant <name>`,
      )
    );
  });
}

type SubOrganization = {
  readonly organizationId: string;
  readonly parentOrganizationId?: string;
  readonly userDomainId?: string;
};

/** The estate of an organisation, and of those below it. */
export async function readServerEstate(
  api: ApiClient,
  owner: EstateOwner,
  options: ReadOptions,
): Promise<Estate> {
  const onItem = createCounter(options.progress);
  const organizations: SubOrganization[] = [];
  if (!options.skipped.has('organization')) {
    for await (const each of api.list<SubOrganization>('/provisioning/v2/organizations'))
      organizations.push(each);
  }

  async function readOrganization(client: ApiClient, currentOwner: EstateOwner): Promise<Estate> {
    const organization = await organizationThing(
      client,
      currentOwner.organizationId,
      currentOwner === owner,
    );
    const listedViews = await readLists(client, currentOwner, options, onItem);
    const { resources, byId } = toResources(listedViews, currentOwner);
    const managed = new Set<ResourceKind>(['organization', ...listedViews.keys()]);
    if (!options.skipped.has('configuration')) {
      const keyOf: KeyOf = (kind, id) => byId.get(`${kind} ${id}`)?.key ?? id;
      resources.push(
        ...(await readConfigurations(client, organization, resources, keyOf, options)),
      );
      managed.add('configuration');
    }
    const subOrganizations: Estate[] = [];
    for (const each of organizations.filter(
      ({ parentOrganizationId }) => parentOrganizationId === currentOwner.organizationId,
    )) {
      const { organizationId, userDomainId } = each;
      subOrganizations.push(
        await readOrganization(api.within(organizationId), { organizationId, userDomainId }),
      );
    }
    return { organization, resources, subOrganizations, managed };
  }

  const wholeEstate = await readOrganization(api, owner);
  return options.only === undefined
    ? wholeEstate
    : filterByMerchants(wholeEstate, findMerchantKeys(wholeEstate, options.only));
}
