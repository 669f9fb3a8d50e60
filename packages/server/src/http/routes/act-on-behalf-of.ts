// Lets an organisation act in one below it: `?organizationId=` of whatever arranges its house.
import { type Permission, Refusal } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { Access } from '../authentication/authenticate.ts';
import type { Caller } from '../authentication/caller.ts';
import type { RouteDeclaration } from './route-declaration.ts';

/** Provisioning's to fill; undefined where there is no such organisation. */
export type FindOrganization = (organizationId: string) => Promise<
  | {
      readonly organizationId: string;
      /** From the top down. */
      readonly ancestorIds: readonly string[];
      readonly userDomainId?: string;
    }
  | undefined
>;

/** What pays, what devices do, and what is the platform's to decide is done by nobody from above. */
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

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const organizationId = Type.String({
  format: 'uuid',
  description: 'Acts in this organisation: your own, or one below it.',
});

/** Whether the organisations above may ask for it too. */
export function allowsActingOnBehalf(access: Access): boolean {
  if (access === 'public' || access === 'token' || access === 'certificate') return false;
  const needed: readonly Permission[] = typeof access === 'string' ? [access] : access;
  return needed.every((permission) => delegablePermissionGroups.has(permissionGroup(permission)));
}

const noQuery = Type.Object({});
/** The same schema with the parameter, made once: what checks it is then compiled once. */
const queryWithOrganization = new WeakMap<TSchema, TSchema>();

/** Says in the declaration of a route that it takes the parameter, once for all rooms. */
export function withOrganizationParameter(facts: RouteDeclaration): RouteDeclaration {
  if (!allowsActingOnBehalf(facts.permission)) return facts;
  const declaredQuery = facts.query ?? noQuery;
  const { properties = {}, ...rest }: { properties?: Record<string, TSchema> } = declaredQuery;
  if ('organizationId' in properties) throw new TypeError(`${facts.url} names it itself`);
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
  throw new Refusal('organization_not_found', 'No organisation in your scope has this identifier.');
}

/** A token of one merchant, store or device stays there. */
const isLimitedToMerchant = ({ entityType, merchantId, storeId, deviceId }: Caller): boolean =>
  entityType !== 'tenant' || (merchantId ?? storeId ?? deviceId) !== undefined;

export function createActOnBehalf(
  findOrganization: FindOrganization,
): (request: FastifyRequest, caller: Caller) => Promise<Caller> {
  return async ({ query }, caller) => {
    const parameter = (query as Readonly<Record<string, unknown>>)['organizationId'];
    // Whatever else it may be, the schema of the route says so in its turn.
    if (typeof parameter !== 'string' || !uuidPattern.test(parameter)) return caller;
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
