// The HTTP routes of onboarding, version 1.
import {
  SignUp,
  SignUpInput,
  SignUpReceipt,
  signUpFilters,
  UserActivation,
  UserActivationCode,
  UserActivationInput,
  UserRecoveryCodes,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { registerResourceRoutes, route } from '../http/index.ts';
import type { SignUps } from './sign-ups.ts';
import type { UserActivations } from './user-activation.ts';

const signUpsPath = '/onboarding/v1/sign-ups';
const activationPath = '/onboarding/v1/activations/:token';
const tags = ['Onboarding'] as const;

const signUpIdentifiers = {
  signUpId: Type.String({ maxLength: 64, description: 'The identifier of the sign-up.' }),
};
const tokenParams = Type.Object({
  token: Type.String({ maxLength: 128, description: 'The last part of the link in the email.' }),
});

function registerDecision(
  app: FastifyInstance,
  signUps: SignUps,
  decision: 'approve' | 'reject',
  description: string,
): void {
  route(app, {
    method: 'POST',
    url: `${signUpsPath}/:signUpId/${decision}`,
    operationId: `${decision}SignUp`,
    summary: decision === 'approve' ? 'Approve a sign-up' : 'Reject a sign-up',
    description,
    tags,
    permission: 'onb.approve',
    params: Type.Object(signUpIdentifiers),
    response: { 202: SignUp },
    errors: ['resource_not_found', 'concurrent_modification'],
    async handler(request, reply) {
      const { signUpId } = request.params;
      return reply.code(202).send(await signUps.decide(request, signUpId, decision));
    },
  });
}

export function registerSignUpRoutes(app: FastifyInstance, signUps: SignUps): void {
  route(app, {
    method: 'POST',
    url: signUpsPath,
    operationId: 'createSignUp',
    summary: 'Create a sign-up',
    description:
      'The response is the same whether the email address is known or not. An email confirms the sign-up.',
    tags,
    permission: 'public',
    rateLimit: 'signUps',
    body: SignUpInput,
    response: { 202: SignUpReceipt },
    errors: [],
    async handler({ body }, reply) {
      await signUps.submit(body);
      return reply.code(202).send({ status: 'Received' as const });
    },
  });

  registerResourceRoutes(app, {
    path: signUpsPath,
    singular: 'SignUp',
    plural: 'SignUps',
    tags,
    readPermission: 'onb.approve',
    identifiers: signUpIdentifiers,
    view: SignUp,
    notFoundCode: 'resource_not_found',
    scope: ({ caller }) => caller,
    list: {
      summary: 'List the sign-ups',
      description:
        'For the operator of the platform. For every other organisation the list is empty.',
      filters: signUpFilters,
      run: (caller, { status }, page) => signUps.list(caller, status, page),
    },
    get: {
      summary: 'Get a sign-up',
      run: async (caller, id) => ({ view: await signUps.get(caller, id) }),
    },
  });

  registerDecision(
    app,
    signUps,
    'approve',
    'Creates the organisation, its user domain and its first user as Administrator, and sends the user an email with the activation link.',
  );
  registerDecision(app, signUps, 'reject', 'Sends the applicant an email about the rejection.');
}

export function registerActivationRoutes(app: FastifyInstance, activations: UserActivations): void {
  route(app, {
    method: 'POST',
    url: activationPath,
    operationId: 'activateUser',
    summary: 'Activate a user with the first password',
    description:
      'Uses the link from the email up. If a second factor is required, the response contains its secret.',
    tags,
    permission: 'public',
    params: tokenParams,
    body: UserActivationInput,
    response: { 200: UserActivation },
    errors: ['resource_not_found'],
    async handler({ params, body }, reply) {
      reply.header('cache-control', 'no-store');
      return activations.activate(params.token, body.password);
    },
  });

  route(app, {
    method: 'POST',
    url: `${activationPath}/otp`,
    operationId: 'confirmUserSecondFactor',
    summary: 'Confirm the second factor of a user',
    description:
      'Accepts a code of the secret that the activation returned, within one hour after it.',
    tags,
    permission: 'public',
    params: tokenParams,
    body: UserActivationCode,
    response: { 200: UserRecoveryCodes },
    errors: ['resource_not_found'],
    async handler({ params, body, ip, id, headers }, reply) {
      reply.header('cache-control', 'no-store');
      const origin = { address: ip, userAgent: headers['user-agent'], requestId: id };
      return { recoveryCodes: await activations.confirm(params.token, body.code, origin) };
    },
  });
}
