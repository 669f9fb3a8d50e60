// The door of onboarding: how an organisation comes onto the platform, and its first user in.
import type { FastifyInstance } from 'fastify';
import { createActivations } from './activations.ts';
import { type ApprovalDeps, createApproval } from './approval.ts';
import { registerActivationRoutes, registerSignUpRoutes } from './routes.ts';
import { createSignUps } from './sign-ups.ts';

/** @example registerOnboarding(http.app, { database, identity, provisioning, audit, jobs, mail, clock, ids }); */
export function registerOnboarding(app: FastifyInstance, deps: ApprovalDeps): void {
  const approval = createApproval(deps);
  registerSignUpRoutes(app, createSignUps({ ...deps, approval }));
  registerActivationRoutes(app, createActivations(deps.identity));
}
