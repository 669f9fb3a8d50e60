// The one door for passwords and codes: the same work and the same answer for everybody who is not let in.
import type { Clock, Ids } from '../../../platform/index.ts';
import type { Passwords } from '../passwords/password-hashing.ts';
import { passwordLengthFault } from '../passwords/rules.ts';
import type { OneTimePasswords } from '../second-factors/one-time-passwords.ts';
import type { Limiter } from '../sign-in-attempts/attempt-limits.ts';
import type {
  Attempt,
  Method,
  NotSignedIn,
  Origin,
  Outcome,
  SignedIn,
  SignInKind,
  User,
} from '../types.ts';
import { secondFactorNow, usernameKey } from '../users/rules.ts';
import type { Claim, Credentials, SignInStore } from './authenticate-sql.ts';

type Deps = {
  readonly store: SignInStore;
  readonly passwords: Passwords;
  readonly oneTimePasswords: OneTimePasswords;
  readonly limits: Limiter;
  readonly environment: string;
  readonly clock: Clock;
  readonly ids: Ids;
};

/** What is left to find out by the statement that settles it, and how the outcome is called then. */
type Verdict = {
  readonly claim: Claim;
  readonly ifProven: Outcome;
  readonly ifNot: Outcome;
  readonly methods: readonly Method[];
  readonly needs?: 'enrolment' | 'passkey';
};

/** Nobody has this name, and asking for it costs what any other does. */
const nobodysKey = '';

function failed(ifNot: Outcome): Verdict {
  return { claim: { is: 'wrong' }, ifProven: 'Success', ifNot, methods: [] };
}

export function createSignIn(deps: Deps) {
  const { store, passwords, oneTimePasswords, limits, environment, clock, ids } = deps;

  /** Looked at for everybody, also where the answer is known already. */
  function claimOf(otp: string, found: Credentials | undefined, at: number): Claim {
    const owner = found?.user ?? { organizationId: '', userId: '' };
    const sealed = found?.otpSealed;
    const secret = sealed === undefined ? undefined : oneTimePasswords.open(sealed, owner);
    const step = oneTimePasswords.stepOf(secret, otp, at);
    const codeHash = oneTimePasswords.recoveryHash(otp, owner);
    if (step !== undefined) return { is: 'otp', step };
    return oneTimePasswords.isRecoveryCode(otp) ? { is: 'recovery', codeHash } : { is: 'wrong' };
  }

  function judgeSecond(found: Credentials, otp: string, claim: Claim, kind: SignInKind): Verdict {
    const factor = secondFactorNow(environment, found.user);
    const onPage = kind === 'page';
    if (factor === 'Off') {
      return {
        claim: { is: 'proven' },
        ifProven: 'Success',
        ifNot: 'WrongPassword',
        methods: ['pwd'],
      };
    }
    if (factor === 'Required') {
      if (!onPage) return failed('EnrolmentNeeded');
      const enrolment = { needs: 'enrolment', ifProven: 'EnrolmentNeeded' } as const;
      return { claim: { is: 'half' }, ifNot: 'WrongPassword', methods: ['pwd'], ...enrolment };
    }
    if (otp === '') {
      if (!onPage || !found.hasPasskey) return failed('MissingCode');
      const passkey = { needs: 'passkey', ifProven: 'PasskeyNeeded' } as const;
      return { claim: { is: 'half' }, ifNot: 'WrongPassword', methods: ['pwd'], ...passkey };
    }
    const second: Method = claim.is === 'recovery' ? 'rc' : 'otp';
    return { claim, ifProven: 'Success', ifNot: 'WrongCode', methods: ['pwd', second] };
  }

  function judge(
    found: Credentials | undefined,
    isRight: boolean,
    { otp = '', kind }: Attempt,
    at: number,
  ): Verdict {
    const claim = claimOf(otp, found, at);
    if (found === undefined) return failed('UnknownUser');
    if (found.passwordHash === undefined) return failed('NoPassword');
    if (!isRight) return failed('WrongPassword');
    if (found.user.status !== 'Enabled') return failed('Disabled');
    // Or a code would be spent for nothing.
    if (found.lockedUntil !== undefined && found.lockedUntil > at) return failed('Locked');
    return judgeSecond(found, otp, claim, kind);
  }

  async function check(attempt: Attempt): Promise<SignedIn | NotSignedIn> {
    const { organizationId, password, origin, kind } = attempt;
    const key = usernameKey(attempt.username) ?? nobodysKey;
    const found = await store.credentialsOf(organizationId, key, origin.source);
    // What nobody could have set is not worth hashing as it is.
    const isTooLong = passwordLengthFault(password, false) === 'too_long';
    const fits = await passwords.verify(found?.passwordHash, isTooLong ? '' : password);
    const at = clock.now();
    const verdict = judge(found, fits && !isTooLong, attempt, at);
    const outcome = await store.settle({
      organizationId,
      recordId: ids.uuid(),
      at,
      userId: found?.user.userId ?? ids.uuidV4(),
      isKnown: found !== undefined,
      passwordHash: found?.passwordHash,
      claim: verdict.claim,
      ifProven: verdict.ifProven,
      ifNot: verdict.ifNot,
      methodsIfProven: verdict.methods,
      methodsIfNot: fits && !isTooLong ? ['pwd'] : [],
      kind,
      origin,
    });
    if (found === undefined || outcome !== verdict.ifProven) return { ok: false };
    await renewHash(found, password);
    const { needs, methods } = verdict;
    const proven = { ok: true, user: found.user, methods, provenAt: at } as const;
    return needs === undefined ? proven : { ...proven, needs };
  }

  async function renewHash({ user, passwordHash }: Credentials, password: string): Promise<void> {
    if (passwordHash === undefined || !passwords.isOutdated(passwordHash)) return;
    await store.rehash(user, passwordHash, await passwords.hash(password));
  }

  /** The other half of a sign-in whose password was right. */
  async function settlePasskey(user: User, isProven: boolean, origin: Origin): Promise<boolean> {
    const found = await store.credentialsOf(
      user.organizationId,
      usernameKey(user.username) ?? '',
      origin.source,
    );
    const outcome = await store.settle({
      organizationId: user.organizationId,
      recordId: ids.uuid(),
      at: clock.now(),
      userId: user.userId,
      isKnown: true,
      passwordHash: found?.passwordHash,
      claim: { is: isProven ? 'proven' : 'wrong' },
      ifProven: 'Success',
      ifNot: 'WrongPasskey',
      methodsIfProven: ['pwd', 'hwk'],
      methodsIfNot: ['pwd'],
      kind: 'passkey',
      origin,
    });
    return outcome === 'Success';
  }

  return {
    settlePasskey,

    async authenticate(attempt: Attempt): Promise<SignedIn | NotSignedIn> {
      const retryAfterSeconds = limits.begin(attempt.origin.address);
      if (retryAfterSeconds !== undefined) return { ok: false, retryAfterSeconds };
      // Neither a success nor a refusal for load is a failure of whoever asked.
      let isFailure = false;
      try {
        const answer = await check(attempt);
        isFailure = !answer.ok;
        return answer;
      } finally {
        if (!isFailure) limits.succeeded(attempt.origin.address);
      }
    },
  };
}
