// Stores which steps of a sign-in a user has completed, between two pages and only for one browser.
import { createHmac } from 'node:crypto';
import type { Clock } from '../../../platform/index.ts';
import type { Accounts, AuthenticationMethod, User } from '../../accounts/index.ts';
import type { OidcEntityStore } from '../../infrastructure/oidc-entity-sql.ts';
import { loginStepModel as model } from '../../sessions/sessions.ts';
import { isUserSessionValid } from '../../tokens/user-session-validity.ts';
import { PageError } from '../html/page-errors.ts';

/**
 * `set-up-codes`: the user sets up one-time codes. `save-recovery-codes`: the page shows recovery codes.
 * `use-passkey`: the user must use a passkey. `password-confirmed`: the user has entered the password again.
 */
export type SignInStepName =
  | 'set-up-codes'
  | 'save-recovery-codes'
  | 'use-passkey'
  | 'password-confirmed';

export type PendingSignInStep = {
  readonly name: SignInStepName;
  readonly userId: string;
  readonly methods: readonly AuthenticationMethod[];
  /** Epoch milliseconds; the step is invalid if the user was disabled or signed out after this time. */
  readonly since: number;
};

/** Long enough to install an authenticator app. */
export const stepLifetimeSeconds = 900;

/** The organisation, the browser, and the flow or session in that browser. */
export type StepKey = {
  readonly organizationId: string;
  readonly browserId: string;
  readonly flowKey: string;
};

export type SignInSteps = ReturnType<typeof createSignInSteps>;

type Deps = {
  readonly entities: OidcEntityStore;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly clock: Clock;
  readonly key: Buffer;
};

export function createSignInSteps({ entities, accounts, clock, key }: Deps) {
  // The ID is an HMAC, so that a copy of the database does not allow to continue a sign-in.
  const idOf = ({ browserId, flowKey }: StepKey): string =>
    createHmac('sha256', key).update(`${browserId}\n${flowKey}`).digest('base64url');

  async function find(stepKey: StepKey): Promise<PendingSignInStep | undefined> {
    const entity = await entities.find(stepKey.organizationId, model, idOf(stepKey), clock.now());
    return entity === undefined || entity.consumedAt !== undefined
      ? undefined
      : (entity.payload as PendingSignInStep);
  }

  return {
    find,

    /** Does not reveal the browser ID, and stays the same for the whole step. */
    idOf,

    /** @throws PageError if the user was disabled or the password changed since the step began */
    async requireActiveUser(
      { organizationId }: StepKey,
      { userId, since }: PendingSignInStep,
    ): Promise<User> {
      const user = await accounts.find(organizationId, userId);
      if (!isUserSessionValid(user, since)) throw new PageError('signInExpired');
      return user;
    },

    /**
     * `provenAt`: when the user authenticated for this step, epoch milliseconds.
     * @throws PageError if that authentication was revoked since then
     */
    async save(
      stepKey: StepKey,
      step: PendingSignInStep,
      provenAt: number,
      seconds = stepLifetimeSeconds,
    ): Promise<void> {
      const now = clock.now();
      const entity = {
        model,
        entityId: idOf(stepKey),
        payload: step,
        accountId: step.userId,
        provenAt,
      };
      const expiresAt = now + seconds * 1000;
      const isSaved = await entities.upsert(stepKey.organizationId, { ...entity, expiresAt }, now);
      if (!isSaved) throw new PageError('signInExpired');
    },

    /** Of many concurrent requests exactly one gets the step, so that its effect happens once. */
    async consume(stepKey: StepKey): Promise<PendingSignInStep | undefined> {
      const step = await find(stepKey);
      if (step === undefined) return undefined;
      if (!(await entities.consume(stepKey.organizationId, model, idOf(stepKey), clock.now()))) {
        return undefined;
      }
      await entities.delete(stepKey.organizationId, model, idOf(stepKey));
      return step;
    },
  };
}
