/**
 * The portal in the address of this page: for acquirers and merchants, or for service providers.
 */
export type PortalName = 'portal' | 'provider-portal';

export function portalOfPath(pathname: string): PortalName {
  return pathname.startsWith('/provider-portal') ? 'provider-portal' : 'portal';
}

export const currentPortal: PortalName = portalOfPath(location.pathname);
