/** Reads the estate from the server: every list once, then the keys. */

import type { Api } from '../http/api-client.ts';
import type { Progress } from '../output/progress-line.ts';
import { CommandFault, fail } from '../runtime/command-error.ts';
import { withoutDefaults } from './estate-document.ts';
import {
  createKeys,
  type Estate,
  type Json,
  type KindName,
  type Members,
  type Thing,
} from './estate-model.ts';
import { narrowed } from './filter-estate.ts';
import { kindOf, kinds, organizationMembers } from './resource-kinds.ts';
import {
  configurationPaths,
  fileMembers,
  type Home,
  isMadeByPlatform,
  type KeyOf,
  levelOf,
  routeOf,
  type View,
} from './resource-routes.ts';
import { atOnce } from './run-concurrently.ts';

export type ReadOptions = {
  readonly progress: Progress;
  readonly stopping: AbortSignal;
  /** Kinds that are not read, and of which the file then says nothing. */
  readonly skipped: ReadonlySet<KindName>;
  readonly only?: readonly string[] | undefined;
  note(text: string): void;
};

type Raw = Map<KindName, View[]>;

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const nothing = [] as const;

/** One step for every thing that was read, over all lists. */
function counting(progress: Progress) {
  let count = 0;
  return () => {
    count += 1;
    progress.step(count);
  };
}

async function readList(
  api: Api,
  path: string,
  query: Record<string, string>,
  seen: () => void,
): Promise<View[]> {
  const views: View[] = [];
  for await (const view of api.list<View>(path, query)) {
    views.push(view);
    seen();
  }
  return views;
}

/** Contracts have no list of their own: one request for each merchant. */
async function readContracts(
  api: Api,
  home: Home,
  merchants: readonly View[],
  options: ReadOptions,
  seen: () => void,
) {
  const found: View[][] = [];
  await atOnce(merchants, options.stopping, async (merchant, index) => {
    const path = routeOf('acquirerContract').path(home, text(merchant['merchantId']));
    found[index] = path === undefined ? [] : await readList(api, path, {}, seen);
  });
  return found.flat();
}

/** Lists of services leave out what is large; those of our own are few. */
async function readServices(
  api: Api,
  views: readonly View[],
  stopping: AbortSignal,
): Promise<View[]> {
  const whole: View[] = [];
  await atOnce(views, stopping, async (view, index) => {
    const path = `${routeOf('service').path({ organizationId: '', userDomainId: undefined }, undefined)}/${text(view['serviceId'])}`;
    whole[index] = (await api.call<View>('GET', path)).body;
  });
  return whole;
}

async function readRaw(api: Api, home: Home, options: ReadOptions, seen: () => void): Promise<Raw> {
  const raw: Raw = new Map();
  for (const { name } of kinds) {
    if (options.skipped.has(name) || name === 'configuration') continue;
    try {
      if (name === 'acquirerContract') {
        raw.set(
          name,
          await readContracts(api, home, raw.get('merchant') ?? nothing, options, seen),
        );
        continue;
      }
      const path = routeOf(name).path(home, undefined);
      if (path === undefined) continue;
      const query = name === 'service' ? { providerId: home.organizationId } : {};
      const views = await readList(api, path, query as Record<string, string>, seen);
      raw.set(name, name === 'service' ? await readServices(api, views, options.stopping) : views);
    } catch (error) {
      // Whoever may not see something can still keep the rest in a file.
      if (!(error instanceof CommandFault) || error.exit !== 'notPermitted') throw error;
      options.note(`Left out, since you may not read them: ${kindOf(name).list}`);
    }
  }
  return raw;
}

/** Keys by id; a store is named by its merchant's key too where others refer to it. */
function createIndex() {
  const byId = new Map<string, Thing>();
  const keyOf: KeyOf = (kind, id) => byId.get(`${kind} ${id}`)?.key ?? id;
  return { byId, keyOf };
}

function parentOf(
  name: KindName,
  view: View,
  byId: ReadonlyMap<string, Thing>,
): Thing | undefined | 'unknown' {
  if (name === 'activation') {
    const level = Object.entries(levelOf).find(([, each]) => each === view['level'])?.[0] as
      | KindName
      | undefined;
    if (level === 'organization') return undefined;
    return byId.get(`${level} ${text(view['entityId'])}`) ?? 'unknown';
  }
  const [above] = kindOf(name).within;
  const { parentMember } = routeOf(name);
  if (above === undefined || above === 'organization' || parentMember === undefined)
    return undefined;
  return byId.get(`${above} ${text(view[parentMember])}`) ?? 'unknown';
}

function thingsOf(raw: Raw, home: Home): { things: Thing[]; byId: Map<string, Thing> } {
  const { byId, keyOf } = createIndex();
  const keys = createKeys();
  const things: Thing[] = [];
  const tills = new Set((raw.get('pointOfSale') ?? []).map((view) => text(view['clientId'])));
  for (const { name } of kinds) {
    const { idMember } = name === 'configuration' ? { idMember: '' } : routeOf(name);
    for (const view of raw.get(name) ?? nothing) {
      if (isMadeByPlatform(name, view, tills)) continue;
      const parent = parentOf(name, view, byId);
      // Made while the lists were read: the next export has it.
      if (parent === 'unknown') continue;
      const members = fileMembers(name, view, home, keyOf);
      const thing: Thing = {
        kind: name,
        key: keys(parent, name, kindOf(name).keyOf(members)),
        parent,
        members: withoutDefaults(name, members),
        id: text(view[idMember]),
      };
      things.push(thing);
      byId.set(`${name} ${text(view[idMember])}`, thing);
    }
  }
  return { things, byId };
}

type Configurable = { readonly serviceId: string; readonly isSet: boolean };

/** What each level sets of its own; asked about only where some service can be configured at all. */
async function readConfigurations(
  api: Api,
  organization: Thing,
  things: readonly Thing[],
  keyOf: KeyOf,
  options: ReadOptions,
): Promise<Thing[]> {
  const listed = (thing: Thing) =>
    `/configuration/v1/${configurationPaths[thing.kind]}/${thing.id}/services`;
  const own: Configurable[] = [];
  for await (const service of api.list<Configurable>(listed(organization))) own.push(service);
  if (own.length === 0) return [];
  const places = [
    organization,
    ...things.filter(({ kind }) => configurationPaths[kind] !== undefined),
  ];
  const found: Thing[][] = [];
  await atOnce(places, options.stopping, async (place, index) => {
    const set: Thing[] = [];
    for await (const { serviceId, isSet } of api.list<Configurable>(listed(place))) {
      if (!isSet) continue;
      const { values } = (await api.call<View>('GET', `${listed(place)}/${serviceId}`)).body;
      const service = keyOf('service', serviceId);
      const parent = place.kind === 'organization' ? undefined : place;
      const members: Members = { service, values: values ?? {} };
      set.push({ kind: 'configuration', key: service, parent, members, id: serviceId });
    }
    found[index] = set;
  });
  return found.flat();
}

/** The user domain of the one at the top is told by who is signed in, and is no part of the file. */
async function organizationThing(api: Api, organizationId: string, isTop: boolean): Promise<Thing> {
  const { body } = await api.call<View>('GET', `/provisioning/v2/organizations/${organizationId}`);
  const told = Object.keys(organizationMembers)
    .filter((member) => body[member] !== undefined)
    .filter((member) => !(isTop && member === 'userDomainId'));
  const members = Object.fromEntries(told.map((member) => [member, body[member] as Json]));
  const key = text(members['externalId']) || text(members['name']);
  return {
    kind: 'organization',
    key,
    parent: undefined,
    members: withoutDefaults('organization', members),
    id: organizationId,
  };
}

/** The keys of the merchants that somebody named by key or by id. */
function merchantsNamed(estate: Estate, names: readonly string[]): string[] {
  return names.map((name) => {
    const found = estate.things.find(
      ({ kind, key, id }) => kind === 'merchant' && (key === name || id === name),
    );
    return found?.key ?? fail('notFound', `There is no merchant “${name}” in the organisation.`);
  });
}

type Below = {
  readonly organizationId: string;
  readonly parentOrganizationId?: string;
  readonly userDomainId?: string;
};

/** The estate of an organisation, and of those below it. */
export async function readEstate(api: Api, home: Home, options: ReadOptions): Promise<Estate> {
  const seen = counting(options.progress);
  const all: Below[] = [];
  if (!options.skipped.has('organization')) {
    for await (const each of api.list<Below>('/provisioning/v2/organizations')) all.push(each);
  }

  async function read(reader: Api, at: Home): Promise<Estate> {
    const organization = await organizationThing(reader, at.organizationId, at === home);
    const raw = await readRaw(reader, at, options, seen);
    const { things, byId } = thingsOf(raw, at);
    const managed = new Set<KindName>(['organization', ...raw.keys()]);
    if (!options.skipped.has('configuration')) {
      const keyOf: KeyOf = (kind, id) => byId.get(`${kind} ${id}`)?.key ?? id;
      things.push(...(await readConfigurations(reader, organization, things, keyOf, options)));
      managed.add('configuration');
    }
    const below: Estate[] = [];
    for (const each of all.filter(
      ({ parentOrganizationId }) => parentOrganizationId === at.organizationId,
    )) {
      const { organizationId, userDomainId } = each;
      below.push(await read(api.within(organizationId), { organizationId, userDomainId }));
    }
    return { organization, things, below, managed };
  }

  const whole = await read(api, home);
  return options.only === undefined ? whole : narrowed(whole, merchantsNamed(whole, options.only));
}
