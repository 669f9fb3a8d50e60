// Lets an organisation act in one below it: `?organizationId=` of whatever arranges its house.
import { type Permission, Refusal } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { Access } from '../authentication/authenticate.ts';
import type { Caller } from '../authentication/caller.ts';
import type { RouteFacts } from './route-declaration.ts';

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
const families: ReadonlySet<string> = new Set([
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

const familyOf = (permission: Permission): string => permission.slice(0, permission.indexOf('.'));

const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const organizationId = Type.String({
  format: 'uuid',
  description: 'Acts in this organisation: your own, or one below it.',
});

/** Whether the organisations above may ask for it too. */
export function isActedFromAbove(access: Access): boolean {
  if (access === 'public' || access === 'token' || access === 'certificate') return false;
  const needed: readonly Permission[] = typeof access === 'string' ? [access] : access;
  return needed.every((permission) => families.has(familyOf(permission)));
}

const noQuery = Type.Object({});
/** The same schema with the parameter, made once: what checks it is then compiled once. */
const acted = new WeakMap<TSchema, TSchema>();

/** Says in the declaration of a route that it takes the parameter, once for all rooms. */
export function withActing(facts: RouteFacts): RouteFacts {
  if (!isActedFromAbove(facts.permission)) return facts;
  const own = facts.query ?? noQuery;
  const { properties = {}, ...rest }: { properties?: Record<string, TSchema> } = own;
  if ('organizationId' in properties) throw new TypeError(`${facts.url} names it itself`);
  const all = { ...properties, organizationId: Type.Optional(organizationId) };
  const query = acted.get(own) ?? Type.Object(all, rest);
  acted.set(own, query);
  return {
    ...facts,
    query,
    errors: [...new Set([...facts.errors, 'organization_not_found' as const])],
  };
}

function refuseUnknown(): never {
  throw new Refusal('organization_not_found', 'No organisation in your scope has this identifier.');
}

/** A token of one merchant, store or device stays there. */
const isBound = ({ entityType, merchantId, storeId, deviceId }: Caller): boolean =>
  entityType !== 'tenant' || (merchantId ?? storeId ?? deviceId) !== undefined;

export function createActing(
  findOrganization: FindOrganization,
): (request: FastifyRequest, caller: Caller) => Promise<Caller> {
  return async ({ query }, caller) => {
    const named = (query as Readonly<Record<string, unknown>>)['organizationId'];
    // Whatever else it may be, the schema of the route says so in its turn.
    if (typeof named !== 'string' || !uuidForm.test(named)) return caller;
    const wanted = named.toLowerCase();
    const { organizationId: own } = caller;
    if (wanted === own) return caller;
    if (isBound(caller)) refuseUnknown();
    const found = await findOrganization(wanted);
    if (found?.ancestorIds.includes(own) !== true) return refuseUnknown();
    return {
      ...caller,
      organizationId: found.organizationId,
      homeOrganizationId: own,
      entityId: found.organizationId,
      realm: found.userDomainId ?? '',
    };
  };
}
