// Sets up one-time passwords: show a secret, confirm it with a code, return ten recovery codes.
import { type Clock, type Database, hourMs } from '../../../platform/index.ts';
import type { EmailOutbox } from '../emails/email-outbox.ts';
import type { SignInHistory } from '../sign-in-attempts/sign-in-history.ts';
import type { AttemptOrigin, EndSessions, User } from '../types.ts';
import type { UserStore } from '../users/user-sql.ts';
import type { OneTimePasswords } from './one-time-passwords.ts';
import {
  confirmPendingSecret,
  createSecondFactorStore,
  enableSecondFactor,
  lockUserForSetUp,
  replaceRecoveryCodes,
  type SetUpConditions,
} from './second-factor-sql.ts';

/** A secret that is not confirmed in this time is no longer valid. */
const pendingSecretLifetimeMs = hourMs;

export type OtpEnrolment = ReturnType<typeof createOtpEnrolment>;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly users: UserStore;
  readonly oneTimePasswords: OneTimePasswords;
  readonly signInHistory: SignInHistory;
  readonly outbox: EmailOutbox;
  invalidateUser(organizationId: string, userId: string): void;
  endSessions: EndSessions;
};

export function createOtpEnrolment(deps: Deps) {
  const { database, clock, users, oneTimePasswords, signInHistory, outbox } = deps;
  const store = createSecondFactorStore(database);

  const describeSecret = async (user: User, secret: Buffer) => {
    const domain = await users.findUserDomainId(user.organizationId);
    return {
      secret: oneTimePasswords.toBase32(secret),
      uri: oneTimePasswords.toOtpauthUri(
        secret,
        `Switchyard ${domain ?? ''}`.trim(),
        user.username,
      ),
    };
  };

  return {
    /**
     * Each call creates a new secret, so that an attacker cannot show a user a secret that the attacker knows.
     * Only the same sign-in gets the same secret again when its page is reloaded.
     */
    async begin(user: User, signInId?: string): Promise<{ secret: string; uri: string }> {
      const now = clock.now();
      if (signInId !== undefined) {
        const pending = await store.findPendingSecret(user, now - pendingSecretLifetimeMs);
        if (pending?.signInId === signInId) {
          return describeSecret(user, oneTimePasswords.openSecret(pending.sealedSecret, user));
        }
      }
      const secret = oneTimePasswords.newSecret();
      await store.savePendingSecret(
        user,
        { sealedSecret: oneTimePasswords.sealSecret(secret, user), signInId },
        now,
      );
      return describeSecret(user, secret);
    },

    /**
     * Returns the recovery codes; no later call returns them. Signs all sessions out that began without the
     * second factor, except the current one. Undefined if the code is wrong, no set-up began, or the
     * authentication for the set-up was revoked since `since` (default: since the secret was created).
     */
    async confirm(
      user: User,
      code: string,
      origin: AttemptOrigin,
      setUpConditions: Partial<SetUpConditions> = {},
    ): Promise<{ recoveryCodes: string[] } | undefined> {
      const now = clock.now();
      const pending = await store.findPendingSecret(user, now - pendingSecretLifetimeMs);
      const step =
        pending === undefined
          ? undefined
          : oneTimePasswords.findMatchingStep(
              oneTimePasswords.openSecret(pending.sealedSecret, user),
              code,
              now,
            );
      const recoveryCodes = oneTimePasswords.newRecoveryCodes();
      const result =
        pending === undefined || step === undefined
          ? 'wrong'
          : await database.transaction(async (trx) => {
              const conditions = { since: pending.startedAt, ...setUpConditions };
              if (!(await lockUserForSetUp(trx, user, conditions))) return 'revoked';
              if (!(await confirmPendingSecret(trx, user, pending.sealedSecret, step, now)))
                return 'wrong';
              const hashes = recoveryCodes.map((recoveryCode) =>
                oneTimePasswords.hashRecoveryCode(recoveryCode, user),
              );
              await replaceRecoveryCodes(trx, user, hashes, now);
              await enableSecondFactor(trx, user, now);
              await outbox.enqueueNotice(trx, user, 'second-factor-set');
              return 'confirmed';
            });
      if (result !== 'revoked') {
        await signInHistory.record({
          organizationId: user.organizationId,
          userId: user.userId,
          kind: 'enrolment',
          outcome: result === 'confirmed' ? 'Success' : 'WrongCode',
          methods: result === 'confirmed' ? ['otp'] : [],
          origin,
        });
      }
      // Another process may have revoked it: do not use the cached user any more.
      if (result !== 'wrong') deps.invalidateUser(user.organizationId, user.userId);
      if (result !== 'confirmed') return undefined;
      outbox.wakeJobs();
      await deps.endSessions(
        user.organizationId,
        user.userId,
        setUpConditions.currentSessionId,
        true,
      );
      return { recoveryCodes };
    },

    async renewRecoveryCodes(user: User): Promise<string[]> {
      const codes = oneTimePasswords.newRecoveryCodes();
      const hashes = codes.map((code) => oneTimePasswords.hashRecoveryCode(code, user));
      await database.transaction((trx) => replaceRecoveryCodes(trx, user, hashes, clock.now()));
      return codes;
    },
  };
}
