// What accounts can do, as the rest of identity sees it.
import type { Enrolment } from './enrolment.ts';
import type { Links } from './links.ts';
import type { Passkeys } from './passkeys.ts';
import type { PasswordFault } from './rules.ts';
import type { SignIns } from './sign-ins.ts';
import type { Attempt, NewUser, NotSignedIn, SignedIn, User, Within } from './types.ts';
import type { Upkeep } from './upkeep.ts';

export type Accounts = {
  /** Rejects with a Refusal `already_exists` or `field_invalid`. */
  create(user: NewUser, within?: Within): Promise<User>;
  /** As `create`, and in the same commit the mail with the link to the first password. */
  invite(user: NewUser, within?: Within): Promise<User>;
  /** Up to 5 seconds old where another process made a change. */
  find(organizationId: string, userId: string): Promise<User | undefined>;
  findByName(organizationId: string, username: string): Promise<User | undefined>;
  readonly list: Upkeep['list'];
  readonly change: Upkeep['change'];
  readonly setStatus: Upkeep['setStatus'];
  readonly sendPasswordLink: Upkeep['sendPasswordLink'];
  readonly resetSecondFactor: Upkeep['resetSecondFactor'];
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
  /** Deletes at most `limit` rows of each kind that nobody needs any more; tells how many it found. */
  deleteExpired(at: number, limit: number): Promise<number>;
  close(): Promise<void>;
};
