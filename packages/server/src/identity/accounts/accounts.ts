// What accounts can do, as the rest of identity sees it.
import type { Status } from '../types.ts';
import type { Enrolment } from './enrolment.ts';
import type { Links } from './links.ts';
import type { Passkeys } from './passkeys.ts';
import type { PasswordFault } from './rules.ts';
import type { SignIns } from './sign-ins.ts';
import type { Attempt, NewUser, NotSignedIn, SignedIn, User } from './types.ts';

export type Accounts = {
  /** Rejects with a Refusal `already_exists` or `field_invalid`. */
  create(user: NewUser): Promise<User>;
  /** Up to 5 seconds old where another process made a change. */
  find(organizationId: string, userId: string): Promise<User | undefined>;
  findByName(organizationId: string, username: string): Promise<User | undefined>;
  /** Disabled: sessions and refresh families end at once, tokens within a minute. */
  setStatus(organizationId: string, userId: string, status: Status): Promise<void>;
  /** Ends sessions and refresh families. Rejects with `field_invalid` where the policy refuses it. */
  setPassword(organizationId: string, userId: string, password: string): Promise<void>;
  /** Undefined: it may be used. The block list is loaded by the first who asks. */
  passwordFault(
    password: string,
    user: User,
    hasSecondFactor: boolean,
  ): Promise<PasswordFault | undefined>;
  /**
   * The one door for secrets. The answer and its timing are alike for an unknown user, a wrong
   * password, a wrong code and a lock. Rejects with `overloaded` when too many ask at once.
   */
  authenticate(attempt: Attempt): Promise<SignedIn | NotSignedIn>;
  readonly beginOtp: Enrolment['begin'];
  readonly confirmOtp: Enrolment['confirm'];
  readonly renewRecoveryCodes: Enrolment['renewRecoveryCodes'];
  readonly passkeys: Passkeys;
  readonly links: Links;
  readonly signIns: SignIns;
  /** Deletes at most `limit` rows of each kind that nobody needs any more; tells how many went. */
  deleteExpired(at: number, limit: number): Promise<number>;
  close(): Promise<void>;
};
