// Sets up one-time passwords: a secret to scan, a code that proves it arrived, ten codes for a lost phone.
import type { Clock, Database } from '../../../platform/index.ts';
import type { Post } from '../emails/email-outbox.ts';
import type { SignIns } from '../sign-in-attempts/sign-in-history.ts';
import type { EndSessions, Origin, User } from '../types.ts';
import type { UserStore } from '../users/user-sql.ts';
import type { OneTimePasswords } from './one-time-passwords.ts';
import {
  confirmSecret,
  createFactorStore,
  holdSettingUp,
  replaceRecoveryCodes,
  type SetUp,
  turnFactorOn,
} from './second-factor-sql.ts';

/** A secret that was shown and never confirmed is forgotten. */
const pendingMs = 3_600_000;

export type Enrolment = ReturnType<typeof createEnrolment>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly users: UserStore;
  readonly oneTimePasswords: OneTimePasswords;
  readonly signIns: SignIns;
  readonly post: Post;
  changed(organizationId: string, userId: string): void;
  endSessions: EndSessions;
};

export function createEnrolment(deps: Deps) {
  const { database, clock, users, oneTimePasswords, signIns, post } = deps;
  const store = createFactorStore(database);

  const shown = async (user: User, secret: Buffer) => {
    const domain = await users.domainOf(user.organizationId);
    return {
      secret: oneTimePasswords.textOf(secret),
      uri: oneTimePasswords.uriOf(secret, `Switchyard ${domain ?? ''}`.trim(), user.username),
    };
  };

  return {
    /**
     * Each call makes a new secret, so that nobody can show a user one that he keeps himself; only
     * the same sign-in, loaded again, sees its own once more.
     */
    async begin(user: User, signIn?: string): Promise<{ secret: string; uri: string }> {
      const at = clock.now();
      if (signIn !== undefined) {
        const pending = await store.pending(user, at - pendingMs);
        if (pending?.signIn === signIn) {
          return shown(user, oneTimePasswords.open(pending.sealed, user));
        }
      }
      const secret = oneTimePasswords.newSecret();
      await store.begin(user, { sealed: oneTimePasswords.seal(secret, user), signIn }, at);
      return shown(user, secret);
    },

    /**
     * The codes are shown this once. Whoever came in before, with less than is asked for from now on, is
     * signed out; but not the session that sets it up. Undefined: the code is wrong, nothing was begun, or what
     * let the user begin was ended since (left out of `upon`: since the secret was made).
     */
    async confirm(
      user: User,
      code: string,
      origin: Origin,
      upon: Partial<SetUp> = {},
    ): Promise<{ recoveryCodes: string[] } | undefined> {
      const at = clock.now();
      const pending = await store.pending(user, at - pendingMs);
      const step =
        pending === undefined
          ? undefined
          : oneTimePasswords.stepOf(oneTimePasswords.open(pending.sealed, user), code, at);
      const recoveryCodes = oneTimePasswords.newRecoveryCodes();
      const end =
        pending === undefined || step === undefined
          ? 'wrong'
          : await database.transaction(async (trx) => {
              const since = { since: pending.at, ...upon };
              if (!(await holdSettingUp(trx, user, since))) return 'over';
              if (!(await confirmSecret(trx, user, pending.sealed, step, at))) return 'wrong';
              const hashes = recoveryCodes.map((each) => oneTimePasswords.recoveryHash(each, user));
              await replaceRecoveryCodes(trx, user, hashes, at);
              await turnFactorOn(trx, user, at);
              await post.notice(trx, user, 'second-factor-set');
              return 'set';
            });
      if (end !== 'over') {
        await signIns.record({
          organizationId: user.organizationId,
          userId: user.userId,
          kind: 'enrolment',
          outcome: end === 'set' ? 'Success' : 'WrongCode',
          methods: end === 'set' ? ['otp'] : [],
          origin,
        });
      }
      // Where it was ended by another process, this one does not go on by what it remembers of the user.
      if (end !== 'wrong') deps.changed(user.organizationId, user.userId);
      if (end !== 'set') return undefined;
      post.poke();
      await deps.endSessions(user.organizationId, user.userId, upon.keptSessionId, true);
      return { recoveryCodes };
    },

    async renewRecoveryCodes(user: User): Promise<string[]> {
      const codes = oneTimePasswords.newRecoveryCodes();
      const hashes = codes.map((code) => oneTimePasswords.recoveryHash(code, user));
      await database.transaction((trx) => replaceRecoveryCodes(trx, user, hashes, clock.now()));
      return codes;
    },
  };
}
