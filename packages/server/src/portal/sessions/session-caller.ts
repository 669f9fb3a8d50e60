// Finds the caller of a portal page request by its cookie, which is valid for no other request.
import type { IncomingHttpHeaders } from 'node:http';
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
import {
  type PortalSession,
  parseSessionCookie,
  type SessionActivity,
  type Sessions,
} from './sessions.ts';

/** Another site needs a CORS preflight request for this header, and the server never allows it. */
export const portalHeader = 'x-switchyard-portal';

/**
 * A link in a portal page cannot set a header. The browser states the site of the page in a header
 * that no page can set. A route for links changes no data.
 */
function isLink({ method, headers, routeOptions }: FastifyRequest): boolean {
  const {
    'sec-fetch-site': site,
    'sec-fetch-mode': mode,
    [portalHeader]: portalHeaderValue,
  } = headers;
  const isDeclared = method === 'GET' && routeOptions.config.facts?.opensByLink === true;
  return (
    isDeclared && portalHeaderValue === undefined && site === 'same-origin' && mode === 'navigate'
  );
}

/** The virtual terminal of the demo: the page acts as this device. */
const deviceHeader = 'x-switchyard-device';
/** The same page acts as the point of sale of this device's store. */
const pointOfSaleHeader = 'x-switchyard-till';

const activityByHeader: ReadonlyMap<unknown, SessionActivity> = new Map([
  ['1', 'active'],
  ['background', 'background'],
]);

export type SessionCaller = {
  /** Returns undefined if the request is not from a portal page, or has no cookie. */
  readonly findCaller: FindSessionCaller;
  /** Returns the session of a request whose caller `findCaller` has found. */
  sessionOf(request: FastifyRequest): PortalSession | undefined;
};

/** The session cookie and the context of a portal page request. */
type PageCredentials = {
  readonly cookie: string;
  readonly origin: string;
  readonly activity: SessionActivity;
};

type Deps = {
  readonly sessions: Sessions;
  readonly portalUrls: PortalUrls;
  readonly verifyToken: VerifyToken;
  /** Omitted if a page cannot act as a device. */
  readonly findDevice?: FindDevice | undefined;
};

/** No token of a session is bound to a certificate. */
const nothingPresented: PresentedCertificate = { thumbprint: () => undefined };

/** At least one of the two headers must be present, and each present header must match. */
function isFromOrigin(headers: IncomingHttpHeaders, origin: string): boolean {
  const { 'sec-fetch-site': site, origin: originHeader } = headers;
  if (site === undefined && originHeader === undefined) return false;
  return (
    (site === undefined || site === 'same-origin') &&
    (originHeader === undefined || originHeader === origin)
  );
}

async function requireDevice(findDevice: FindDevice, caller: Caller, requestedDevice: string) {
  const { organizationId, merchantId } = caller;
  if (merchantId === undefined) {
    return throwProblem('permission_denied', 'Only a user of a merchant can act as a device.');
  }
  const device = await findDevice(organizationId, merchantId, requestedDevice);
  if (device === undefined) {
    return throwProblem(
      'device_not_found',
      'The merchant has no enabled logical device with this ID.',
    );
  }
  return device;
}

/** The caller has the permissions that a device token of this user would have. */
async function callerAtDevice(
  findDevice: FindDevice,
  caller: Caller,
  requestedDevice: string,
): Promise<Caller> {
  const { logicalDeviceId: deviceId, storeId } = await requireDevice(
    findDevice,
    caller,
    requestedDevice,
  );
  return {
    ...caller,
    deviceId,
    storeId,
    permissions: new Set(effectivePermissions(true, [...caller.permissions])),
  };
}

/** The point of sale of a store may talk to the terminals of that store, if the user may sell. */
async function callerAtPointOfSale(
  findDevice: FindDevice,
  caller: Caller,
  requestedDevice: string,
): Promise<Caller> {
  if (!caller.permissions.has('pay.sale')) {
    return throwProblem(
      'permission_denied',
      'Only a user with the permission pay.sale can act as a point of sale.',
    );
  }
  const { storeId } = await requireDevice(findDevice, caller, requestedDevice);
  return { ...caller, storeId, permissions: new Set(['cc.pos']) };
}

export function createSessionCaller(deps: Deps): SessionCaller {
  const { sessions, portalUrls, verifyToken, findDevice } = deps;
  const used = new WeakMap<FastifyRequest, PortalSession>();
  /** A caller is the same object as long as its data does not change. */
  const limited = new WeakMap<Caller, Caller>();

  function withLimitKey(caller: Caller): Caller {
    const cached = limited.get(caller);
    if (cached !== undefined) return cached;
    // All portal users share one client, so the server counts requests for each user.
    const made = { ...caller, limitKey: `${caller.organizationId} ${caller.subject}` };
    limited.set(caller, made);
    return made;
  }

  async function sessionAt(
    at: SessionKey | undefined,
    origin: string,
    activity: SessionActivity,
  ): Promise<PortalSession> {
    const session = at && (await sessions.use(at, activity));
    // The cookie of one client's host is not valid on the host of another client.
    if (session?.origin === origin) return session;
    throw new ProblemError('token_expired', 'The session has ended: sign in again.');
  }

  const callerIn = async ({ tokens }: PortalSession): Promise<Caller> =>
    withLimitKey(await verifyToken(tokens.accessToken, nothingPresented));

  async function callerOf(
    request: FastifyRequest,
    { cookie, origin, activity }: PageCredentials,
  ): Promise<Caller> {
    const session = await sessionAt(parseSessionCookie(cookie), origin, activity);
    used.set(request, session);
    const caller = await callerIn(session);
    const { [deviceHeader]: device, [pointOfSaleHeader]: till } = request.headers;
    if (findDevice === undefined) return caller;
    if (typeof device === 'string') return callerAtDevice(findDevice, caller, device);
    return typeof till === 'string' ? callerAtPointOfSale(findDevice, caller, till) : caller;
  }

  function pageCredentials(request: FastifyRequest): PageCredentials | undefined {
    const activity = isLink(request)
      ? 'active'
      : activityByHeader.get(request.headers[portalHeader]);
    if (activity === undefined) return undefined;
    const cookie = readCookie(request.raw, sessionCookie);
    const origin = cookie === undefined ? undefined : portalUrls.findSite(request.host)?.origin;
    if (cookie === undefined || origin === undefined) return undefined;
    return isFromOrigin(request.headers, origin) ? { cookie, origin, activity } : undefined;
  }

  function findCaller(request: FastifyRequest): Promise<Caller> | undefined {
    const credentials = pageCredentials(request);
    if (credentials === undefined) return undefined;
    // A stream checks its caller again while it runs, which is no activity of the user.
    const activity = used.has(request) ? 'background' : credentials.activity;
    return callerOf(request, { ...credentials, activity });
  }

  function isKnown(request: FastifyRequest): boolean {
    const at = parseSessionCookie(pageCredentials(request)?.cookie ?? '');
    return at !== undefined && sessions.isKnown(at);
  }

  return {
    findCaller: Object.assign(findCaller, { isVerified: isKnown }),
    sessionOf: (request) => used.get(request),
  };
}
