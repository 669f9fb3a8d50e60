// The requests of each route in the permission matrix, and the response that the published table
// expects.
import { defined } from '@switchyard/contract';
import type { RouteDeclaration } from '../../src/http/index.ts';
import type { MatrixCaller } from './permission-matrix-callers.ts';
import type { Tenant, Things } from './permission-matrix-organizations.ts';
import {
  bodies,
  devicesAlone,
  familiesFromAbove,
  namesSeller,
  nobodysOwn,
  notOfDevices,
  notOfItself,
  ofDevices,
  ofUserManagers,
  organizationLevel,
  organizationOnly,
  publishedToAll,
  queries,
  seenFromAbove,
  sharedInOrganization,
} from './permission-matrix-routes.ts';

/**
 * The owner of the objects in a request. `own` names no object with an owner. `smuggled` puts
 * another tenant's object below a parent of the caller's tenant. `unknown` does not exist. `below`
 * acts in the sub-organisation. `belowDirect` names the objects of the sub-organisation without the
 * parameter.
 */
export type Whose =
  | 'own'
  | 'organization'
  | 'shop'
  | 'neighbour'
  | 'stranger'
  | 'smuggled'
  | 'unknown'
  | 'below'
  | 'belowDirect';

export type Trial = {
  readonly facts: RouteDeclaration;
  readonly whose: Whose;
  readonly url: string;
  readonly body?: unknown;
  /** The last identifier in the request. */
  readonly last?: string | undefined;
  /** The foreign identifiers that the request itself contains; the response may return them. */
  readonly sent: string;
};

export type Expected = 'denied' | 'outOfScope' | 'notFound' | 'allowed';

type World = { readonly ours: Tenant; readonly theirs: Tenant };

const nobody = '0198ffff-ffff-7fff-bfff-ffffffffffff';
/** These names belong to a whole tenant or to no tenant, so they do not determine a merchant. */
const tenantWide: ReadonlySet<string> = new Set(['userDomainId', 'level', 'version']);

/** Objects of other tenants that every caller can see, or that have no owner. */
const unsmuggled: ReadonlySet<string> = new Set([...nobodysOwn, 'serviceId']);

export const parametersOf = ({ url }: RouteDeclaration): string[] =>
  [...url.matchAll(/:(\w+)/g)].map(([, name]) => String(name));

type Json = Record<string, unknown>;

/** Replaces the identifiers of the example by identifiers of the test objects. */
function filled(value: unknown, things: Things, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => filled(item, things, name));
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => [
      key,
      filled(member, things, key),
    ]);
    return Object.fromEntries(members);
  }
  return tenantWide.has(name) ? value : (things[name] ?? value);
}

function namesIn(value: unknown, things: Things): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => namesIn(item, things));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value as Json).flatMap(([key, member]) =>
    things[key] === undefined || tenantWide.has(key) ? namesIn(member, things) : [key],
  );
}

/** The example of the document, or the body that is defined for the route. */
function bodyOf(facts: RouteDeclaration, example: unknown, things: Things): unknown {
  const own = bodies[facts.operationId];
  if (own !== undefined) return own(things);
  return example === undefined ? undefined : filled(example, things);
}

/** The identifiers in the path except those of the tenant; if there are none, those in the body. */
function namedBy(facts: RouteDeclaration, example: unknown, { ours }: World): string[] {
  const inPath = parametersOf(facts).filter((name) => !tenantWide.has(name));
  if (inPath.length > 0) return inPath;
  const everything = { ...ours.organization, ...ours.shop };
  const body = bodyOf(facts, example, everything);
  return [...new Set(namesIn(body, everything))];
}

function trial(facts: RouteDeclaration, example: unknown, whose: Whose, things: Things): Trial {
  const path = facts.url.replace(/:(\w+)/g, (_, name) =>
    encodeURIComponent(things[name] ?? nobody),
  );
  const url = path + (queries[facts.operationId] ?? '');
  const body = facts.method === 'GET' ? undefined : bodyOf(facts, example, things);
  const sent = `${url} ${JSON.stringify(body ?? null)}`;
  return { facts, whose, url, sent, ...defined({ body }) };
}

/** The levels of the own tenant that have all named objects, at least one of them as its own. */
function levelsOf(named: readonly string[], { organization, shop, neighbour }: Tenant) {
  const levels: Whose[] = named.every((name) => organization[name] !== undefined)
    ? ['organization']
    : [];
  if (named.some((name) => shop[name] !== undefined)) levels.push('shop');
  if (named.some((name) => neighbour[name] !== undefined)) levels.push('neighbour');
  return levels;
}

const anyOf = ({ organization, shop, shared }: Tenant): Things => ({
  ...organization,
  ...shop,
  ...shared,
});

function thingsAt(level: Whose, { organization, shop, neighbour, shared }: Tenant): Things {
  const own = { shop, neighbour }[String(level)] ?? {};
  return { ...organization, ...shared, ...own };
}

/** All requests for a route, from own objects to unknown ones. */
export function trialsOf(facts: RouteDeclaration, example: unknown, world: World): Trial[] {
  const { ours, theirs } = world;
  const named = namedBy(facts, example, world);
  const parameters = parametersOf(facts);
  const last = named.at(-1);
  const make = (whose: Whose, things: Things): Trial => ({
    ...trial(facts, example, whose, things),
    last,
  });
  /** Uses only objects of the sub-organisation, and the parameter if the route supports it. */
  const below = (all: readonly string[]): Trial[] => {
    const things = ours.below;
    const needed = [...all, ...parameters];
    if (!isActedFromAbove(facts) || needed.some((name) => things[name] === undefined)) return [];
    const direct = make('belowDirect', things);
    const at = `?organizationId=${things['organizationId']}`;
    const more = direct.url.includes('?') ? at.replace('?', '&') : at;
    const acting = { ...make('below', things), url: direct.url + more, sent: direct.sent + at };
    return needed.length === 0 ? [acting] : [acting, direct];
  };
  if (last === undefined) {
    const isOfDomain = parameters.includes('userDomainId');
    const own = make('own', anyOf(ours));
    const strangers = isOfDomain ? [make('stranger', anyOf(theirs))] : [];
    return [own, ...strangers, ...below(named)];
  }
  const smuggling = (name: string) =>
    make('smuggled', { ...anyOf(ours), [name]: anyOf(theirs)[name] ?? nobody });
  const isNested = parameters.length > 1;
  return [
    ...levelsOf(named, ours).map((level) => make(level, thingsAt(level, ours))),
    ...(nobodysOwn.has(last) ? [] : [make('stranger', anyOf(theirs))]),
    ...(isNested ? named.filter((name) => !unsmuggled.has(name)).map(smuggling) : []),
    make('unknown', { ...anyOf(ours), [last]: nobody, entityId: nobody, scope: nobody }),
    ...below(named),
  ];
}

function isActedFromAbove({ permission }: RouteDeclaration): boolean {
  return [permission].flat().every((one) => familiesFromAbove.has(one.split('.', 1)[0] ?? ''));
}

function holds(caller: MatrixCaller, { permission }: RouteDeclaration): boolean {
  if (permission === 'token') return true;
  return [permission].flat().some((one) => (caller.granted as ReadonlySet<string>).has(one));
}

/** A token that is bound to a place sells only there. */
function contradicts({ fixed }: MatrixCaller, { facts, whose, last = '' }: Trial): boolean {
  if (!namesSeller.has(facts.operationId)) return false;
  if (whose === 'unknown') return fixed.has(last);
  return fixed.size > 0 && (whose === 'stranger' || whose === 'neighbour');
}

/** No object of the parent organisation is visible to the sub-organisation. */
function expectedBelow({ facts, whose, last }: Trial): Expected {
  const { operationId } = facts;
  if (whose === 'unknown') return 'notFound';
  if (publishedToAll.has(operationId) || last === 'sequence') return 'allowed';
  if (whose === 'own') return parametersOf(facts).length === 0 ? 'allowed' : 'notFound';
  if (whose !== 'below' && whose !== 'belowDirect') return 'notFound';
  return notOfItself.has(operationId) ? 'denied' : 'allowed';
}

/**
 * The expected result, from the permission table, the level of the caller and the owner of the
 * object.
 */
export function expectedOf(caller: MatrixCaller, trial: Trial): Expected {
  const { facts, whose } = trial;
  const { operationId } = facts;
  if (!holds(caller, facts)) return 'denied';
  const isOfMerchant = caller.level === 'merchant';
  // The server checks this first: a merchant token cannot act in another organisation.
  if (whose === 'below' && isOfMerchant) return 'notFound';
  if (isOfMerchant && organizationOnly.has(operationId)) return 'denied';
  if (!caller.isDevice && devicesAlone.has(operationId)) return 'denied';
  if (caller.isDevice && notOfDevices.has(operationId)) return 'denied';
  if (contradicts(caller, trial)) return 'outOfScope';
  if (ofDevices.has(operationId)) return caller.isDevice ? 'allowed' : 'notFound';
  if (caller.isBelow === true) return expectedBelow(trial);
  if (whose === 'unknown') return 'notFound';
  if (publishedToAll.has(operationId)) return 'allowed';
  if (whose === 'stranger' || whose === 'smuggled') return 'notFound';
  if (whose === 'below') return notOfItself.has(operationId) ? 'denied' : 'allowed';
  if (whose === 'belowDirect') {
    return !isOfMerchant && seenFromAbove.has(operationId) ? 'allowed' : 'notFound';
  }
  if (ofUserManagers.has(operationId) && !caller.granted.has('um.write')) {
    return !isOfMerchant || whose === 'shop' ? 'denied' : 'notFound';
  }
  if (whose === 'organization' && notOfItself.has(operationId)) return 'denied';
  if (!isOfMerchant || whose === 'own' || whose === 'shop') return 'allowed';
  if (whose === 'organization' && organizationLevel.has(operationId)) return 'denied';
  const isShared = whose === 'organization' && sharedInOrganization.has(operationId);
  return isShared ? 'allowed' : 'notFound';
}
