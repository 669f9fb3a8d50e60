// The requests of each route in the permission matrix, and the response that the published table
// expects.
import { defined } from '@switchyard/contract';
import type { RouteDeclaration } from '../../src/http/index.ts';
import type { MatrixCaller } from './permission-matrix-callers.ts';
import type { EntityIds, MatrixTenant } from './permission-matrix-organizations.ts';
import {
  deviceOnlyOperations,
  deviceOperations,
  familiesVisibleFromAbove,
  operationsDeniedToDevices,
  operationsThatNameMerchant,
  operationsVisibleFromAbove,
  operationsWithoutOwner,
  operationsWithoutOwnOrganization,
  organizationLevelOperations,
  organizationOnlyOperations,
  publishedOperations,
  requestBodies,
  requestQueries,
  sharedOperations,
  userManagerOnlyOperations,
} from './permission-matrix-routes.ts';

/**
 * The owner of the objects in a request. `own` names no object with an owner. `smuggled` puts
 * another tenant's object below a parent of the caller's tenant. `unknown` does not exist. `below`
 * acts in the sub-organisation. `belowDirect` names the objects of the sub-organisation without the
 * parameter.
 */
export type EntityOwner =
  | 'own'
  | 'organization'
  | 'merchant'
  | 'otherMerchant'
  | 'stranger'
  | 'smuggled'
  | 'unknown'
  | 'below'
  | 'belowDirect';

export type MatrixRequest = {
  readonly facts: RouteDeclaration;
  readonly owner: EntityOwner;
  readonly url: string;
  readonly body?: unknown;
  /** The last identifier in the request. */
  readonly last?: string | undefined;
  /** The foreign identifiers that the request itself contains; the response may return them. */
  readonly sent: string;
};

export type ExpectedAccess = 'denied' | 'outOfScope' | 'notFound' | 'allowed';

type MatrixTenants = { readonly ownTenant: MatrixTenant; readonly otherTenant: MatrixTenant };

const unknownId = '0198ffff-ffff-7fff-bfff-ffffffffffff';
/** These names belong to a whole tenant or to no tenant, so they do not determine a merchant. */
const tenantWide: ReadonlySet<string> = new Set(['userDomainId', 'level', 'version']);

/** Objects of other tenants that every caller can see, or that have no owner. */
const unsmuggled: ReadonlySet<string> = new Set([...operationsWithoutOwner, 'serviceId']);

export const parametersOf = ({ url }: RouteDeclaration): string[] =>
  [...url.matchAll(/:(\w+)/g)].map(([, name]) => String(name));

type Json = Record<string, unknown>;

/** Replaces the identifiers of the example by identifiers of the test objects. */
function filled(value: unknown, things: EntityIds, name = ''): unknown {
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

function namesIn(value: unknown, things: EntityIds): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => namesIn(item, things));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value as Json).flatMap(([key, member]) =>
    things[key] === undefined || tenantWide.has(key) ? namesIn(member, things) : [key],
  );
}

/** The example of the document, or the body that is defined for the route. */
function bodyOf(facts: RouteDeclaration, example: unknown, things: EntityIds): unknown {
  const createBody = requestBodies[facts.operationId];
  if (createBody !== undefined) return createBody(things);
  return example === undefined ? undefined : filled(example, things);
}

/** The identifiers in the path except those of the tenant; if there are none, those in the body. */
function namedBy(
  facts: RouteDeclaration,
  example: unknown,
  { ownTenant }: MatrixTenants,
): string[] {
  const inPath = parametersOf(facts).filter((name) => !tenantWide.has(name));
  if (inPath.length > 0) return inPath;
  const everything = { ...ownTenant.organization, ...ownTenant.merchant };
  const body = bodyOf(facts, example, everything);
  return [...new Set(namesIn(body, everything))];
}

function createMatrixRequest(
  facts: RouteDeclaration,
  example: unknown,
  owner: EntityOwner,
  things: EntityIds,
): MatrixRequest {
  const path = facts.url.replace(/:(\w+)/g, (_, name) =>
    encodeURIComponent(things[name] ?? unknownId),
  );
  const url = path + (requestQueries[facts.operationId] ?? '');
  const body = facts.method === 'GET' ? undefined : bodyOf(facts, example, things);
  const sent = `${url} ${JSON.stringify(body ?? null)}`;
  return { facts, owner, url, sent, ...defined({ body }) };
}

/** The levels of the own tenant that have all named objects, at least one of them as its own. */
function levelsOf(
  parameterNames: readonly string[],
  { organization, merchant, otherMerchant }: MatrixTenant,
) {
  const levels: EntityOwner[] = parameterNames.every((name) => organization[name] !== undefined)
    ? ['organization']
    : [];
  if (parameterNames.some((name) => merchant[name] !== undefined)) levels.push('merchant');
  if (parameterNames.some((name) => otherMerchant[name] !== undefined))
    levels.push('otherMerchant');
  return levels;
}

const anyEntityOf = ({ organization, merchant, shared }: MatrixTenant): EntityIds => ({
  ...organization,
  ...merchant,
  ...shared,
});

function thingsAt(
  level: EntityOwner,
  { organization, merchant, otherMerchant, shared }: MatrixTenant,
): EntityIds {
  const entityIds = { merchant, otherMerchant }[String(level)] ?? {};
  return { ...organization, ...shared, ...entityIds };
}

/** All requests for a route, from own objects to unknown ones. */
export function matrixRequestsOf(
  facts: RouteDeclaration,
  example: unknown,
  world: MatrixTenants,
): MatrixRequest[] {
  const { ownTenant, otherTenant } = world;
  const parameterNames = namedBy(facts, example, world);
  const parameters = parametersOf(facts);
  const last = parameterNames.at(-1);
  const make = (owner: EntityOwner, things: EntityIds): MatrixRequest => ({
    ...createMatrixRequest(facts, example, owner, things),
    last,
  });
  /** Uses only objects of the sub-organisation, and the parameter if the route supports it. */
  const below = (all: readonly string[]): MatrixRequest[] => {
    const things = ownTenant.below;
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
    const ownRequest = make('own', anyEntityOf(ownTenant));
    const otherTenantRequests = isOfDomain ? [make('stranger', anyEntityOf(otherTenant))] : [];
    return [ownRequest, ...otherTenantRequests, ...below(parameterNames)];
  }
  const smuggling = (name: string) =>
    make('smuggled', {
      ...anyEntityOf(ownTenant),
      [name]: anyEntityOf(otherTenant)[name] ?? unknownId,
    });
  const isNested = parameters.length > 1;
  return [
    ...levelsOf(parameterNames, ownTenant).map((level) => make(level, thingsAt(level, ownTenant))),
    ...(operationsWithoutOwner.has(last) ? [] : [make('stranger', anyEntityOf(otherTenant))]),
    ...(isNested ? parameterNames.filter((name) => !unsmuggled.has(name)).map(smuggling) : []),
    make('unknown', {
      ...anyEntityOf(ownTenant),
      [last]: unknownId,
      entityId: unknownId,
      scope: unknownId,
    }),
    ...below(parameterNames),
  ];
}

function isActedFromAbove({ permission }: RouteDeclaration): boolean {
  return [permission]
    .flat()
    .every((one) => familiesVisibleFromAbove.has(one.split('.', 1)[0] ?? ''));
}

function holds(caller: MatrixCaller, { permission }: RouteDeclaration): boolean {
  if (permission === 'token') return true;
  return [permission].flat().some((one) => (caller.granted as ReadonlySet<string>).has(one));
}

/** A token that is bound to a place sells only there. */
function contradicts({ fixed }: MatrixCaller, { facts, owner, last = '' }: MatrixRequest): boolean {
  if (!operationsThatNameMerchant.has(facts.operationId)) return false;
  if (owner === 'unknown') return fixed.has(last);
  return fixed.size > 0 && (owner === 'stranger' || owner === 'otherMerchant');
}

/** No object of the parent organisation is visible to the sub-organisation. */
function expectedBelow({ facts, owner, last }: MatrixRequest): ExpectedAccess {
  const { operationId } = facts;
  if (owner === 'unknown') return 'notFound';
  if (publishedOperations.has(operationId) || last === 'sequence') return 'allowed';
  if (owner === 'own') return parametersOf(facts).length === 0 ? 'allowed' : 'notFound';
  if (owner !== 'below' && owner !== 'belowDirect') return 'notFound';
  return operationsWithoutOwnOrganization.has(operationId) ? 'denied' : 'allowed';
}

/**
 * The expected result, from the permission table, the level of the caller and the owner of the
 * object.
 */
export function expectedOf(
  caller: MatrixCaller,
  createMatrixRequest: MatrixRequest,
): ExpectedAccess {
  const { facts, owner } = createMatrixRequest;
  const { operationId } = facts;
  if (!holds(caller, facts)) return 'denied';
  const isOfMerchant = caller.level === 'merchant';
  // The server checks this first: a merchant token cannot act in another organisation.
  if (owner === 'below' && isOfMerchant) return 'notFound';
  if (isOfMerchant && organizationOnlyOperations.has(operationId)) return 'denied';
  if (!caller.isDevice && deviceOnlyOperations.has(operationId)) return 'denied';
  if (caller.isDevice && operationsDeniedToDevices.has(operationId)) return 'denied';
  if (contradicts(caller, createMatrixRequest)) return 'outOfScope';
  if (deviceOperations.has(operationId)) return caller.isDevice ? 'allowed' : 'notFound';
  if (caller.isBelow === true) return expectedBelow(createMatrixRequest);
  if (owner === 'unknown') return 'notFound';
  if (publishedOperations.has(operationId)) return 'allowed';
  if (owner === 'stranger' || owner === 'smuggled') return 'notFound';
  if (owner === 'below')
    return operationsWithoutOwnOrganization.has(operationId) ? 'denied' : 'allowed';
  if (owner === 'belowDirect') {
    return !isOfMerchant && operationsVisibleFromAbove.has(operationId) ? 'allowed' : 'notFound';
  }
  if (userManagerOnlyOperations.has(operationId) && !caller.granted.has('um.write')) {
    return !isOfMerchant || owner === 'merchant' ? 'denied' : 'notFound';
  }
  if (owner === 'organization' && operationsWithoutOwnOrganization.has(operationId))
    return 'denied';
  if (!isOfMerchant || owner === 'own' || owner === 'merchant') return 'allowed';
  if (owner === 'organization' && organizationLevelOperations.has(operationId)) return 'denied';
  const isShared = owner === 'organization' && sharedOperations.has(operationId);
  return isShared ? 'allowed' : 'notFound';
}
