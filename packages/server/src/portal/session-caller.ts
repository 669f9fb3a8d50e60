// Who stands behind a request of the portal's pages: the cookie counts there, and nowhere else.
import { Refusal, refuse } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import type { Caller, Presented, VerifyToken } from '../http/index.ts';
import { type FindDevice, type PortalPlaces, permissionsAt } from '../identity/index.ts';
import { readCookie, sessionCookie } from './cookies.ts';
import { keyOf, type Manner, type PortalSession, type Sessions } from './sessions.ts';

/** Pages of other sites cannot send it without being asked first, and nobody is let in who asks. */
export const portalHeader = 'x-switchyard-portal';

/** The virtual terminal of the demo: the page stands in for this device. */
const deviceHeader = 'x-switchyard-device';

const manners: ReadonlyMap<unknown, Manner> = new Map([
  ['1', 'active'],
  ['background', 'background'],
]);

export type SessionCaller = {
  /** Undefined where the request is none of a page of ours, or brings no cookie. */
  of(request: FastifyRequest): Promise<Caller> | undefined;
  /** Of a request whose caller came so. */
  sessionOf(request: FastifyRequest): PortalSession | undefined;
};

type Deps = {
  readonly sessions: Sessions;
  readonly places: PortalPlaces;
  readonly verifyToken: VerifyToken;
  /** Left out: nobody stands in for a device. */
  readonly findDevice?: FindDevice | undefined;
};

/** No token of a session is bound to a certificate. */
const nothingPresented: Presented = { certificateThumbprint: () => undefined };

/** Both say so where both are there; one of them has to. */
function isFromOrigin({ headers }: FastifyRequest, origin: string): boolean {
  const { 'sec-fetch-site': site, origin: named } = headers;
  if (site === undefined && named === undefined) return false;
  return (
    (site === undefined || site === 'same-origin') && (named === undefined || named === origin)
  );
}

/** As a device's own token would have it: what devices do, and of that what is the person's to do. */
async function atDevice(findDevice: FindDevice, caller: Caller, named: string): Promise<Caller> {
  const { organizationId, merchantId, permissions } = caller;
  if (merchantId === undefined) {
    return refuse('permission_denied', 'Only a user of a merchant can stand at a device.');
  }
  const device = await findDevice(organizationId, merchantId, named);
  if (device === undefined) {
    return refuse('device_not_found', 'The merchant has no such device in use.');
  }
  const { logicalDeviceId: deviceId, storeId } = device;
  return {
    ...{ ...caller, deviceId, storeId },
    permissions: new Set(permissionsAt(true, [...permissions])),
  };
}

export function createSessionCaller(deps: Deps): SessionCaller {
  const { sessions, places, verifyToken, findDevice } = deps;
  const used = new WeakMap<FastifyRequest, PortalSession>();
  /** A caller is the same object for as long as nothing about him changes. */
  const limited = new WeakMap<Caller, Caller>();

  function counted(caller: Caller): Caller {
    const known = limited.get(caller);
    if (known !== undefined) return known;
    // All people of all portals have the same client: each of them is counted by himself.
    const made = { ...caller, limitKey: `${caller.organizationId} ${caller.subject}` };
    limited.set(caller, made);
    return made;
  }

  async function callerOf(
    request: FastifyRequest,
    cookie: string,
    origin: string,
    manner: Manner,
  ): Promise<Caller> {
    const at = keyOf(cookie);
    const session = at && (await sessions.use(at, manner));
    // A cookie of one client's host is nothing at another's.
    if (session?.origin !== origin) {
      throw new Refusal('token_expired', 'The session has ended: sign in again.');
    }
    used.set(request, session);
    const caller = counted(await verifyToken(session.tokens.accessToken, nothingPresented));
    const device = request.headers[deviceHeader];
    if (findDevice === undefined || typeof device !== 'string') return caller;
    return atDevice(findDevice, caller, device);
  }

  return {
    of(request) {
      const said = manners.get(request.headers[portalHeader]);
      // Asked again while it is answered, as of a stream: that is nobody's click.
      const manner = said !== undefined && used.has(request) ? 'background' : said;
      if (manner === undefined) return undefined;
      const cookie = readCookie(request.raw, sessionCookie);
      const place = cookie === undefined ? undefined : places.at(request.host);
      if (cookie === undefined || place === undefined) return undefined;
      return isFromOrigin(request, place.origin)
        ? callerOf(request, cookie, place.origin, manner)
        : undefined;
    },
    sessionOf: (request) => used.get(request),
  };
}
