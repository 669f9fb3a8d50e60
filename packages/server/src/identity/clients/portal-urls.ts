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

export type PortalPlace = {
  readonly origin: string;
  /** Whose it is, where the host says so. */
  readonly userDomainId?: string;
};

export type PortalPlaces = ReturnType<typeof createPortalPlaces>;

/** `acme` of `acme.portal.example`; undefined for every other host. */
export function clientOf(hostname: string, portalDomain: string | undefined): string | undefined {
  const name = hostname.toLowerCase();
  const end = `.${portalDomain?.toLowerCase()}`;
  if (portalDomain === undefined || !name.endsWith(end)) return undefined;
  const client = name.slice(0, -end.length);
  return client === '' || client.includes('.') ? undefined : client;
}

export function createPortalPlaces({ baseUrl, portalDomain }: PortalSettings) {
  const own = new URL(baseUrl);
  const port = own.port === '' ? '' : `:${own.port}`;
  const originOf = (userDomainId: string) =>
    `${own.protocol}//${userDomainId}.${portalDomain?.toLowerCase()}${port}`;

  return {
    origin: own.origin,

    /** By the Host header; undefined where no portal stands. */
    at(host: string): PortalPlace | undefined {
      const asked = host.toLowerCase();
      if (asked === own.host) return { origin: own.origin };
      const userDomainId = clientOf(asked.replace(/:\d+$/, ''), portalDomain);
      if (userDomainId === undefined) return undefined;
      const origin = originOf(userDomainId);
      return new URL(origin).host === asked ? { origin, userDomainId } : undefined;
    },

    /** Of one user domain. */
    originsOf: (userDomainId: string): readonly string[] =>
      portalDomain === undefined ? [own.origin] : [own.origin, originOf(userDomainId)],
  };
}

export const redirectUrisOf = (
  places: PortalPlaces,
  userDomainId: string,
): Application['redirectUris'] =>
  places.originsOf(userDomainId).map((origin) => origin + portalCallbackPath);
