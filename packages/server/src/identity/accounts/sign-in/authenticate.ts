// Authenticates a user by password and second factor: every failure has the same response and the same work.
import type { Clock, Ids } from '../../../platform/index.ts';
import type { PasswordHasher } from '../passwords/password-hashing.ts';
import { findLengthViolation } from '../passwords/rules.ts';
import type { OneTimePasswords } from '../second-factors/one-time-passwords.ts';
import type { AttemptLimiter } from '../sign-in-attempts/attempts-per-ip-address.ts';
import type {
  AttemptOrigin,
  AuthenticationMethod,
  NotSignedIn,
  SignedIn,
  SignInAttempt,
  SignInKind,
  SignInOutcome,
  User,
} from '../types.ts';
import { effectiveSecondFactor, toUsernameKey } from '../users/username-and-group-rules.ts';
import type { AuthenticationStore, Credentials, FactorProof } from './authenticate-sql.ts';

type Deps = {
  readonly store: AuthenticationStore;
  readonly passwordHasher: PasswordHasher;
  readonly oneTimePasswords: OneTimePasswords;
  readonly attemptLimiter: AttemptLimiter;
  readonly environment: string;
  readonly clock: Clock;
  readonly ids: Ids;
};

/** The proof that the database must still check, and the outcome for each result. */
type Decision = {
  readonly proof: FactorProof;
  readonly outcomeIfProven: SignInOutcome;
  readonly outcomeOtherwise: SignInOutcome;
  readonly methods: readonly AuthenticationMethod[];
  readonly needs?: 'enrolment' | 'passkey';
};

/** No user has this name, and the query for it costs as much as for any other name. */
const unknownUserKey = '';

function rejection(outcome: SignInOutcome): Decision {
  return {
    proof: { kind: 'wrong' },
    outcomeIfProven: 'Success',
    outcomeOtherwise: outcome,
    methods: [],
  };
}

export function createAuthentication(deps: Deps) {
  const { store, passwordHasher, oneTimePasswords, attemptLimiter, environment, clock, ids } = deps;

  /** Runs for every attempt, also if the result is known already, so that the timing is equal. */
  function checkCode(otp: string, credentials: Credentials | undefined, now: number): FactorProof {
    const owner = credentials?.user ?? { organizationId: '', userId: '' };
    const sealedSecret = credentials?.sealedOtpSecret;
    const secret =
      sealedSecret === undefined ? undefined : oneTimePasswords.openSecret(sealedSecret, owner);
    const step = oneTimePasswords.findMatchingStep(secret, otp, now);
    const codeHash = oneTimePasswords.hashRecoveryCode(otp, owner);
    if (step !== undefined) return { kind: 'otp', step };
    return oneTimePasswords.isRecoveryCode(otp)
      ? { kind: 'recovery', codeHash }
      : { kind: 'wrong' };
  }

  function decideSecondFactor(
    credentials: Credentials,
    otp: string,
    codeProof: FactorProof,
    kind: SignInKind,
  ): Decision {
    const factor = effectiveSecondFactor(environment, credentials.user);
    const isOnPage = kind === 'page';
    if (factor === 'Off') {
      return {
        proof: { kind: 'proven' },
        outcomeIfProven: 'Success',
        outcomeOtherwise: 'WrongPassword',
        methods: ['pwd'],
      };
    }
    if (factor === 'Required') {
      if (!isOnPage) return rejection('EnrolmentNeeded');
      const enrolment = { needs: 'enrolment', outcomeIfProven: 'EnrolmentNeeded' } as const;
      return {
        proof: { kind: 'password-only' },
        outcomeOtherwise: 'WrongPassword',
        methods: ['pwd'],
        ...enrolment,
      };
    }
    if (otp === '') {
      if (!isOnPage || !credentials.hasPasskey) return rejection('MissingCode');
      const passkey = { needs: 'passkey', outcomeIfProven: 'PasskeyNeeded' } as const;
      return {
        proof: { kind: 'password-only' },
        outcomeOtherwise: 'WrongPassword',
        methods: ['pwd'],
        ...passkey,
      };
    }
    const second: AuthenticationMethod = codeProof.kind === 'recovery' ? 'rc' : 'otp';
    return {
      proof: codeProof,
      outcomeIfProven: 'Success',
      outcomeOtherwise: 'WrongCode',
      methods: ['pwd', second],
    };
  }

  function decide(
    credentials: Credentials | undefined,
    isPasswordRight: boolean,
    { otp = '', kind }: SignInAttempt,
    now: number,
  ): Decision {
    const codeProof = checkCode(otp, credentials, now);
    if (credentials === undefined) return rejection('UnknownUser');
    if (credentials.passwordHash === undefined) return rejection('NoPassword');
    if (!isPasswordRight) return rejection('WrongPassword');
    if (credentials.user.status !== 'Enabled') return rejection('Disabled');
    // Otherwise a code would be used up without effect.
    if (credentials.lockedUntil !== undefined && credentials.lockedUntil > now)
      return rejection('Locked');
    return decideSecondFactor(credentials, otp, codeProof, kind);
  }

  async function checkAttempt(attempt: SignInAttempt): Promise<SignedIn | NotSignedIn> {
    const { organizationId, password, origin, kind } = attempt;
    const key = toUsernameKey(attempt.username) ?? unknownUserKey;
    const credentials = await store.findCredentials(organizationId, key, origin.source);
    // A password that is too long cannot be right, so it is not hashed in full length.
    const isTooLong = findLengthViolation(password, false) === 'too_long';
    const matches = await passwordHasher.verify(
      credentials?.passwordHash,
      isTooLong ? '' : password,
    );
    const now = clock.now();
    const decision = decide(credentials, matches && !isTooLong, attempt, now);
    const outcome = await store.recordAttempt({
      organizationId,
      recordId: ids.uuid(),
      attemptedAt: now,
      userId: credentials?.user.userId ?? ids.uuidV4(),
      isKnown: credentials !== undefined,
      passwordHash: credentials?.passwordHash,
      proof: decision.proof,
      outcomeIfProven: decision.outcomeIfProven,
      outcomeOtherwise: decision.outcomeOtherwise,
      methodsIfProven: decision.methods,
      methodsOtherwise: matches && !isTooLong ? ['pwd'] : [],
      kind,
      origin,
    });
    if (credentials === undefined || outcome !== decision.outcomeIfProven) return { ok: false };
    await upgradeHash(credentials, password);
    const { needs, methods } = decision;
    const signedIn = { ok: true, user: credentials.user, methods, provenAt: now } as const;
    return needs === undefined ? signedIn : { ...signedIn, needs };
  }

  async function upgradeHash({ user, passwordHash }: Credentials, password: string): Promise<void> {
    if (passwordHash === undefined || !passwordHasher.isOutdated(passwordHash)) return;
    await store.replaceHash(user, passwordHash, await passwordHasher.hash(password));
  }

  /** The second step of a sign-in after a right password. */
  async function completeWithPasskey(
    user: User,
    isProven: boolean,
    origin: AttemptOrigin,
  ): Promise<boolean> {
    const credentials = await store.findCredentials(
      user.organizationId,
      toUsernameKey(user.username) ?? '',
      origin.source,
    );
    const outcome = await store.recordAttempt({
      organizationId: user.organizationId,
      recordId: ids.uuid(),
      attemptedAt: clock.now(),
      userId: user.userId,
      isKnown: true,
      passwordHash: credentials?.passwordHash,
      proof: { kind: isProven ? 'proven' : 'wrong' },
      outcomeIfProven: 'Success',
      outcomeOtherwise: 'WrongPasskey',
      methodsIfProven: ['pwd', 'hwk'],
      methodsOtherwise: ['pwd'],
      kind: 'passkey',
      origin,
    });
    return outcome === 'Success';
  }

  return {
    completeWithPasskey,

    async authenticate(attempt: SignInAttempt): Promise<SignedIn | NotSignedIn> {
      const retryAfterSeconds = attemptLimiter.countAttempt(attempt.origin.address);
      if (retryAfterSeconds !== undefined) return { ok: false, retryAfterSeconds };
      // Neither a success nor an overload counts as a failed attempt.
      let isFailure = false;
      try {
        const result = await checkAttempt(attempt);
        isFailure = !result.ok;
        return result;
      } finally {
        if (!isFailure) attemptLimiter.uncountAttempt(attempt.origin.address);
      }
    },
  };
}
