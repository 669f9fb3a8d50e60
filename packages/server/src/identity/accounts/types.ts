// Types of accounts: users, changes to users, sign-in attempts and their outcomes.
import type { Permission } from '@switchyard/contract';
import type { Queries } from '../../platform/index.ts';
import type { EntityType, Status } from '../realms-and-keys/realm-types.ts';

/** How a user authenticated: values of RFC 8176, and `rc` for a recovery code. */
export type AuthenticationMethod = 'pwd' | 'otp' | 'hwk' | 'rc';

/** `Off`: a password is enough. `Required`: the user sets one up at the next sign-in. `On`: set up. */
export type SecondFactorStatus = 'Off' | 'Required' | 'On';

/** The address claim of OpenID Connect Core, 5.1.1. */
export type PostalAddress = {
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
  /** The entity of the user: the organisation (tenant) or one of its merchants. */
  readonly entityType: EntityType;
  readonly entityId: string;
  /** The entity that the user may act on: `um_scope` of the tokens. */
  readonly scopeEntityType: EntityType;
  readonly scopeEntityId: string;
  readonly email: string;
  readonly emailVerified: boolean;
  /** The new address; it replaces `email` when the user follows the link that was sent to it. */
  readonly pendingEmail?: string | undefined;
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
  readonly phoneNumber?: string | undefined;
  readonly phoneNumberVerified: boolean;
  readonly address?: PostalAddress | undefined;
  /** BCP 47, for example `fr-FR`. */
  readonly locale?: string | undefined;
  readonly zoneinfo?: string | undefined;
  readonly datetimeFormat?: string | undefined;
  /** Names with their entity, for example `{organizationId}_org_admin`. */
  readonly groups: readonly string[];
  /** The permissions of the groups, in the order of the published list. */
  readonly permissions: readonly Permission[];
  readonly status: Status;
  readonly secondFactor: SecondFactorStatus;
  readonly hasPassword: boolean;
  /** Epoch milliseconds; tokens and sessions from before this time are invalid. */
  readonly tokensNotBefore?: number | undefined;
  readonly lastSignInAt?: number | undefined;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** Ends all sessions of a user, or all but one, and by default also the unfinished sign-ins. */
export type EndSessions = (
  organizationId: string,
  userId: string,
  exceptSessionId?: string,
  keepUnfinishedSignIns?: boolean,
) => Promise<void>;

/** Where a sign-in attempt comes from: for the limits and the sign-in history. */
export type AttemptOrigin = {
  readonly address: string;
  readonly userAgent?: string | undefined;
  readonly requestId?: string | undefined;
  readonly clientId?: string | undefined;
  /**
   * Identifies a browser, an application or a device that has signed in before: its secret
   * or its authenticated identity. The database holds only a hash.
   */
  readonly source?: string | undefined;
};

export type NewUser = {
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly username: string;
  readonly entityType: EntityType;
  readonly entityId: string;
  /** Default: the entity itself. */
  readonly scopeEntityType?: EntityType | undefined;
  readonly scopeEntityId?: string | undefined;
  readonly email: string;
  readonly emailVerified?: boolean | undefined;
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
  readonly phoneNumber?: string | undefined;
  readonly address?: PostalAddress | undefined;
  readonly locale?: string | undefined;
  readonly zoneinfo?: string | undefined;
  readonly datetimeFormat?: string | undefined;
  readonly groups: readonly string[];
  /** `On` only together with `otpSecret`. Production changes `Off` to `Required` for all users but store staff. */
  readonly secondFactor: SecondFactorStatus;
  /** Only for seeded users; other users set it with the link in the invitation email. */
  readonly password?: string | undefined;
  /** Generated at random: the block list is not checked. */
  readonly passwordIsRandom?: boolean | undefined;
  readonly userId?: string | undefined;
  /** Base32 of 20 bytes; one-time passwords are then set up. */
  readonly otpSecret?: string | undefined;
};

/** The members of a user that an update can change. */
export type UserProfile = Pick<
  User,
  | 'email'
  | 'givenName'
  | 'familyName'
  | 'phoneNumber'
  | 'address'
  | 'locale'
  | 'zoneinfo'
  | 'datetimeFormat'
  | 'groups'
>;

export type UserBeforeAndAfter = { readonly before?: User; readonly after: User };

/** More work in the same transaction; an error in it rolls the change back. */
export type TransactionHook = (trx: Queries, change: UserBeforeAndAfter) => Promise<void>;

/** What the caller adds to a change of a user: a permission check and more work in the transaction. */
export type UserChangeHooks = {
  /** Runs first, with the locked user; throws if the caller may not change the user. */
  check?(user: User): void;
  readonly inTransaction?: TransactionHook;
};

/** Where the credentials come from; only on a page can the second factor follow later. */
export type SignInKind = 'page' | 'password-grant' | 'device';

export type SignInAttempt = {
  readonly organizationId: string;
  readonly username: string;
  readonly password: string;
  /** Six digits, or a recovery code. */
  readonly otp?: string | undefined;
  readonly origin: AttemptOrigin;
  readonly kind: SignInKind;
};

export type SignedIn = {
  readonly ok: true;
  readonly user: User;
  readonly methods: readonly AuthenticationMethod[];
  /** Epoch milliseconds: before the user was last read. */
  readonly provenAt: number;
  /**
   * The password was right, but a step is missing; only on pages. `enrolment`: the user must first
   * set up a second factor. `passkey`: the user has a passkey and entered no code.
   */
  readonly needs?: 'enrolment' | 'passkey';
};

/** The same for an unknown name, a wrong password, a wrong code, a locked user and a disabled user. */
export type NotSignedIn = { readonly ok: false; readonly retryAfterSeconds?: number };

/** What a sign-in record is about; `passkey` and `enrolment` follow the password. */
export type SignInRecordKind = SignInKind | 'passkey' | 'enrolment';

/** Only for the sign-in history: the response never contains it. */
export type SignInOutcome =
  | 'Success'
  | 'EnrolmentNeeded'
  | 'PasskeyNeeded'
  | 'UnknownUser'
  | 'Disabled'
  | 'NoPassword'
  | 'WrongPassword'
  | 'MissingCode'
  | 'WrongCode'
  | 'WrongPasskey'
  | 'Locked';

/** `activate`: set the first password. `reset`: set a new password. `email`: confirm a new address. */
export type EmailLinkPurpose = 'activate' | 'reset' | 'email';
