/** Who is signed in, as the platform tells it, and the way to the sign-in. */
import type { PortalSession } from '@switchyard/contract';
import { entry } from '../app/current-portal.ts';

export type Session = PortalSession;

const domainKey = 'switchyard-domain';

export const userKeyOf = ({ userDomainId, user }: Session): string => `${userDomainId} ${user.sub}`;

/** The next sign-in in this browser need not ask for it. */
export function rememberDomain({ userDomainId }: Session): void {
  localStorage.setItem(domainKey, userDomainId);
}

/** Where the sign-in begins that leads back to an address of this entry. */
export function signInAddress(to: string = location.pathname + location.search): string {
  const returnPath = to.startsWith(`/${entry}`) ? to : `/${entry}/`;
  const domain = localStorage.getItem(domainKey);
  const domainParam = domain === null ? {} : { domain };
  return `/portal/sign-in?${new URLSearchParams({ to: returnPath, ...domainParam })}`;
}

export function signIn(): void {
  location.assign(signInAddress());
}
