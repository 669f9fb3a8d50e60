// Finds the caller of a portal page request by its cookie, which is valid for no other request.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ProblemError, throwProblem } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import type {
  Caller,
  FindSessionCaller,
  PresentedCertificate,
  VerifyToken,
} from '../../http/index.ts';
import { effectivePermissions, type FindDevice, type PortalUrls } from '../../identity/index.ts';
import { readCookie, sessionCookie } from './cookies.ts';
import type { SessionKey } from './session-store.ts';
import { keyOf, type Manner, type PortalSession, type Sessions } from './sessions.ts';

/** Another site needs a CORS preflight request for this header, and the server never allows it. */
export const portalHeader = 'x-switchyard-portal';

/**
 * A link in a portal page cannot set a header. The browser states the site of the page in a header
 * that no page can set. A route for links changes no data.
 */
function isLink({ method, headers, routeOptions }: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, [portalHeader]: said } = headers;
  const isDeclared = method === 'GET' && routeOptions.config.facts?.opensByLink === true;
  return isDeclared && said === undefined && site === 'same-origin' && mode === 'navigate';
}

/** The virtual terminal of the demo: the page acts as this device. */
const deviceHeader = 'x-switchyard-device';
/** The same page acts as the till beside this device. */
const tillHeader = 'x-switchyard-till';

const manners: ReadonlyMap<unknown, Manner> = new Map([
  ['1', 'active'],
  ['background', 'background'],
]);

export type SessionCaller = {
  /** Returns undefined if the request is not from a portal page, or has no cookie. */
  readonly of: FindSessionCaller;
  /** Returns the session of a request whose caller `of` has found. */
  sessionOf(request: FastifyRequest): PortalSession | undefined;
  /**
   * Returns the page of a WebSocket handshake, in which a page cannot set a header.
   *
   * @throws Refusal for a page that is not of the portal
   */
  pageOf(handshake: IncomingMessage): PortalPage;
  /**
   * True if this process has found the session of the handshake valid before; it does not check the
   * page.
   */
  knowsSessionOf(handshake: IncomingMessage): boolean;
  /** Returns the current caller at a device in such a page. @throws Refusal if there is none */
  standingAt(page: PortalPage, device: string): Promise<Caller>;
};

/** A portal page, and the session of its browser. */
export type PortalPage = SessionKey & { readonly origin: string };

/** The session cookie and the context of a portal page request. */
type Shown = { readonly cookie: string; readonly origin: string; readonly manner: Manner };

type Deps = {
  readonly sessions: Sessions;
  readonly places: PortalUrls;
  readonly verifyToken: VerifyToken;
  /** Omitted if a page cannot act as a device. */
  readonly findDevice?: FindDevice | undefined;
};

/** No token of a session is bound to a certificate. */
const nothingPresented: PresentedCertificate = { thumbprint: () => undefined };

/** At least one of the two headers must be present, and each present header must match. */
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
    return throwProblem('permission_denied', 'Only a user of a merchant can stand at a device.');
  }
  const device = await findDevice(organizationId, merchantId, named);
  if (device === undefined) {
    return throwProblem('device_not_found', 'The merchant has no such device in use.');
  }
  return device;
}

/** The caller has the permissions that a device token of this user would have. */
async function atDevice(findDevice: FindDevice, caller: Caller, named: string): Promise<Caller> {
  const { logicalDeviceId: deviceId, storeId } = await deviceOf(findDevice, caller, named);
  return {
    ...caller,
    deviceId,
    storeId,
    permissions: new Set(effectivePermissions(true, [...caller.permissions])),
  };
}

/** The till of a store may talk to the terminals of that store, if the user may sell. */
async function atTill(findDevice: FindDevice, caller: Caller, named: string): Promise<Caller> {
  if (!caller.permissions.has('pay.sale')) {
    return throwProblem('permission_denied', 'Only who may sell can stand at a till.');
  }
  const { storeId } = await deviceOf(findDevice, caller, named);
  return { ...caller, storeId, permissions: new Set(['cc.pos']) };
}

export function createSessionCaller(deps: Deps): SessionCaller {
  const { sessions, places, verifyToken, findDevice } = deps;
  const used = new WeakMap<FastifyRequest, PortalSession>();
  /** A caller is the same object as long as its data does not change. */
  const limited = new WeakMap<Caller, Caller>();

  function counted(caller: Caller): Caller {
    const known = limited.get(caller);
    if (known !== undefined) return known;
    // All portal users share one client, so the server counts requests for each user.
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
    // The cookie of one client's host is not valid on the host of another client.
    if (session?.origin === origin) return session;
    throw new ProblemError('token_expired', 'The session has ended: sign in again.');
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
    // A stream checks its caller again while it runs, which is no activity of the user.
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
      // A browser always sends the origin of a page that opens a WebSocket, so the server requires
      // it.
      if (place === undefined || headers.origin !== place.origin) {
        return throwProblem('origin_not_allowed', 'The page is none of ours.');
      }
      const at = keyOf(readCookie(handshake, sessionCookie) ?? '');
      if (at === undefined || !isFromOrigin(headers, place.origin)) {
        return throwProblem('origin_not_allowed', 'The page has no session.');
      }
      return { ...at, origin: place.origin };
    },

    knowsSessionOf(handshake) {
      const at = keyOf(readCookie(handshake, sessionCookie) ?? '');
      return at !== undefined && sessions.knows(at);
    },

    async standingAt({ origin, ...at }, device) {
      const caller = await callerIn(await sessionAt(at, origin, 'background'));
      if (findDevice === undefined)
        return throwProblem('route_not_found', 'Nobody stands at devices.');
      return atDevice(findDevice, caller, device);
    },
  };
}
