/** The signed-in user and the sign-in URL. */
import type { PortalSession } from '@switchyard/contract';
import { currentPortal } from '../app/current-portal.ts';

export type Session = PortalSession;

const domainKey = 'switchyard-domain';

export const userKeyOf = ({ userDomainId, user }: Session): string => `${userDomainId} ${user.sub}`;

/** Stores the user domain for the next sign-in in this browser. */
export function rememberUserDomain({ userDomainId }: Session): void {
  localStorage.setItem(domainKey, userDomainId);
}

/** The sign-in URL that returns to a page of this portal. */
export function signInUrl(to: string = location.pathname + location.search): string {
  const returnPath = to.startsWith(`/${currentPortal}`) ? to : `/${currentPortal}/`;
  const domain = localStorage.getItem(domainKey);
  const domainParam = domain === null ? {} : { domain };
  return `/portal/sign-in?${new URLSearchParams({ to: returnPath, ...domainParam })}`;
}

export function redirectToSignIn(): void {
  location.assign(signInUrl());
}
