// The nouns of accounts: the people of a user domain, and what they prove themselves with.
import type { Permission } from '@switchyard/contract';
import type { EntityType, Status } from '../types.ts';

/** How a person proved who they are, in the words of RFC 8176; `rc` is a recovery code. */
export type Method = 'pwd' | 'otp' | 'hwk' | 'rc';

/** `Off`: a password is enough. `Required`: to be enrolled at the next sign-in. `On`: enrolled. */
export type SecondFactor = 'Off' | 'Required' | 'On';

/** As OpenID Connect Core, 5.1.1, has it. */
export type Address = {
  readonly formatted?: string;
  readonly street_address?: string;
  readonly locality?: string;
  readonly region?: string;
  readonly postal_code?: string;
  readonly country?: string;
};

export type User = {
  readonly organizationId: string;
  /** `sub` of the user's tokens: a random UUID across the realm. */
  readonly userId: string;
  readonly username: string;
  /** Where the user belongs: the organisation (tenant) or one of its merchants. */
  readonly entityType: EntityType;
  readonly entityId: string;
  /** What the user may act on; `um_scope` of the tokens. */
  readonly scopeEntityType: EntityType;
  readonly scopeEntityId: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
  readonly phoneNumber?: string | undefined;
  readonly phoneNumberVerified: boolean;
  readonly address?: Address | undefined;
  /** BCP 47: `fr-FR`. */
  readonly locale?: string | undefined;
  readonly zoneinfo?: string | undefined;
  readonly datetimeFormat?: string | undefined;
  /** With their entity: `{organizationId}_org_admin`. */
  readonly groups: readonly string[];
  /** What the groups allow, in the order of the published list. */
  readonly permissions: readonly Permission[];
  readonly status: Status;
  readonly secondFactor: SecondFactor;
  readonly hasPassword: boolean;
  /** Epoch milliseconds; tokens and sessions from before are dead. */
  readonly tokensNotBefore?: number | undefined;
  readonly lastSignInAt?: number | undefined;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** Where an attempt comes from; for the limits and the audit. */
export type Origin = {
  readonly address: string;
  readonly userAgent?: string | undefined;
  readonly requestId?: string | undefined;
  readonly clientId?: string | undefined;
};
