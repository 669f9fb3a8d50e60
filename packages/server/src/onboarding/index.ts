// The door of onboarding: how an organisation comes onto the platform, and its first user in.
import type { FastifyInstance } from 'fastify';
import type { Identity } from '../identity/index.ts';
import { createActivations } from './activations.ts';
import { type ApprovalDeps, createApproval } from './approval.ts';
import { createForgetting } from './forgetting.ts';
import { createReceipts } from './receipt.ts';
import { registerActivationRoutes, registerSignUpRoutes } from './routes.ts';
import { createSignUps, type SignUpsDeps } from './sign-ups.ts';

export { openConsole } from './console.ts';

/** The pages are identity's, which has the furniture; what becomes of their form is decided here. */
export type OnboardingDeps = ApprovalDeps & {
  readonly log: SignUpsDeps['log'];
  readonly identity: Pick<Identity, 'registerSignUpPages'>;
};

/** @example registerOnboarding(http.app, { database, identity, provisioning, audit, jobs, mail, clock, ids }); */
export function registerOnboarding(app: FastifyInstance, deps: OnboardingDeps): void {
  const approval = createApproval(deps);
  const receipts = createReceipts(deps);
  const forgetting = createForgetting(deps);
  const signUps = createSignUps({ ...deps, approval, receipts, forgetting });
  registerSignUpRoutes(app, signUps);
  deps.identity.registerSignUpPages(app, signUps.take);
  registerActivationRoutes(app, createActivations(deps.identity));
}
