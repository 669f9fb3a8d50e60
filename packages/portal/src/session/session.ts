/** Who is signed in: as the platform tells it, with what the browser has chosen besides. */
import type { Permission } from '@switchyard/contract';
import { entry } from '../app/entry.ts';

export type Session = {
  readonly user: {
    readonly sub: string;
    readonly name: string;
    readonly username: string;
    readonly email: string;
    readonly locale?: string | undefined;
    readonly zoneinfo?: string | undefined;
    readonly datetimeFormat?: string | undefined;
  };
  readonly organizationId: string;
  readonly organizationName: string;
  readonly merchantId?: string | undefined;
  readonly merchantName?: string | undefined;
  readonly entityType: 'tenant' | 'merchant';
  readonly userDomainId?: string | undefined;
  readonly permissions: readonly Permission[];
  readonly groups: readonly string[];
  readonly environment: 'demo' | 'test' | 'production';
  readonly region: string;
  readonly idleSeconds: number;
  readonly expiresAt: string;
};

/** Where the sign-in begins that leads back to an address of this entry. */
export function signInAddress(to: string = location.pathname + location.search): string {
  const back = to.startsWith(`/${entry}`) ? to : `/${entry}/`;
  return `/portal/sign-in?${new URLSearchParams({ to: back })}`;
}

export function signIn(): void {
  location.assign(signInAddress());
}
