/** Creates, changes and removes single resources on the server, by the routes of each kind. */

import type { ApiClient } from '../http/api-client.ts';
import { CommandError, fail } from '../runtime/command-error.ts';
import type { Change } from './compare-estates.ts';
import { type Resource, type ResourceKind, resourceLabel } from './estate-model.ts';
import {
  configurationPaths,
  type EstateOwner,
  type IdOf,
  levelOf,
  routeOf,
  toRequestBody,
} from './resource-routes.ts';
import type { SecretsFile } from './secrets-file.ts';

type ResourceIds = {
  readonly idOf: IdOf;
  setId(resource: Resource, id: string): unknown;
  idOfResource(resource: Resource): string | undefined;
};

type ResourceWriterOptions = {
  readonly api: ApiClient;
  readonly owner: EstateOwner;
  readonly ids: ResourceIds;
  readonly secrets: SecretsFile;
  readonly ownClientId: string;
  readonly ownSubject: string | undefined;
};

export type ResourceWriter = {
  create(resource: Resource): Promise<void>;
  /** The body of the POST that creates the resource. */
  toRequestBody(resource: Resource): Body;
  /** Completes a resource that a bulk request created: stores its id and sets what has a separate route. */
  afterBulkCreate(resource: Resource, id: string): Promise<void>;
  change(change: Change): Promise<void>;
  remove(resource: Resource): Promise<void>;
  /** Removes physical devices from a logical device, so that another one can use them. */
  unlinkDevices(change: Change): Promise<void>;
};

type Body = Readonly<Record<string, unknown>>;
const catalogue = '/service-catalog/v1';
/** The member that a separate route changes. */
const separateMember: Readonly<Partial<Record<ResourceKind, string>>> = {
  user: 'status',
  service: 'status',
  logicalDevice: 'physicalDevices',
};

const toStrings = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** @example const writer = createResourceWriter({ api, owner, ids, ...options }); */
export function createResourceWriter(options: ResourceWriterOptions): ResourceWriter {
  const { api, owner, ids, secrets, ownClientId, ownSubject } = options;

  function parentIdOf({ parent }: Resource): string | undefined {
    if (parent === undefined) return undefined;
    return (
      ids.idOfResource(parent) ??
      parent.id ??
      fail('notFound', `Skipped, because ${parent.kind} ${parent.key} does not exist.`)
    );
  }

  function listPath(resource: Resource): string {
    const path = routeOf(resource.kind).path(owner, parentIdOf(resource));
    return (
      path ??
      fail(
        'refused',
        'The organisation has no user domain, so it cannot have users or applications.',
      )
    );
  }
  const resourcePath = (resource: Resource, id = ids.idOfResource(resource) ?? resource.id) =>
    `${listPath(resource)}/${encodeURIComponent(id ?? '')}`;

  async function linkDevices(resource: Resource, deviceKeys: readonly string[]): Promise<void> {
    const path = `${resourcePath(resource)}/physical-devices`;
    const { etag } = await api.call('GET', resourcePath(resource));
    const physicalDeviceIds = deviceKeys.map((key) => ids.idOf('physicalDevice', key));
    await api.call('PUT', path, { body: { physicalDeviceIds }, etag });
  }

  async function setStatus(resource: Resource, status: unknown): Promise<void> {
    await api.call('PUT', `${resourcePath(resource)}/status`, { body: { status } });
  }

  /** Publishes or retires a service; a draft stays a draft. */
  async function publish(resource: Resource, present: unknown): Promise<void> {
    const { status = 'Published' } = resource.members;
    if (status === 'Draft') return;
    if (present === undefined || status === 'Published')
      await api.call('POST', `${resourcePath(resource)}/publish`);
    if (status === 'Retired' && present !== 'Retired')
      await api.call('POST', `${resourcePath(resource)}/retire`);
  }

  function levelOfResource(resource: Resource): { level: string; entityId: string } {
    const kind = resource.parent?.kind ?? 'organization';
    return { level: levelOf[kind] ?? '', entityId: parentIdOf(resource) ?? owner.organizationId };
  }

  async function activate(resource: Resource, wasActive: boolean): Promise<void> {
    const { active = true, includesExisting = true, parameters = {}, service } = resource.members;
    const level = { ...levelOfResource(resource), serviceId: ids.idOf('service', String(service)) };
    // New parameters need a new activation: the old one is deactivated first.
    if (!active || wasActive) await api.call('POST', `${catalogue}/deactivations`, { body: level });
    if (active)
      await api.call('POST', `${catalogue}/activations`, {
        body: { ...level, includesExisting, parameters },
      });
  }

  function configurationPath(resource: Resource): string {
    const kind = resource.parent?.kind ?? 'organization';
    const { entityId } = levelOfResource(resource);
    const serviceId = ids.idOf('service', String(resource.members['service']));
    return `/configuration/v1/${configurationPaths[kind]}/${entityId}/services/${serviceId}`;
  }

  async function configure(resource: Resource): Promise<void> {
    const { etag } = await api.call('GET', configurationPath(resource));
    const { values } = resource.members;
    await api.call('POST', configurationPath(resource), { body: { values }, etag });
  }

  async function deleteConfiguration(resource: Resource): Promise<void> {
    const { etag } = await api.call('GET', configurationPath(resource));
    await api.call('DELETE', configurationPath(resource), { etag });
  }

  const newBodyOf = (resource: Resource): Body =>
    toRequestBody(resource, owner, ids.idOf, parentIdOf(resource));

  /** A new resource needs no If-Match. */
  async function linkNew(resource: Resource): Promise<void> {
    const links = toStrings(resource.members['physicalDevices']);
    if (links.length === 0) return;
    const physicalDeviceIds = links.map((key) => ids.idOf('physicalDevice', key));
    await api.call('PUT', `${resourcePath(resource)}/physical-devices`, {
      body: { physicalDeviceIds },
    });
  }

  async function create(resource: Resource): Promise<void> {
    if (resource.kind === 'activation') return activate(resource, false);
    if (resource.kind === 'configuration') return configure(resource);
    const body = newBodyOf(resource);
    const { body: response } = await api.call<Body>('POST', listPath(resource), { body });
    secrets.save(resourceLabel(resource), response);
    ids.setId(resource, String(response[routeOf(resource.kind).idMember]));
    if (resource.kind === 'user' && resource.members['status'] === 'deactivated')
      await setStatus(resource, 'deactivated');
    if (resource.kind === 'service') await publish(resource, undefined);
    return linkNew(resource);
  }

  async function change({ resource, present, members }: Change): Promise<void> {
    const before = present?.members ?? {};
    if (resource.kind === 'activation') return activate(resource, before['active'] !== false);
    if (resource.kind === 'configuration') return configure(resource);
    const changed = members.map(({ member }) => member);
    const ownMembers = changed.filter((member) => member !== separateMember[resource.kind]);
    if (ownMembers.length > 0) {
      const { etag } = await api.call('GET', resourcePath(resource));
      await api.call('PUT', resourcePath(resource), { body: replacementOf(resource), etag });
    }
    if (resource.kind === 'user' && changed.includes('status'))
      await setStatus(resource, resource.members['status'] ?? 'activated');
    if (resource.kind === 'service') await publish(resource, before['status'] ?? 'Published');
    if (changed.includes('physicalDevices'))
      await linkDevices(resource, toStrings(resource.members['physicalDevices']));
    return undefined;
  }

  /** The body of a PUT has no parent, which cannot change. */
  function replacementOf(resource: Resource): Body {
    const body = toRequestBody(resource, owner, ids.idOf, undefined);
    return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  }

  async function remove(resource: Resource): Promise<void> {
    const { kind, members } = resource;
    if (kind === 'application' && resource.key === ownClientId) {
      fail('refused', 'You are signed in as this application. Remove it with another sign-in.');
    }
    if (kind === 'user' && resource.id === ownSubject)
      fail('refused', 'This is your own user. Remove it with another sign-in.');
    if (kind === 'user') return setStatus(resource, 'deactivated');
    if (kind === 'configuration') return deleteConfiguration(resource);
    if (kind === 'activation')
      return activate({ ...resource, members: { ...members, active: false } }, true);
    if (kind === 'service' && members['status'] !== 'Draft') {
      await api.call('POST', `${resourcePath(resource)}/retire`);
      return undefined;
    }
    try {
      const { etag } = await api.call('GET', resourcePath(resource));
      await api.call('DELETE', resourcePath(resource), { etag });
    } catch (error) {
      // Another request or an earlier import removed it already.
      if (!(error instanceof CommandError) || error.exit !== 'notFound') throw error;
    }
    return undefined;
  }

  return {
    create,
    toRequestBody: newBodyOf,
    async afterBulkCreate(resource, id) {
      ids.setId(resource, id);
      await linkNew(resource);
    },
    change,
    remove,
    async unlinkDevices({ action, resource, present }) {
      const linked = toStrings(present?.members['physicalDevices']);
      const deviceKeys = action === 'remove' ? [] : toStrings(resource.members['physicalDevices']);
      const remainingKeys = linked.filter((key) => deviceKeys.includes(key));
      if (remainingKeys.length < linked.length) await linkDevices(resource, remainingKeys);
    },
  };
}
