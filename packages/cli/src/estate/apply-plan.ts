/** Does what a plan says, in the order in which things depend on each other; faults are collected. */

import type { Api } from '../http/api-client.ts';
import { CommandFault } from '../runtime/command-error.ts';
import { chunksOf, isWorthBulk, makeMany } from './bulk-create.ts';
import type { Change, Plan } from './compare-estates.ts';
import { isForeign } from './estate-file.ts';
import { type KindName, nameOf, pathOf, type Thing } from './estate-model.ts';
import { kinds } from './resource-kinds.ts';
import type { Home, IdOf } from './resource-routes.ts';
import { createWriter, type Writer } from './resource-writer.ts';
import { atOnce } from './run-concurrently.ts';
import type { Secrets } from './secrets-file.ts';

export type Failure = {
  readonly thing: string;
  readonly action: string;
  readonly message: string;
  readonly code?: string;
};

export type Outcome = {
  created: number;
  changed: number;
  removed: number;
  unchanged: number;
  readonly failures: Failure[];
  /** Why the work ended before its end. */
  stopped?: CommandFault;
};

export type ApplyOptions = {
  readonly prunes: boolean;
  readonly secrets: Secrets;
  readonly stopping: AbortSignal;
  /** Of the one who does it: nobody takes the ground from under himself. */
  readonly ownClientId: string;
  readonly ownSubject: string | undefined;
  step(done: number): void;
};

/** After these there is no use in trying the next one. */
const ends: readonly string[] = ['unreachable', 'notSignedIn', 'interrupted'];
const counters = { create: 'created', change: 'changed', remove: 'removed' } as const;

function failureOf({ action, thing }: Change, error: CommandFault): Failure {
  const { code } = error.facts;
  const details = error.more.filter((line) => line.startsWith('/'));
  const message = [error.message, ...details].join('; ');
  return { thing: nameOf(thing), action, message, ...(typeof code === 'string' ? { code } : {}) };
}

/** An organisation below has people where it has a user domain of its own. */
function domainOf({ organization, present }: Plan): string | undefined {
  const { userDomainId } = { ...present?.organization.members, ...organization.members };
  return typeof userDomainId === 'string' ? userDomainId : undefined;
}

/** Ids of wanted things: those that are there, and those that were made a moment ago. */
function createIds({ wanted, present, matches }: Plan) {
  const ids = new Map<string, string>();
  for (const thing of present?.things ?? [])
    ids.set(`${thing.kind} ${pathOf(thing)}`, thing.id ?? '');
  const put = (thing: Thing, id: string) => ids.set(`${thing.kind} ${pathOf(thing)}`, id);
  for (const thing of wanted.things) {
    const id = matches.get(thing)?.id;
    // A renamed thing has another path than at the server.
    if (id !== undefined) put(thing, id);
  }
  const idOf: IdOf = (kind, key) => {
    const id = ids.get(`${kind} ${key}`);
    if (id !== undefined && id !== '') return id;
    if (isForeign(kind, key)) return key;
    throw new CommandFault('notFound', `It needs ${kind} ${key}, which is not there.`);
  };
  return { idOf, put, of: (thing: Thing) => ids.get(`${thing.kind} ${pathOf(thing)}`) };
}

const isNumbered = ({ key }: Thing): boolean => /~\d+$/.test(key);

/** Those with a number in their key come one after the other, so that the numbers stay theirs. */
function inTurns(changes: readonly Change[]): [Change[], Change[]] {
  return [
    changes.filter(({ thing }) => !isNumbered(thing)),
    changes.filter(({ thing }) => isNumbered(thing)),
  ];
}

/** The steps of one organisation. */
function stepsOf({ changes }: Plan, prunes: boolean): { unlink: Change[]; steps: Change[][] } {
  const of = (name: KindName, action: Change['action']) =>
    changes.filter((change) => change.thing.kind === name && change.action === action);
  const removed = (name: KindName) => (prunes ? of(name, 'remove') : []);
  // A contract gives its terminals back before another one takes them.
  const first: KindName[] = ['acquirerContract'];
  const later = kinds.map(({ name }) => name).filter((name) => !first.includes(name));
  return {
    unlink: [...of('logicalDevice', 'change'), ...removed('logicalDevice')],
    steps: [
      ...first.map(removed),
      ...kinds.flatMap(({ name }) => [...inTurns([...of(name, 'create'), ...of(name, 'change')])]),
      ...later.reverse().map(removed),
    ].filter((step) => step.length > 0),
  };
}

async function one(writer: Writer, change: Change): Promise<void> {
  if (change.action === 'create') return writer.create(change.thing);
  if (change.action === 'change') return writer.change(change);
  return writer.remove(change.thing);
}

/** @example const outcome = await applyPlan(api, home, plan, options); */
export async function applyPlan(
  api: Api,
  home: Home,
  plan: Plan,
  options: ApplyOptions,
): Promise<Outcome> {
  const outcome: Outcome = { created: 0, changed: 0, removed: 0, unchanged: 0, failures: [] };
  let done = 0;

  async function attempt(change: Change, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      outcome[counters[change.action]] += 1;
    } catch (error) {
      if (!(error instanceof CommandFault)) throw error;
      if (ends.includes(error.exit)) throw error;
      outcome.failures.push(failureOf(change, error));
    }
    done += 1;
    options.step(done);
  }

  async function organization(each: Plan, reader: Api): Promise<string | undefined> {
    const change = each.changes.find(({ thing }) => thing.kind === 'organization');
    const id = each.present?.organization.id;
    if (change === undefined) return id;
    let made = id;
    await attempt(change, async () => {
      const path = '/provisioning/v2/organizations';
      const { name, ...members } = change.thing.members;
      if (id === undefined) {
        const { body } = await reader.call<{ organizationId: string }>('POST', path, {
          body: { name, ...members },
        });
        made = body.organizationId;
        return;
      }
      const { etag } = await reader.call('GET', `${path}/${id}`);
      await reader.call('PUT', `${path}/${id}`, { body: { name, ...members }, etag });
    });
    return made;
  }

  /** Many new things of one kind at once; what is told of each counts as if it had been asked for alone. */
  async function inBulk(step: readonly Change[], reader: Api, writer: Writer): Promise<void> {
    for (const chunk of chunksOf(step)) {
      if (options.stopping.aborted) throw new CommandFault('interrupted', 'Interrupted.');
      const byThing = new Map(chunk.map((change) => [change.thing, change]));
      const made = await makeMany(reader, [...byThing.keys()], writer.bodyOf);
      await atOnce(made, options.stopping, async ({ thing, id, fault }) => {
        const change = byThing.get(thing) as Change;
        await attempt(change, async () => {
          if (id === undefined) throw fault;
          await writer.made(thing, id);
        });
      });
    }
  }

  async function take(step: readonly Change[], reader: Api, writer: Writer): Promise<void> {
    if (step.some(({ thing }) => isNumbered(thing))) {
      for (const change of step) await attempt(change, () => one(writer, change));
      return;
    }
    const fresh = step.filter(({ action }) => action === 'create');
    const isBulk = fresh.length > 0 && isWorthBulk((fresh[0] as Change).thing.kind, fresh.length);
    if (isBulk) await inBulk(fresh, reader, writer);
    const rest = isBulk ? step.filter(({ action }) => action !== 'create') : step;
    await atOnce(rest, options.stopping, (change) => attempt(change, () => one(writer, change)));
  }

  async function apply(each: Plan, reader: Api, at: Home): Promise<void> {
    outcome.unchanged += each.unchanged;
    const ids = createIds(each);
    const writer = createWriter({ api: reader, home: at, ids, ...options });
    const { unlink, steps } = stepsOf(each, options.prunes);
    await atOnce(unlink, options.stopping, async (change) => {
      try {
        await writer.unlink(change);
      } catch (error) {
        // Its own step says what is wrong with it.
        if (!(error instanceof CommandFault) || ends.includes(error.exit)) throw error;
      }
    });
    for (const step of steps) await take(step, reader, writer);
    for (const below of each.below) {
      const id = await organization(below, reader);
      if (id === undefined) continue;
      const userDomainId = domainOf(below);
      await apply(below, api.within(id), { organizationId: id, userDomainId });
    }
  }

  try {
    await organization(plan, api);
    await apply(plan, api, home);
  } catch (error) {
    if (!(error instanceof CommandFault)) throw error;
    outcome.stopped = error;
  }
  return outcome;
}
