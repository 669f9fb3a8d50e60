// Lets an organisation act on behalf of an organisation below it: the query parameter organizationId of administrative routes.
import { type Permission, ProblemError } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { isUuid } from '../../platform/index.ts';
import type { Access } from '../authentication/authenticate.ts';
import type { Caller } from '../authentication/caller.ts';
import type { RouteDeclaration } from './route-declaration.ts';

/** Provisioning implements it; undefined when the organisation does not exist. */
export type FindOrganization = (organizationId: string) => Promise<
  | {
      readonly organizationId: string;
      /** The top organisation first. */
      readonly ancestorIds: readonly string[];
      readonly userDomainId?: string;
    }
  | undefined
>;

/** Excludes payments, device operations and decisions of the platform operator. */
const delegablePermissionGroups: ReadonlySet<string> = new Set([
  'prov',
  'um',
  'app',
  'sub',
  'conf',
  'svc',
  'hook',
  'audit',
  'rep',
]);

const permissionGroup = (permission: Permission): string =>
  permission.slice(0, permission.indexOf('.'));

const organizationId = Type.String({
  format: 'uuid',
  description: 'The organisation to act on behalf of: your own or one below it.',
});

/** Whether organisations above may call the route on behalf of another one. */
export function allowsActingOnBehalf(access: Access): boolean {
  if (access === 'public' || access === 'token' || access === 'certificate') return false;
  const needed: readonly Permission[] = typeof access === 'string' ? [access] : access;
  return needed.every((permission) => delegablePermissionGroups.has(permissionGroup(permission)));
}

const noQuery = Type.Object({});
/** The query schema with the parameter, created once so that its validator is compiled once. */
const queryWithOrganization = new WeakMap<TSchema, TSchema>();

/** Adds the parameter to the declaration of a route. */
export function withOrganizationParameter(facts: RouteDeclaration): RouteDeclaration {
  if (!allowsActingOnBehalf(facts.permission)) return facts;
  const declaredQuery = facts.query ?? noQuery;
  const { properties = {}, ...rest }: { properties?: Record<string, TSchema> } = declaredQuery;
  if ('organizationId' in properties)
    throw new TypeError(`${facts.url} declares organizationId itself`);
  const all = { ...properties, organizationId: Type.Optional(organizationId) };
  const query = queryWithOrganization.get(declaredQuery) ?? Type.Object(all, rest);
  queryWithOrganization.set(declaredQuery, query);
  return {
    ...facts,
    query,
    errors: [...new Set([...facts.errors, 'organization_not_found' as const])],
  };
}

function throwOrganizationNotFound(): never {
  throw new ProblemError(
    'organization_not_found',
    'No organisation that you may see has this identifier.',
  );
}

/** A token of one merchant, store or device cannot act elsewhere. */
const isLimitedToMerchant = ({ entityType, merchantId, storeId, deviceId }: Caller): boolean =>
  entityType !== 'tenant' || (merchantId ?? storeId ?? deviceId) !== undefined;

export function createActOnBehalf(
  findOrganization: FindOrganization,
): (request: FastifyRequest, caller: Caller) => Promise<Caller> {
  return async ({ query }, caller) => {
    const parameter = (query as Readonly<Record<string, unknown>>)['organizationId'];
    // The schema of the route reports an invalid value later.
    if (typeof parameter !== 'string' || !isUuid(parameter)) return caller;
    const requestedId = parameter.toLowerCase();
    const { organizationId: ownId } = caller;
    if (requestedId === ownId) return caller;
    if (isLimitedToMerchant(caller)) throwOrganizationNotFound();
    const organization = await findOrganization(requestedId);
    if (organization?.ancestorIds.includes(ownId) !== true) return throwOrganizationNotFound();
    return {
      ...caller,
      organizationId: organization.organizationId,
      homeOrganizationId: ownId,
      entityId: organization.organizationId,
      realm: organization.userDomainId ?? '',
    };
  };
}
