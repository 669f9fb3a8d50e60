// Remembers what somebody has proven so far, between two pages of one sign-in: in this browser alone.
import { createHmac } from 'node:crypto';
import type { Clock } from '../../platform/index.ts';
import type { Accounts, Method, User } from '../accounts/index.ts';
import type { OidcEntityStore } from '../infrastructure/oidc-entity-sql.ts';
import { loginStepModel } from '../sessions/sessions.ts';
import { isUserSessionValid } from '../tokens/user-session-validity.ts';
import { PageFault } from './faults.ts';

/**
 * `enrol`: to set up one-time codes. `save`: has recovery codes on the screen. `passkey`: to use
 * one. `confirmed`: has just typed the password again.
 */
export type StepName = 'enrol' | 'save' | 'passkey' | 'confirmed';

export type Step = {
  readonly name: StepName;
  readonly userId: string;
  readonly methods: readonly Method[];
  /** Epoch milliseconds; a user who was stopped since then goes no further. */
  readonly since: number;
};

/** Long enough to install an application on a phone. */
export const stepSeconds = 900;

/** The organisation, the browser, and the flow or session in it. */
export type StepPlace = {
  readonly organizationId: string;
  readonly browser: string;
  readonly place: string;
};

export type Steps = ReturnType<typeof createSteps>;

type Deps = {
  readonly entities: OidcEntityStore;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly clock: Clock;
  readonly key: Buffer;
};

export function createSteps({ entities, accounts, clock, key }: Deps) {
  // A copy of the database leads nobody back into a sign-in.
  const idOf = ({ browser, place }: StepPlace): string =>
    createHmac('sha256', key).update(`${browser}\n${place}`).digest('base64url');

  async function find(at: StepPlace): Promise<Step | undefined> {
    const found = await entities.find(at.organizationId, loginStepModel, idOf(at), clock.now());
    return found === undefined || found.consumedAt !== undefined
      ? undefined
      : (found.payload as Step);
  }

  return {
    find,

    /** Says nothing of the browser, and is the same as long as the step stands. */
    nameOf: idOf,

    /** @throws PageFault where the user was stopped, or the password changed, meanwhile */
    async demandUser({ organizationId }: StepPlace, { userId, since }: Step): Promise<User> {
      const user = await accounts.find(organizationId, userId);
      if (!isUserSessionValid(user, since)) throw new PageFault('stale');
      return user;
    },

    /**
     * `provenAt`: of what leads to this step, epoch milliseconds.
     * @throws PageFault where that was ended meanwhile
     */
    async put(at: StepPlace, step: Step, provenAt: number, seconds = stepSeconds): Promise<void> {
      const now = clock.now();
      const entity = {
        model: loginStepModel,
        entityId: idOf(at),
        payload: step,
        accountId: step.userId,
        provenAt,
      };
      const expiresAt = now + seconds * 1000;
      const isKept = await entities.upsert(at.organizationId, { ...entity, expiresAt }, now);
      if (!isKept) throw new PageFault('stale');
    },

    /** For exactly one of any number of requests: what it stands for happens once. */
    async take(at: StepPlace): Promise<Step | undefined> {
      const step = await find(at);
      if (step === undefined) return undefined;
      if (!(await entities.consume(at.organizationId, loginStepModel, idOf(at), clock.now()))) {
        return undefined;
      }
      await entities.delete(at.organizationId, loginStepModel, idOf(at));
      return step;
    },
  };
}
