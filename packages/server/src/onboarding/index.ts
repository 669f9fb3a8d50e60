// The door of onboarding: how an organisation comes onto the platform, and its first user in.
import type { FastifyInstance } from 'fastify';
import type { Identity } from '../identity/index.ts';
import { createReceipts } from './confirmation-email.ts';
import { type ApprovalDeps, createApproval } from './decision-jobs.ts';
import { createForgetting } from './delete-expired-sign-ups.ts';
import { registerActivationRoutes, registerSignUpRoutes } from './routes.ts';
import { createSignUps, type SignUpsDeps } from './sign-ups.ts';
import { createActivations } from './user-activation.ts';

export { openConsole } from './command-line-application.ts';

/** The pages are identity's, which has the furniture; what becomes of their form is decided here. */
export type OnboardingDeps = ApprovalDeps & {
  readonly log: SignUpsDeps['log'];
  readonly identity: Pick<Identity, 'registerFront'>;
};

/** @example registerOnboarding(http.app, { database, identity, provisioning, audit, jobs, mail, clock, ids }); */
export function registerOnboarding(app: FastifyInstance, deps: OnboardingDeps): void {
  const approval = createApproval(deps);
  const receipts = createReceipts(deps);
  const forgetting = createForgetting(deps);
  const signUps = createSignUps({ ...deps, approval, receipts, forgetting });
  registerSignUpRoutes(app, signUps);
  deps.identity.registerFront(app, signUps.take);
  registerActivationRoutes(app, createActivations(deps.identity));
}
