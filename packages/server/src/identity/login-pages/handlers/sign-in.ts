// Handlers of the sign-in pages: user name, password and code in one form, then a passkey or the set-up of one-time codes.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type SignInRequest, signInPath } from '../../sessions/login-interactions.ts';
import type { AuthenticatedUser } from '../../sessions/sessions.ts';
import type { FieldErrors } from '../html/form-fields.ts';
import { PageError } from '../html/page-errors.ts';
import { accountFlowId, accountPath, forgottenPasswordPath } from '../html/page-paths.ts';
import {
  attemptOriginOf,
  type PageContexts,
  type RealmPageContext,
  rememberBrowser,
} from '../http/page-context.ts';
import type { PageResponses } from '../http/page-response.ts';
import type { PendingSignInStep, SignInSteps, StepKey } from '../http/sign-in-step-store.ts';
import { requiredFieldText, tooManyAttemptsText } from '../locales/page-texts.ts';
import { renderPasskeyPage, renderSignInPage, type SignInPageData } from '../views/sign-in.ts';
import type { LoginPageDependencies, RelyingParty } from './dependencies.ts';
import type { EnrolmentFlow } from './one-time-code-setup.ts';
import { parsePasskeyResponse } from './passkey-response.ts';

/** The request of a page that belongs to a sign-in. */
export type SignInContext = RealmPageContext & {
  /** Missing if the user signs in to see the account page. */
  readonly authorizationRequest?: SignInRequest | undefined;
  readonly basePath: string;
  /** Binds forms to this sign-in. */
  readonly flowKey: string;
  readonly stepKey: StepKey;
};

type Deps = Pick<LoginPageDependencies, 'accounts' | 'interactions' | 'sessions' | 'clock'> & {
  readonly contexts: PageContexts;
  readonly responses: PageResponses;
  readonly steps: SignInSteps;
  readonly rp: RelyingParty;
};

export type SignInHandlers = ReturnType<typeof createSignInHandlers>;

/** `jane@acme` in the realm `acme` becomes `jane`: users also type the form of the first step here. */
export function stripUserDomain(name: string, userDomainId: string): string {
  const trimmed = name.trim();
  const suffix = `@${userDomainId}`;
  const hasDomain = trimmed.toLowerCase().endsWith(suffix) && trimmed.length > suffix.length;
  return hasDomain ? trimmed.slice(0, -suffix.length) : trimmed;
}

export function createSignInHandlers(deps: Deps) {
  const { accounts, interactions, sessions, clock, contexts, responses, steps, rp } = deps;

  async function openSignIn(request: FastifyRequest, reply: FastifyReply): Promise<SignInContext> {
    const context = await contexts.createInRealm(request, reply);
    const { organizationId, userDomainId } = context.realm;
    const uid = context.request.params['uid'] ?? '';
    const flowKey = `sign-in ${userDomainId} ${uid}`;
    const stepKey = { organizationId, browserId: context.browserId, flowKey };
    const flow = { basePath: signInPath(userDomainId, uid), flowKey, stepKey };
    if (uid === accountFlowId) return { ...context, ...flow };
    const authorizationRequest = await interactions.details(userDomainId, request.raw, reply.raw);
    if (authorizationRequest?.uid !== uid) throw new PageError('signInExpired');
    return {
      ...contexts.withRequestedLanguages(context, authorizationRequest.locales),
      ...flow,
      authorizationRequest,
    };
  }

  function showForm(
    context: SignInContext,
    changes: Partial<Pick<SignInPageData, 'username' | 'errorMessage'>> & {
      errors?: FieldErrors;
      status?: number;
    },
  ): FastifyReply {
    const { texts, realm, basePath, flowKey, authorizationRequest, request } = context;
    const { userDomainId } = realm;
    const flowQuery =
      authorizationRequest === undefined
        ? ''
        : `?flow=${encodeURIComponent(authorizationRequest.uid)}`;
    const view = renderSignInPage(texts, {
      token: contexts.csrfTokenOf(context, flowKey),
      basePath,
      domain: userDomainId,
      client: authorizationRequest && {
        name: authorizationRequest.clientName,
        redirectUri: authorizationRequest.redirectUri,
      },
      usesRecoveryCode: (request.body?.['with'] ?? request.query['with']) === 'recovery',
      forgottenPath: forgottenPasswordPath(userDomainId) + flowQuery,
      errors: changes.errors ?? {},
      username: changes.username,
      errorMessage: changes.errorMessage,
    });
    return responses.sendPage(context, { ...view, status: changes.status ?? 200 });
  }

  async function finishSignIn(
    context: SignInContext,
    signedIn: AuthenticatedUser,
  ): Promise<FastifyReply> {
    const { realm, request, reply } = context;
    const exchange = [realm.userDomainId, request.raw, reply.raw] as const;
    if (context.authorizationRequest === undefined) {
      const sessionId = await sessions.start(...exchange, signedIn);
      if (sessionId === undefined) throw new PageError('signInExpired');
      return responses.redirect(context, accountPath(realm.userDomainId));
    }
    const address = await interactions.finish(...exchange, signedIn);
    if (address === undefined) throw new PageError('signInExpired');
    return responses.redirect(context, address);
  }

  function showFailure(
    context: SignInContext,
    username: string,
    retryAfterSeconds?: number,
  ): FastifyReply {
    const { texts, reply } = context;
    if (retryAfterSeconds === undefined) {
      return showForm(context, { username, errorMessage: texts.signInForm.wrong, status: 401 });
    }
    reply.header('retry-after', String(retryAfterSeconds));
    return showForm(context, {
      username,
      errorMessage: tooManyAttemptsText(texts, retryAfterSeconds),
      status: 429,
    });
  }

  return {
    openSignIn,

    async getForm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await openSignIn(request, reply);
      const { authorizationRequest, realm } = context;
      const hint =
        authorizationRequest === undefined
          ? context.request.query['login_hint']
          : authorizationRequest.loginHint;
      return showForm(context, { username: stripUserDomain(hint ?? '', realm.userDomainId) });
    },

    async postForm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await openSignIn(request, reply);
      contexts.requireCsrfToken(context, context.flowKey);
      const { texts, realm, basePath, stepKey, authorizationRequest } = context;
      const { username = '', password = '', code = '' } = context.request.body;
      const { fields } = texts;
      const missing = {
        ...(username.trim() === '' ? { username: requiredFieldText(texts, fields.username) } : {}),
        ...(password === '' ? { password: requiredFieldText(texts, fields.password) } : {}),
      };
      if (Object.keys(missing).length > 0) {
        return showForm(context, { username, errors: missing, status: 422 });
      }
      const result = await accounts.authenticate({
        organizationId: realm.organizationId,
        username: stripUserDomain(username, realm.userDomainId),
        password,
        otp: code.trim() === '' ? undefined : code,
        origin: attemptOriginOf(context, authorizationRequest?.clientId),
        kind: 'page',
      });
      if (!result.ok) return showFailure(context, username, result.retryAfterSeconds);
      rememberBrowser(context);
      const { user, methods, needs, provenAt } = result;
      const { userId } = user;
      if (needs === undefined) return finishSignIn(context, { userId, methods, provenAt });
      const needsEnrolment = needs === 'enrolment';
      const name = needsEnrolment ? 'set-up-codes' : 'use-passkey';
      await steps.save(stepKey, { name, userId, methods, since: provenAt }, provenAt);
      return responses.redirect(
        context,
        `${basePath}/${needsEnrolment ? 'one-time-code' : 'passkey'}`,
      );
    },

    async cancel(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await openSignIn(request, reply);
      contexts.requireCsrfToken(context, context.flowKey);
      const { userDomainId } = context.realm;
      const address = await interactions.deny(userDomainId, request.raw, reply.raw);
      if (address === undefined) throw new PageError('signInExpired');
      return responses.redirect(context, address);
    },

    /** The set-up of one-time codes during a sign-in; the sign-in continues afterwards. */
    async openEnrolment(request: FastifyRequest, reply: FastifyReply): Promise<EnrolmentFlow> {
      const context = await openSignIn(request, reply);
      return {
        context,
        stepKey: context.stepKey,
        flowKey: context.flowKey,
        basePath: context.basePath,
        isRequired: true,
        formTarget: context.authorizationRequest?.redirectUri,
        finish: ({ userId, methods }, provenAt) =>
          finishSignIn(context, { userId, methods, provenAt }),
      };
    },

    async getPasskey(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await openSignIn(request, reply);
      const step = await steps.find(context.stepKey);
      if (step?.name !== 'use-passkey') return responses.redirect(context, context.basePath);
      return showPasskeyPrompt(context, step, false);
    },

    async postPasskey(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await openSignIn(request, reply);
      contexts.requireCsrfToken(context, context.flowKey);
      const { stepKey, authorizationRequest, request: page } = context;
      const step = await steps.find(stepKey);
      if (step?.name !== 'use-passkey') throw new PageError('signInExpired');
      const user = await steps.requireActiveUser(stepKey, step);
      const response = parsePasskeyResponse(page.body['response']);
      const origin = attemptOriginOf(context, authorizationRequest?.clientId);
      const provenAt = clock.now();
      if (!(await accounts.passkeys.authenticate(user, response, rp, origin))) {
        return showPasskeyPrompt(context, step, true);
      }
      if ((await steps.consume(stepKey)) === undefined) throw new PageError('signInExpired');
      rememberBrowser(context);
      return finishSignIn(context, {
        userId: user.userId,
        methods: [...step.methods, 'hwk'],
        provenAt,
      });
    },
  };

  async function showPasskeyPrompt(
    context: SignInContext,
    step: PendingSignInStep,
    isWrong: boolean,
  ): Promise<FastifyReply> {
    const user = await steps.requireActiveUser(context.stepKey, step);
    const options = await accounts.passkeys.authenticationOptions(user, rp);
    const view = renderPasskeyPage(context.texts, {
      token: contexts.csrfTokenOf(context, context.flowKey),
      basePath: context.basePath,
      options,
      isWrong,
      redirectUri: context.authorizationRequest?.redirectUri,
    });
    return responses.sendPage(context, { ...view, status: isWrong ? 401 : 200 });
  }
}
