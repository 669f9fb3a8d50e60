// The nouns of accounts: the people of a user domain, and what they prove themselves with.
import type { Permission } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { EntityType, Status } from '../realms-and-keys/realm.ts';

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
  /** The address that takes the place of `email` once the link sent to it is followed. */
  readonly pendingEmail?: string | undefined;
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

/** All of a user, or all but one; sign-ins that are not over yet go too, unless they are to be kept. */
export type EndSessions = (
  organizationId: string,
  userId: string,
  exceptSessionId?: string,
  keepsUnfinished?: boolean,
) => Promise<void>;

/** Where an attempt comes from; for the limits and the audit. */
export type Origin = {
  readonly address: string;
  readonly userAgent?: string | undefined;
  readonly requestId?: string | undefined;
  readonly clientId?: string | undefined;
  /**
   * By which a browser, an application or a device is recognised that has signed in before: a secret of its
   * own or an identity that it has proved. It is kept as a hash.
   */
  readonly source?: string | undefined;
};

export type NewUser = {
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly username: string;
  readonly entityType: EntityType;
  readonly entityId: string;
  /** Left out: the entity itself. */
  readonly scopeEntityType?: EntityType | undefined;
  readonly scopeEntityId?: string | undefined;
  readonly email: string;
  readonly emailVerified?: boolean | undefined;
  readonly givenName?: string | undefined;
  readonly familyName?: string | undefined;
  readonly phoneNumber?: string | undefined;
  readonly address?: Address | undefined;
  readonly locale?: string | undefined;
  readonly zoneinfo?: string | undefined;
  readonly datetimeFormat?: string | undefined;
  readonly groups: readonly string[];
  /** `On` only together with `otpSecret`. Production raises `Off` to `Required` for all but store staff. */
  readonly secondFactor: SecondFactor;
  /** Seeded users have one from the start; others set it by the mailed link. */
  readonly password?: string | undefined;
  /** Made by a machine: no word list has to be asked. */
  readonly passwordIsRandom?: boolean | undefined;
  readonly userId?: string | undefined;
  /** Base32 of 20 bytes; the user is then enrolled. */
  readonly otpSecret?: string | undefined;
};

/** What can be given other values while the user lives. */
export type Profile = Pick<
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

export type UserChange = { readonly before?: User; readonly after: User };

/** What else belongs to the same commit; a refusal in it takes the change back. */
export type Within = (trx: Kysely<unknown>, change: UserChange) => Promise<void>;

/** What the one who asks adds to a change: his right to it, and what he does beside it. */
export type Upon = {
  /** Sees the user as nobody else can change it, before anything happens, and may refuse. */
  check?(standing: User): void;
  readonly within?: Within;
};

/** Where the secrets come in; only on a page can the missing half follow. */
export type SignInKind = 'page' | 'password-grant' | 'device';

export type Attempt = {
  readonly organizationId: string;
  readonly username: string;
  readonly password: string;
  /** Six digits, or a recovery code. */
  readonly otp?: string | undefined;
  readonly origin: Origin;
  readonly kind: SignInKind;
};

export type SignedIn = {
  readonly ok: true;
  readonly user: User;
  readonly methods: readonly Method[];
  /** Epoch milliseconds, of before the last look at the user. */
  readonly provenAt: number;
  /**
   * The password was right and it is not over: on pages alone. `enrolment`: a second factor must
   * be set up first. `passkey`: the user has one and typed no code.
   */
  readonly needs?: 'enrolment' | 'passkey';
};

/** Alike for an unknown name, a wrong password, a wrong code, a lock and a disabled user. */
export type NotSignedIn = { readonly ok: false; readonly retryAfterSeconds?: number };

/** What a record of a sign-in is about; `passkey` and `enrolment` come after the password. */
export type RecordKind = SignInKind | 'passkey' | 'enrolment';

/** For the audit alone: whoever asked hears none of it. */
export type Outcome =
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

/** `activate`: the first password. `reset`: a new one. `email`: a changed address. */
export type LinkPurpose = 'activate' | 'reset' | 'email';
