// CORS: scripts of the origins that applications registered may call the endpoints of the realm.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock, Database } from '../../../platform/index.ts';
import { applicationCacheTtlMs } from '../../clients/applications.ts';
import { createCachedLookup } from '../../infrastructure/cached-lookup.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';

const maxCachedOrigins = 10_000;
const maxOriginLength = 512;
/** How long a browser may cache a preflight response. */
const preflightCacheSeconds = 600;

type OriginKey = { readonly organizationId: string; readonly origin: string };

export type RegisteredOrigins = {
  isRegistered(organizationId: string, origin: string): Promise<boolean>;
};

export function createRegisteredOrigins(deps: {
  database: Database;
  clock: Clock;
}): RegisteredOrigins {
  const { database, clock } = deps;
  const lookup = createCachedLookup<OriginKey, OriginKey>({
    max: maxCachedOrigins,
    ttlMs: applicationCacheTtlMs,
    clock,
    keyOf: ({ organizationId, origin }) => `${organizationId} ${origin}`,
    async load(key) {
      const rows = await database.query(
        `SELECT 1 FROM applications WHERE organization_id = $1 AND status = 'Enabled'
           AND web_origins @> jsonb_build_array($2::text) LIMIT 1`,
        [key.organizationId, key.origin],
      );
      return rows.length === 0 ? undefined : key;
    },
  });
  return {
    async isRegistered(organizationId, origin) {
      if (origin.length > maxOriginLength || !/^https?:\/\//.test(origin)) return false;
      return (await lookup.find({ organizationId, origin })) !== undefined;
    },
  };
}

type CorsContext = {
  readonly realm: Realm;
  readonly origins: RegisteredOrigins;
  readonly methods: readonly string[];
  readonly allowsCors: boolean;
};

/** Answers a CORS preflight; an unknown origin gets only the Allow header. */
export async function sendPreflight(
  request: FastifyRequest,
  reply: FastifyReply,
  { realm, origins, methods, allowsCors }: CorsContext,
): Promise<FastifyReply> {
  const { origin } = request.headers;
  reply.code(204).headers({ allow: [...methods, 'OPTIONS'].join(', '), vary: 'Origin' });
  if (!allowsCors || origin === undefined) return reply.send();
  if (!(await origins.isRegistered(realm.organizationId, origin))) return reply.send();
  return reply
    .headers({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': 'authorization, content-type, x-request-id, traceparent',
      'access-control-max-age': String(preflightCacheSeconds),
    })
    .send();
}

/** Allows a page of a registered origin to read the response. */
export async function allowRegisteredOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  { realm, origins }: Pick<CorsContext, 'realm' | 'origins'>,
): Promise<void> {
  const { origin } = request.headers;
  reply.header('vary', 'Origin');
  if (origin === undefined || !(await origins.isRegistered(realm.organizationId, origin))) return;
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'WWW-Authenticate',
  });
}
