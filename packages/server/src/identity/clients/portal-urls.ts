// Where portals stand: at the platform's own address, and at the host of each client.
import type { Application } from './application.ts';

export const portalPath = '/portal';
export const providerPortalPath = '/provider-portal';
/** Where the browser comes back to from the sign-in, whichever of the two it wants to see. */
export const portalCallbackPath = `${portalPath}/callback`;

export type PortalSettings = {
  readonly baseUrl: string;
  /** Under which each client has its host; left out where none has. */
  readonly portalDomain?: string | undefined;
};

export type PortalSite = {
  readonly origin: string;
  /** Whose it is, where the host says so. */
  readonly userDomainId?: string;
};

export type PortalUrls = ReturnType<typeof createPortalUrls>;

/** `acme` of `acme.portal.example`; undefined for every other host. */
export function userDomainOfHost(
  hostname: string,
  portalDomain: string | undefined,
): string | undefined {
  const name = hostname.toLowerCase();
  const end = `.${portalDomain?.toLowerCase()}`;
  if (portalDomain === undefined || !name.endsWith(end)) return undefined;
  const userDomainId = name.slice(0, -end.length);
  return userDomainId === '' || userDomainId.includes('.') ? undefined : userDomainId;
}

export function createPortalUrls({ baseUrl, portalDomain }: PortalSettings) {
  const base = new URL(baseUrl);
  const port = base.port === '' ? '' : `:${base.port}`;
  const originOf = (userDomainId: string) =>
    `${base.protocol}//${userDomainId}.${portalDomain?.toLowerCase()}${port}`;

  return {
    origin: base.origin,

    /** By the Host header; undefined where no portal stands. */
    findSite(host: string): PortalSite | undefined {
      const requestedHost = host.toLowerCase();
      if (requestedHost === base.host) return { origin: base.origin };
      const userDomainId = userDomainOfHost(requestedHost.replace(/:\d+$/, ''), portalDomain);
      if (userDomainId === undefined) return undefined;
      const origin = originOf(userDomainId);
      return new URL(origin).host === requestedHost ? { origin, userDomainId } : undefined;
    },

    /** Of one user domain. */
    listOrigins: (userDomainId: string): readonly string[] =>
      portalDomain === undefined ? [base.origin] : [base.origin, originOf(userDomainId)],
  };
}

export const portalRedirectUris = (
  portalUrls: PortalUrls,
  userDomainId: string,
): Application['redirectUris'] =>
  portalUrls.listOrigins(userDomainId).map((origin) => origin + portalCallbackPath);
