// The interface of onboarding: the sign-up of an organisation and the activation of its first user.
import type { FastifyInstance } from 'fastify';
import type { Identity } from '../identity/index.ts';
import { createConfirmationEmails } from './confirmation-email.ts';
import { createDecisionJobs, type DecisionJobDependencies } from './decision-jobs.ts';
import { createSignUpDeletion } from './delete-expired-sign-ups.ts';
import { registerActivationRoutes, registerSignUpRoutes } from './routes.ts';
import { createSignUps, type SignUpsDependencies } from './sign-ups.ts';
import { createUserActivations } from './user-activation.ts';

export { createCommandLineApplication } from './command-line-application.ts';

/** Identity serves the sign-up pages; onboarding processes the form. */
export type OnboardingDependencies = DecisionJobDependencies & {
  readonly log: SignUpsDependencies['log'];
  readonly identity: Pick<Identity, 'registerSignUpPages'>;
};

/** @example registerOnboarding(http.app, { database, identity, provisioning, audit, jobs, mail, clock, ids }); */
export function registerOnboarding(app: FastifyInstance, deps: OnboardingDependencies): void {
  const decisionJobs = createDecisionJobs(deps);
  const confirmationEmails = createConfirmationEmails(deps);
  const deletion = createSignUpDeletion(deps);
  const signUps = createSignUps({ ...deps, decisionJobs, confirmationEmails, deletion });
  registerSignUpRoutes(app, signUps);
  deps.identity.registerSignUpPages(app, signUps.submit);
  registerActivationRoutes(app, createUserActivations(deps.identity));
}
