/** Makes, changes and removes one thing at the server, each kind in the way that its routes have. */

import type { Api } from '../http/api-client.ts';
import { CommandFault, fail } from '../runtime/command-error.ts';
import type { Change } from './compare-estates.ts';
import type { KindName, Thing } from './estate-model.ts';
import {
  bodyOf,
  configurationPaths,
  type Home,
  type IdOf,
  levelOf,
  routeOf,
} from './resource-routes.ts';
import type { Secrets } from './secrets-file.ts';

type Ids = {
  readonly idOf: IdOf;
  put(thing: Thing, id: string): unknown;
  of(thing: Thing): string | undefined;
};

type Deps = {
  readonly api: Api;
  readonly home: Home;
  readonly ids: Ids;
  readonly secrets: Secrets;
  readonly ownClientId: string;
  readonly ownSubject: string | undefined;
};

export type Writer = {
  create(thing: Thing): Promise<void>;
  /** What a POST of it would send. */
  bodyOf(thing: Thing): Body;
  /** It was made with others, and has this id; what a route of its own sets follows. */
  made(thing: Thing, id: string): Promise<void>;
  change(change: Change): Promise<void>;
  remove(thing: Thing): Promise<void>;
  /** Takes hardware away that another device, or nobody, will have. */
  unlink(change: Change): Promise<void>;
};

type Body = Readonly<Record<string, unknown>>;
const catalogue = '/service-catalog/v1';
/** What a route of its own changes. */
const apart: Readonly<Partial<Record<KindName, string>>> = {
  user: 'status',
  service: 'status',
  logicalDevice: 'physicalDevices',
};

const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** @example const writer = createWriter({ api, home, ids, ...options }); */
export function createWriter(deps: Deps): Writer {
  const { api, home, ids, secrets, ownClientId, ownSubject } = deps;

  function parentIdOf({ parent }: Thing): string | undefined {
    if (parent === undefined) return undefined;
    return (
      ids.of(parent) ??
      parent.id ??
      fail('notFound', `Not tried, since ${parent.kind} ${parent.key} is not there.`)
    );
  }

  function pathOf(thing: Thing): string {
    const path = routeOf(thing.kind).path(home, parentIdOf(thing));
    return (
      path ?? fail('refused', 'The organisation has no user domain, so nobody can belong to it.')
    );
  }
  const idPath = (thing: Thing, id = ids.of(thing) ?? thing.id) =>
    `${pathOf(thing)}/${encodeURIComponent(id ?? '')}`;

  async function link(thing: Thing, wanted: readonly string[]): Promise<void> {
    const path = `${idPath(thing)}/physical-devices`;
    const { etag } = await api.call('GET', idPath(thing));
    const physicalDeviceIds = wanted.map((key) => ids.idOf('physicalDevice', key));
    await api.call('PUT', path, { body: { physicalDeviceIds }, etag });
  }

  async function setStatus(thing: Thing, status: unknown): Promise<void> {
    await api.call('PUT', `${idPath(thing)}/status`, { body: { status } });
  }

  /** Drafts stay drafts; what was published before is published as it is now. */
  async function publish(thing: Thing, present: unknown): Promise<void> {
    const { status = 'Published' } = thing.members;
    if (status === 'Draft') return;
    if (present === undefined || status === 'Published')
      await api.call('POST', `${idPath(thing)}/publish`);
    if (status === 'Retired' && present !== 'Retired')
      await api.call('POST', `${idPath(thing)}/retire`);
  }

  function placeOf(thing: Thing): { level: string; entityId: string } {
    const kind = thing.parent?.kind ?? 'organization';
    return { level: levelOf[kind] ?? '', entityId: parentIdOf(thing) ?? home.organizationId };
  }

  async function activate(thing: Thing, wasActive: boolean): Promise<void> {
    const { active = true, includesExisting = true, parameters = {}, service } = thing.members;
    const place = { ...placeOf(thing), serviceId: ids.idOf('service', String(service)) };
    // Other parameters are another request: the one before ends first.
    if (!active || wasActive) await api.call('POST', `${catalogue}/deactivations`, { body: place });
    if (active)
      await api.call('POST', `${catalogue}/activations`, {
        body: { ...place, includesExisting, parameters },
      });
  }

  function configurationPath(thing: Thing): string {
    const kind = thing.parent?.kind ?? 'organization';
    const { entityId } = placeOf(thing);
    const serviceId = ids.idOf('service', String(thing.members['service']));
    return `/configuration/v1/${configurationPaths[kind]}/${entityId}/services/${serviceId}`;
  }

  async function configure(thing: Thing): Promise<void> {
    const { etag } = await api.call('GET', configurationPath(thing));
    const { values } = thing.members;
    await api.call('POST', configurationPath(thing), { body: { values }, etag });
  }

  async function unset(thing: Thing): Promise<void> {
    const { etag } = await api.call('GET', configurationPath(thing));
    await api.call('DELETE', configurationPath(thing), { etag });
  }

  const newBodyOf = (thing: Thing): Body => bodyOf(thing, home, ids.idOf, parentIdOf(thing));

  /** Nobody has seen a version of it yet. */
  async function linkNew(thing: Thing): Promise<void> {
    const links = listOf(thing.members['physicalDevices']);
    if (links.length === 0) return;
    const physicalDeviceIds = links.map((key) => ids.idOf('physicalDevice', key));
    await api.call('PUT', `${idPath(thing)}/physical-devices`, { body: { physicalDeviceIds } });
  }

  async function create(thing: Thing): Promise<void> {
    if (thing.kind === 'activation') return activate(thing, false);
    if (thing.kind === 'configuration') return configure(thing);
    const body = newBodyOf(thing);
    const { body: told } = await api.call<Body>('POST', pathOf(thing), { body });
    secrets.keep(thing, told);
    ids.put(thing, String(told[routeOf(thing.kind).idMember]));
    if (thing.kind === 'user' && thing.members['status'] === 'deactivated')
      await setStatus(thing, 'deactivated');
    if (thing.kind === 'service') await publish(thing, undefined);
    return linkNew(thing);
  }

  async function change({ thing, present, members }: Change): Promise<void> {
    const before = present?.members ?? {};
    if (thing.kind === 'activation') return activate(thing, before['active'] !== false);
    if (thing.kind === 'configuration') return configure(thing);
    const changed = members.map(({ member }) => member);
    const own = changed.filter((member) => member !== apart[thing.kind]);
    if (own.length > 0) {
      const { etag } = await api.call('GET', idPath(thing));
      await api.call('PUT', idPath(thing), { body: replacementOf(thing), etag });
    }
    if (thing.kind === 'user' && changed.includes('status'))
      await setStatus(thing, thing.members['status'] ?? 'activated');
    if (thing.kind === 'service') await publish(thing, before['status'] ?? 'Published');
    if (changed.includes('physicalDevices'))
      await link(thing, listOf(thing.members['physicalDevices']));
    return undefined;
  }

  /** A PUT has no parent, which never changes. */
  function replacementOf(thing: Thing): Body {
    const body = bodyOf(thing, home, ids.idOf, undefined);
    return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  }

  async function remove(thing: Thing): Promise<void> {
    const { kind, members } = thing;
    if (kind === 'application' && thing.key === ownClientId) {
      fail('refused', 'It is the application that you are signed in as.');
    }
    if (kind === 'user' && thing.id === ownSubject) fail('refused', 'It is yourself.');
    if (kind === 'user') return setStatus(thing, 'deactivated');
    if (kind === 'configuration') return unset(thing);
    if (kind === 'activation')
      return activate({ ...thing, members: { ...members, active: false } }, true);
    if (kind === 'service' && members['status'] !== 'Draft') {
      await api.call('POST', `${idPath(thing)}/retire`);
      return undefined;
    }
    try {
      const { etag } = await api.call('GET', idPath(thing));
      await api.call('DELETE', idPath(thing), { etag });
    } catch (error) {
      // Gone already: an earlier run, or somebody else, was here.
      if (!(error instanceof CommandFault) || error.exit !== 'notFound') throw error;
    }
    return undefined;
  }

  return {
    create,
    bodyOf: newBodyOf,
    async made(thing, id) {
      ids.put(thing, id);
      await linkNew(thing);
    },
    change,
    remove,
    async unlink({ action, thing, present }) {
      const linked = listOf(present?.members['physicalDevices']);
      const wanted = action === 'remove' ? [] : listOf(thing.members['physicalDevices']);
      const kept = linked.filter((key) => wanted.includes(key));
      if (kept.length < linked.length) await link(thing, kept);
    },
  };
}
