// The addresses of onboarding, version 1.
import {
  pageOf,
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
import { openPage, pageQuery, route, sealPage } from '../http/index.ts';
import { type SignUps, viewOf } from './sign-ups.ts';
import type { Activations } from './user-activation.ts';

const collection = '/onboarding/v1/sign-ups';
const activation = '/onboarding/v1/activations/:token';
const tags = ['Onboarding'] as const;
const listName = 'listSignUps';

const ofSignUp = Type.Object({
  signUpId: Type.String({ maxLength: 64, description: 'The sign-up.' }),
});
const ofToken = Type.Object({
  token: Type.String({ maxLength: 128, description: 'The last part of the mailed link.' }),
});

function registerDecision(
  app: FastifyInstance,
  signUps: SignUps,
  decision: 'approve' | 'reject',
  description: string,
): void {
  route(app, {
    method: 'POST',
    url: `${collection}/:signUpId/${decision}`,
    operationId: `${decision}SignUp`,
    summary: `Decide: ${decision} a sign-up`,
    description,
    tags,
    permission: 'onb.approve',
    params: ofSignUp,
    response: { 202: SignUp },
    errors: ['resource_not_found', 'concurrent_modification'],
    async handler(request, reply) {
      const { signUpId } = request.params;
      return reply.code(202).send(viewOf(await signUps.decide(request, signUpId, decision)));
    },
  });
}

export function registerSignUpRoutes(app: FastifyInstance, signUps: SignUps): void {
  route(app, {
    method: 'POST',
    url: collection,
    operationId: 'signUp',
    summary: 'Sign up',
    description: 'The answer is the same whether the address is known or not; the rest is mailed.',
    tags,
    permission: 'public',
    rateLimit: 'signUps',
    body: SignUpInput,
    response: { 202: SignUpReceipt },
    errors: [],
    async handler({ body }, reply) {
      await signUps.take(body);
      return reply.code(202).send({ status: 'Received' as const });
    },
  });

  route(app, {
    method: 'GET',
    url: collection,
    operationId: listName,
    summary: 'List: sign-up',
    description: 'For the operator of the platform; the list of any other organisation is empty.',
    tags,
    permission: 'onb.approve',
    query: Type.Object({ ...pageQuery, ...signUpFilters }, { additionalProperties: false }),
    response: { 200: pageOf(SignUp) },
    errors: ['cursor_invalid'],
    priority: 'list',
    async handler({ caller, query }) {
      const page = openPage(query, listName);
      const { items, next } = await signUps.list(caller, query.status, page);
      return sealPage({ items: items.map(viewOf), next }, query, listName);
    },
  });

  route(app, {
    method: 'GET',
    url: `${collection}/:signUpId`,
    operationId: 'getSignUp',
    summary: 'Read: sign-up',
    tags,
    permission: 'onb.approve',
    params: ofSignUp,
    response: { 200: SignUp },
    errors: ['resource_not_found'],
    handler: async ({ caller, params }) => viewOf(await signUps.get(caller, params.signUpId)),
  });

  registerDecision(
    app,
    signUps,
    'approve',
    'Makes the organisation, its user domain and its first user as Administrator, and mails the link.',
  );
  registerDecision(app, signUps, 'reject', 'Mails a friendly note.');
}

export function registerActivationRoutes(app: FastifyInstance, activations: Activations): void {
  route(app, {
    method: 'POST',
    url: activation,
    operationId: 'activateUser',
    summary: 'Set the first password',
    description: 'Uses the mailed link up. Where a second factor is needed, its secret comes back.',
    tags,
    permission: 'public',
    params: ofToken,
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
    url: `${activation}/otp`,
    operationId: 'confirmUserOtp',
    summary: 'Confirm the second factor',
    description: 'Takes a code of the secret that the activation gave, within an hour of it.',
    tags,
    permission: 'public',
    params: ofToken,
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
