// Who stands behind a request of the portal's pages: the cookie counts there, and nowhere else.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Refusal, refuse } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import type {
  Caller,
  FindSessionCaller,
  PresentedCertificate,
  VerifyToken,
} from '../http/index.ts';
import { effectivePermissions, type FindDevice, type PortalUrls } from '../identity/index.ts';
import { readCookie, sessionCookie } from './cookies.ts';
import type { SessionKey } from './session-store.ts';
import { keyOf, type Manner, type PortalSession, type Sessions } from './sessions.ts';

/** Pages of other sites cannot send it without being asked first, and nobody is let in who asks. */
export const portalHeader = 'x-switchyard-portal';

/**
 * A link in a page of ours can set no header. The browser says itself where it was, in one that no page
 * can set, and what a link opens changes nothing.
 */
function isLink({ method, headers, routeOptions }: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, [portalHeader]: said } = headers;
  const isDeclared = method === 'GET' && routeOptions.config.facts?.opensByLink === true;
  return isDeclared && said === undefined && site === 'same-origin' && mode === 'navigate';
}

/** The virtual terminal of the demo: the page stands in for this device. */
const deviceHeader = 'x-switchyard-device';
/** The same page as the till beside this device. */
const tillHeader = 'x-switchyard-till';

const manners: ReadonlyMap<unknown, Manner> = new Map([
  ['1', 'active'],
  ['background', 'background'],
]);

export type SessionCaller = {
  /** Undefined where the request is none of a page of ours, or brings no cookie. */
  readonly of: FindSessionCaller;
  /** Of a request whose caller came so. */
  sessionOf(request: FastifyRequest): PortalSession | undefined;
  /** Of a handshake, in which no header of a page's own can be. @throws Refusal for all pages but ours */
  pageOf(handshake: IncomingMessage): PortalPage;
  /** Whether the session that a handshake brings was found good here; whose page it is nobody has looked at. */
  knowsSessionOf(handshake: IncomingMessage): boolean;
  /** Who stands at a device in such a page, as it is at this moment. @throws Refusal where nobody does */
  standingAt(page: PortalPage, device: string): Promise<Caller>;
};

/** A page of ours, and the session that its browser has. */
export type PortalPage = SessionKey & { readonly origin: string };

/** By a page of ours. */
type Shown = { readonly cookie: string; readonly origin: string; readonly manner: Manner };

type Deps = {
  readonly sessions: Sessions;
  readonly places: PortalUrls;
  readonly verifyToken: VerifyToken;
  /** Left out: nobody stands in for a device. */
  readonly findDevice?: FindDevice | undefined;
};

/** No token of a session is bound to a certificate. */
const nothingPresented: PresentedCertificate = { thumbprint: () => undefined };

/** Both say so where both are there; one of them has to. */
function isFromOrigin(headers: IncomingHttpHeaders, origin: string): boolean {
  const { 'sec-fetch-site': site, origin: named } = headers;
  if (site === undefined && named === undefined) return false;
  return (
    (site === undefined || site === 'same-origin') && (named === undefined || named === origin)
  );
}

async function deviceOf(findDevice: FindDevice, caller: Caller, named: string) {
  const { organizationId, merchantId } = caller;
  if (merchantId === undefined) {
    return refuse('permission_denied', 'Only a user of a merchant can stand at a device.');
  }
  const device = await findDevice(organizationId, merchantId, named);
  if (device === undefined) {
    return refuse('device_not_found', 'The merchant has no such device in use.');
  }
  return device;
}

/** As a device's own token would have it: what devices do, and of that what is the person's to do. */
async function atDevice(findDevice: FindDevice, caller: Caller, named: string): Promise<Caller> {
  const { logicalDeviceId: deviceId, storeId } = await deviceOf(findDevice, caller, named);
  return {
    ...caller,
    deviceId,
    storeId,
    permissions: new Set(effectivePermissions(true, [...caller.permissions])),
  };
}

/** As the till of one store: it talks to the terminals there, and whoever may sell may do that. */
async function atTill(findDevice: FindDevice, caller: Caller, named: string): Promise<Caller> {
  if (!caller.permissions.has('pay.sale')) {
    return refuse('permission_denied', 'Only who may sell can stand at a till.');
  }
  const { storeId } = await deviceOf(findDevice, caller, named);
  return { ...caller, storeId, permissions: new Set(['cc.pos']) };
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

  async function sessionAt(
    at: SessionKey | undefined,
    origin: string,
    manner: Manner,
  ): Promise<PortalSession> {
    const session = at && (await sessions.use(at, manner));
    // A cookie of one client's host is nothing at another's.
    if (session?.origin === origin) return session;
    throw new Refusal('token_expired', 'The session has ended: sign in again.');
  }

  const callerIn = async ({ tokens }: PortalSession): Promise<Caller> =>
    counted(await verifyToken(tokens.accessToken, nothingPresented));

  async function callerOf(
    request: FastifyRequest,
    { cookie, origin, manner }: Shown,
  ): Promise<Caller> {
    const session = await sessionAt(keyOf(cookie), origin, manner);
    used.set(request, session);
    const caller = await callerIn(session);
    const { [deviceHeader]: device, [tillHeader]: till } = request.headers;
    if (findDevice === undefined) return caller;
    if (typeof device === 'string') return atDevice(findDevice, caller, device);
    return typeof till === 'string' ? atTill(findDevice, caller, till) : caller;
  }

  function shownBy(request: FastifyRequest): Shown | undefined {
    const manner = isLink(request) ? 'active' : manners.get(request.headers[portalHeader]);
    if (manner === undefined) return undefined;
    const cookie = readCookie(request.raw, sessionCookie);
    const origin = cookie === undefined ? undefined : places.findSite(request.host)?.origin;
    if (cookie === undefined || origin === undefined) return undefined;
    return isFromOrigin(request.headers, origin) ? { cookie, origin, manner } : undefined;
  }

  function of(request: FastifyRequest): Promise<Caller> | undefined {
    const shown = shownBy(request);
    if (shown === undefined) return undefined;
    // Asked again while it is answered, as of a stream: that is nobody's click.
    const manner = used.has(request) ? 'background' : shown.manner;
    return callerOf(request, { ...shown, manner });
  }

  function knows(request: FastifyRequest): boolean {
    const at = keyOf(shownBy(request)?.cookie ?? '');
    return at !== undefined && sessions.knows(at);
  }

  return {
    of: Object.assign(of, { isVerified: knows }),
    sessionOf: (request) => used.get(request),

    pageOf(handshake) {
      const { headers } = handshake;
      const place = places.findSite(headers.host ?? '');
      // A browser says where a page comes from that opens a WebSocket: there is no silence to forgive.
      if (place === undefined || headers.origin !== place.origin) {
        return refuse('origin_not_allowed', 'The page is none of ours.');
      }
      const at = keyOf(readCookie(handshake, sessionCookie) ?? '');
      if (at === undefined || !isFromOrigin(headers, place.origin)) {
        return refuse('origin_not_allowed', 'The page has no session.');
      }
      return { ...at, origin: place.origin };
    },

    knowsSessionOf(handshake) {
      const at = keyOf(readCookie(handshake, sessionCookie) ?? '');
      return at !== undefined && sessions.knows(at);
    },

    async standingAt({ origin, ...at }, device) {
      const caller = await callerIn(await sessionAt(at, origin, 'background'));
      if (findDevice === undefined) return refuse('route_not_found', 'Nobody stands at devices.');
      return atDevice(findDevice, caller, device);
    },
  };
}
