// The URLs of the portal: at the base URL, and at a host for each organisation.
import type { Application } from './application-record.ts';

export const portalPath = '/portal';
export const providerPortalPath = '/provider-portal';
/** The redirect URI of the login, for both portals. */
export const portalCallbackPath = `${portalPath}/callback`;

export type PortalSettings = {
  readonly baseUrl: string;
  /** Each organisation has a host under this domain; default: no such hosts. */
  readonly portalDomain?: string | undefined;
};

export type PortalSite = {
  readonly origin: string;
  /** The user domain that the host names, if any. */
  readonly userDomainId?: string;
};

export type PortalUrls = ReturnType<typeof createPortalUrls>;

/** Returns `acme` for `acme.portal.example`; undefined for other hosts. */
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

    /** Finds the site by the Host header; undefined if no portal has this host. */
    findSite(host: string): PortalSite | undefined {
      const requestedHost = host.toLowerCase();
      if (requestedHost === base.host) return { origin: base.origin };
      const userDomainId = userDomainOfHost(requestedHost.replace(/:\d+$/, ''), portalDomain);
      if (userDomainId === undefined) return undefined;
      const origin = originOf(userDomainId);
      return new URL(origin).host === requestedHost ? { origin, userDomainId } : undefined;
    },

    /** The origins of the portal for one user domain. */
    listOrigins: (userDomainId: string): readonly string[] =>
      portalDomain === undefined ? [base.origin] : [base.origin, originOf(userDomainId)],
  };
}

export const portalRedirectUris = (
  portalUrls: PortalUrls,
  userDomainId: string,
): Application['redirectUris'] =>
  portalUrls.listOrigins(userDomainId).map((origin) => origin + portalCallbackPath);
