// Which pages of other sites may call the realm by script: those at the origins that its applications registered.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Database } from '../../../platform/index.ts';
import { applicationTtlMs } from '../../clients/applications.ts';
import { createCachedLookup } from '../../infrastructure/cached-lookup.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';

const cachedOriginsMax = 10_000;
const originLengthMax = 512;
/** How long a browser may remember the answer to its question. */
const preflightSeconds = 600;

type Key = { readonly organizationId: string; readonly origin: string };

export type Origins = { isRegistered(organizationId: string, origin: string): Promise<boolean> };

export function createOrigins(deps: { database: Database; clock: Clock }): Origins {
  const { database, clock } = deps;
  const lookup = createCachedLookup<Key, Key>({
    max: cachedOriginsMax,
    ttlMs: applicationTtlMs,
    clock,
    nameOf: ({ organizationId, origin }) => `${organizationId} ${origin}`,
    async load(key) {
      const found = await database.query(
        `SELECT 1 FROM applications WHERE organization_id = $1 AND status = 'Enabled'
           AND web_origins @> jsonb_build_array($2::text) LIMIT 1`,
        [key.organizationId, key.origin],
      );
      return found.length === 0 ? undefined : key;
    },
  });
  return {
    async isRegistered(organizationId, origin) {
      if (origin.length > originLengthMax || !/^https?:\/\//.test(origin)) return false;
      return (await lookup.find({ organizationId, origin })) !== undefined;
    },
  };
}

type Asked = {
  readonly realm: Realm;
  readonly origins: Origins;
  readonly methods: readonly string[];
  readonly isForPages: boolean;
};

/** The answer to a browser that asks before it sends: nothing but the methods for a page unknown. */
export async function answerPreflight(
  request: FastifyRequest,
  reply: FastifyReply,
  { realm, origins, methods, isForPages }: Asked,
): Promise<FastifyReply> {
  const { origin } = request.headers;
  reply.code(204).headers({ allow: [...methods, 'OPTIONS'].join(', '), vary: 'Origin' });
  if (!isForPages || origin === undefined) return reply.send();
  if (!(await origins.isRegistered(realm.organizationId, origin))) return reply.send();
  return reply
    .headers({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': 'authorization, content-type, x-request-id, traceparent',
      'access-control-max-age': String(preflightSeconds),
    })
    .send();
}

/** Lets the page of a registered origin read the answer; any other page may not. */
export async function openToPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { realm, origins }: Pick<Asked, 'realm' | 'origins'>,
): Promise<void> {
  const { origin } = request.headers;
  reply.header('vary', 'Origin');
  if (origin === undefined || !(await origins.isRegistered(realm.organizationId, origin))) return;
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate',
  });
}
