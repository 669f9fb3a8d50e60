/** Applies a plan in the order of the dependencies between resources; collects the errors. */

import type { ApiClient } from '../http/api-client.ts';
import { CommandError } from '../runtime/command-error.ts';
import { chunksOf, createInBulk, isWorthBulk } from './bulk-create.ts';
import type { Change, Plan } from './compare-estates.ts';
import { isForeignId } from './estate-file.ts';
import { type Resource, type ResourceKind, resourceLabel, resourcePath } from './estate-model.ts';
import { resourceDefinitions } from './resource-kinds.ts';
import type { EstateOwner, IdOf } from './resource-routes.ts';
import { createResourceWriter, type ResourceWriter } from './resource-writer.ts';
import { runConcurrently } from './run-concurrently.ts';
import type { SecretsFile } from './secrets-file.ts';

export type Failure = {
  readonly resource: string;
  readonly action: string;
  readonly message: string;
  readonly code?: string;
};

export type ApplyOutcome = {
  created: number;
  changed: number;
  removed: number;
  unchanged: number;
  readonly failures: Failure[];
  /** The error that stopped the import early. */
  stoppedBy?: CommandError;
};

export type ApplyOptions = {
  readonly prunes: boolean;
  readonly secrets: SecretsFile;
  readonly stopping: AbortSignal;
  /** The signed-in application: the import never removes it. */
  readonly ownClientId: string;
  readonly ownSubject: string | undefined;
  step(done: number): void;
};

/** After an error with these exits the import stops. */
const stoppingExits: readonly string[] = ['unreachable', 'notSignedIn', 'interrupted'];
const counters = { create: 'created', change: 'changed', remove: 'removed' } as const;

function failureOf({ action, resource }: Change, error: CommandError): Failure {
  const { code } = error.facts;
  const details = error.more.filter((line) => line.startsWith('/'));
  const message = [error.message, ...details].join('; ');
  return {
    resource: resourceLabel(resource),
    action,
    message,
    ...(typeof code === 'string' ? { code } : {}),
  };
}

/** The user domain of an organisation below; undefined if it has none, and so no users. */
function userDomainOf({ organization, present }: Plan): string | undefined {
  const { userDomainId } = { ...present?.organization.members, ...organization.members };
  return typeof userDomainId === 'string' ? userDomainId : undefined;
}

/** The ids of the desired resources: existing and newly created ones. */
function createIds({ desired, present, matches }: Plan) {
  const ids = new Map<string, string>();
  for (const resource of present?.resources ?? [])
    ids.set(`${resource.kind} ${resourcePath(resource)}`, resource.id ?? '');
  const setId = (resource: Resource, id: string) =>
    ids.set(`${resource.kind} ${resourcePath(resource)}`, id);
  for (const resource of desired.resources) {
    const id = matches.get(resource)?.id;
    // A renamed resource has another path than on the server.
    if (id !== undefined) setId(resource, id);
  }
  const idOf: IdOf = (kind, key) => {
    const id = ids.get(`${kind} ${key}`);
    if (id !== undefined && id !== '') return id;
    if (isForeignId(kind, key)) return key;
    throw new CommandError('notFound', `It refers to ${kind} ${key}, which does not exist.`);
  };
  return {
    idOf,
    setId,
    idOfResource: (resource: Resource) => ids.get(`${resource.kind} ${resourcePath(resource)}`),
  };
}

const isNumbered = ({ key }: Resource): boolean => /~\d+$/.test(key);

/** Resources with a number in their key are created one after another, so that the numbers stay the same. */
function splitNumbered(changes: readonly Change[]): [Change[], Change[]] {
  return [
    changes.filter(({ resource }) => !isNumbered(resource)),
    changes.filter(({ resource }) => isNumbered(resource)),
  ];
}

/** The steps of one organisation, in their order. */
function stepsOf(
  { changes }: Plan,
  prunes: boolean,
): { unlinkChanges: Change[]; steps: Change[][] } {
  const select = (name: ResourceKind, action: Change['action']) =>
    changes.filter((change) => change.resource.kind === name && change.action === action);
  const removed = (name: ResourceKind) => (prunes ? select(name, 'remove') : []);
  // A removed contract releases its terminal range before another contract uses it.
  const first: ResourceKind[] = ['acquirerContract'];
  const later = resourceDefinitions.map(({ name }) => name).filter((name) => !first.includes(name));
  return {
    unlinkChanges: [...select('logicalDevice', 'change'), ...removed('logicalDevice')],
    steps: [
      ...first.map(removed),
      ...resourceDefinitions.flatMap(({ name }) => [
        ...splitNumbered([...select(name, 'create'), ...select(name, 'change')]),
      ]),
      ...later.reverse().map(removed),
    ].filter((step) => step.length > 0),
  };
}

async function applyChange(writer: ResourceWriter, change: Change): Promise<void> {
  if (change.action === 'create') return writer.create(change.resource);
  if (change.action === 'change') return writer.change(change);
  return writer.remove(change.resource);
}

/** @example const outcome = await applyPlan(api, owner, plan, options); */
export async function applyPlan(
  api: ApiClient,
  owner: EstateOwner,
  plan: Plan,
  options: ApplyOptions,
): Promise<ApplyOutcome> {
  const outcome: ApplyOutcome = { created: 0, changed: 0, removed: 0, unchanged: 0, failures: [] };
  let done = 0;

  async function attemptChange(change: Change, run: () => Promise<void>): Promise<void> {
    try {
      await run();
      outcome[counters[change.action]] += 1;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      if (stoppingExits.includes(error.exit)) throw error;
      outcome.failures.push(failureOf(change, error));
    }
    done += 1;
    options.step(done);
  }

  async function applyOrganization(
    currentPlan: Plan,
    client: ApiClient,
  ): Promise<string | undefined> {
    const change = currentPlan.changes.find(({ resource }) => resource.kind === 'organization');
    const id = currentPlan.present?.organization.id;
    if (change === undefined) return id;
    let newId = id;
    await attemptChange(change, async () => {
      const path = '/provisioning/v2/organizations';
      const { name, ...members } = change.resource.members;
      if (id === undefined) {
        const { body } = await client.call<{ organizationId: string }>('POST', path, {
          body: { name, ...members },
        });
        newId = body.organizationId;
        return;
      }
      const { etag } = await client.call('GET', `${path}/${id}`);
      await client.call('PUT', `${path}/${id}`, { body: { name, ...members }, etag });
    });
    return newId;
  }

  /** Creates many resources of one kind by bulk requests; each counts like a single request. */
  async function createStepInBulk(
    step: readonly Change[],
    client: ApiClient,
    writer: ResourceWriter,
  ): Promise<void> {
    for (const chunk of chunksOf(step)) {
      if (options.stopping.aborted) throw new CommandError('interrupted', 'Interrupted.');
      const byThing = new Map(chunk.map((change) => [change.resource, change]));
      const results = await createInBulk(client, [...byThing.keys()], writer.toRequestBody);
      await runConcurrently(results, options.stopping, async ({ resource, id, fault }) => {
        const change = byThing.get(resource) as Change;
        await attemptChange(change, async () => {
          if (id === undefined) throw fault;
          await writer.afterBulkCreate(resource, id);
        });
      });
    }
  }

  async function runStep(
    step: readonly Change[],
    client: ApiClient,
    writer: ResourceWriter,
  ): Promise<void> {
    if (step.some(({ resource }) => isNumbered(resource))) {
      for (const change of step) await attemptChange(change, () => applyChange(writer, change));
      return;
    }
    const creations = step.filter(({ action }) => action === 'create');
    const isBulk =
      creations.length > 0 && isWorthBulk((creations[0] as Change).resource.kind, creations.length);
    if (isBulk) await createStepInBulk(creations, client, writer);
    const rest = isBulk ? step.filter(({ action }) => action !== 'create') : step;
    await runConcurrently(rest, options.stopping, (change) =>
      attemptChange(change, () => applyChange(writer, change)),
    );
  }

  async function applyOrganizationPlan(
    currentPlan: Plan,
    client: ApiClient,
    currentOwner: EstateOwner,
  ): Promise<void> {
    outcome.unchanged += currentPlan.unchanged;
    const ids = createIds(currentPlan);
    const writer = createResourceWriter({ api: client, owner: currentOwner, ids, ...options });
    const { unlinkChanges, steps } = stepsOf(currentPlan, options.prunes);
    await runConcurrently(unlinkChanges, options.stopping, async (change) => {
      try {
        await writer.unlinkDevices(change);
      } catch (error) {
        // The step of this resource reports the error.
        if (!(error instanceof CommandError) || stoppingExits.includes(error.exit)) throw error;
      }
    });
    for (const step of steps) await runStep(step, client, writer);
    for (const subPlan of currentPlan.subOrganizations) {
      const id = await applyOrganization(subPlan, client);
      if (id === undefined) continue;
      const userDomainId = userDomainOf(subPlan);
      await applyOrganizationPlan(subPlan, api.within(id), { organizationId: id, userDomainId });
    }
  }

  try {
    await applyOrganization(plan, api);
    await applyOrganizationPlan(plan, api, owner);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    outcome.stoppedBy = error;
  }
  return outcome;
}
