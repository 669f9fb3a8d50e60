// Handlers of the protected account pages: password, one-time codes, recovery codes and passkeys.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PageError } from '../html/page-errors.ts';
import type { StepKey } from '../http/sign-in-step-store.ts';
import { renderQuestionPage } from '../views/messages.ts';
import { renderPasskeysPage } from '../views/passkeys.ts';
import { renderNewPasswordPage } from '../views/password.ts';
import type {
  AccountContext,
  AccountDependencies,
  AccountHandlers,
  ProtectedPage,
} from './account.ts';
import type { RelyingParty } from './dependencies.ts';
import { findNewPasswordErrors, minPasswordLength } from './new-password.ts';
import type { EnrolmentFlow, EnrolmentHandlers } from './one-time-code-setup.ts';
import { parsePasskeyResponse } from './passkey-response.ts';

type Deps = AccountDependencies & {
  readonly accountHandlers: AccountHandlers;
  readonly enrolmentHandlers: EnrolmentHandlers;
  readonly rp: RelyingParty;
};

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function createAccountChangeHandlers(deps: Deps) {
  const {
    accountHandlers,
    enrolmentHandlers,
    accounts,
    sessions,
    clock,
    contexts,
    responses,
    steps,
    rp,
  } = deps;

  const whenProtected =
    (page: ProtectedPage, handle: (context: AccountContext) => Promise<FastifyReply>): Handler =>
    async (request, reply) => {
      const context = await accountHandlers.openProtected(request, reply, page);
      return context === undefined ? reply : handle(context);
    };

  function saveStep(
    stepKey: StepKey,
    userId: string,
    name: 'set-up-codes' | 'save-recovery-codes',
  ): Promise<void> {
    const since = clock.now();
    return steps.save(stepKey, { name, userId, methods: [], since }, since);
  }

  function toEnrolmentFlow(context: AccountContext): EnrolmentFlow & { readonly userId: string } {
    return {
      context,
      stepKey: { ...context.stepKey, flowKey: `${context.stepKey.flowKey} one-time-code` },
      flowKey: context.flowKey,
      basePath: context.basePath,
      isRequired: false,
      currentSessionId: context.session.sessionId,
      userId: context.user.userId,
      finish: async ({ methods }) =>
        accountHandlers.redirectToSaved(context, methods.includes('otp') ? 'codes' : 'recovery'),
    };
  }

  async function openEnrolmentFlow(
    request: FastifyRequest,
    reply: FastifyReply,
    page: ProtectedPage,
  ) {
    const context = await accountHandlers.openProtected(request, reply, page);
    return context === undefined ? undefined : toEnrolmentFlow(context);
  }

  function showPassword(context: AccountContext, errors: Readonly<Record<string, string>>) {
    const { texts, basePath, user } = context;
    const view = renderNewPasswordPage(texts, {
      token: contexts.csrfTokenOf(context, context.flowKey),
      action: `${basePath}/password`,
      title: texts.password.title,
      lead: texts.password.lead,
      username: user.username,
      minLength: minPasswordLength(user),
      backUrl: basePath,
      errors,
    });
    return responses.sendPage(context, { ...view, status: view.hasErrors === true ? 422 : 200 });
  }

  async function showPasskeys(context: AccountContext, isWrong: boolean): Promise<FastifyReply> {
    const { texts, user, basePath } = context;
    const options = await accounts.passkeys.registrationOptions(user, rp);
    const view = renderPasskeysPage(texts, {
      token: contexts.csrfTokenOf(context, context.flowKey),
      basePath,
      items: await accounts.passkeys.list(user),
      options,
      zone: user.zoneinfo,
      isWrong,
    });
    return responses.sendPage(context, { ...view, status: isWrong ? 422 : 200 });
  }

  async function postPassword(context: AccountContext): Promise<FastifyReply> {
    const { texts, user, request, reply, realm, session } = context;
    const errors = await findNewPasswordErrors(accounts, texts, user, request.body);
    if (Object.keys(errors).length > 0) return showPassword(context, errors);
    const { organizationId, userDomainId } = realm;
    await accounts.setPassword(organizationId, user.userId, request.body['password'] ?? '');
    // The change ended every session, also this one: start a new session.
    const { userId, methods } = session;
    const signedIn = { userId, methods, provenAt: clock.now() };
    const sessionId = await sessions.start(userDomainId, request.raw, reply.raw, signedIn);
    if (sessionId === undefined) throw new PageError('signInExpired');
    return accountHandlers.redirectToSaved(context, 'password');
  }

  async function getRecovery(context: AccountContext): Promise<FastifyReply> {
    const flow = toEnrolmentFlow(context);
    if ((await steps.find(flow.stepKey))?.name === 'save-recovery-codes')
      return enrolmentHandlers.getRecoveryCodes(flow);
    const { recoveryCodes } = context.texts;
    const token = contexts.csrfTokenOf(context, context.flowKey);
    const question = {
      title: recoveryCodes.renew,
      lead: recoveryCodes.renewLead,
      button: recoveryCodes.renew,
    };
    const backLink = { address: context.basePath, text: context.texts.cancel };
    return responses.sendPage(
      context,
      renderQuestionPage(question, { action: `${context.path}/renew`, token }, backLink),
    );
  }

  async function renewRecovery(context: AccountContext): Promise<FastifyReply> {
    const flow = toEnrolmentFlow(context);
    if (context.user.secondFactor !== 'On') return responses.redirect(context, context.basePath);
    await saveStep(flow.stepKey, context.user.userId, 'save-recovery-codes');
    return enrolmentHandlers.renewRecoveryCodes(flow);
  }

  async function addPasskey(context: AccountContext): Promise<FastifyReply> {
    const { user, request, texts } = context;
    const response = parsePasskeyResponse(request.body['response']);
    const name = request.body['name'] ?? '';
    const isAdded = await accounts.passkeys.register(
      user,
      response,
      rp,
      name.trim() === '' ? texts.passkeys.defaultName : name,
      context.session.sessionId,
    );
    return isAdded
      ? accountHandlers.redirectToSaved(context, 'passkey')
      : showPasskeys(context, true);
  }

  async function removePasskey(context: AccountContext): Promise<FastifyReply> {
    await accounts.passkeys.remove(context.user, context.request.body['passkey'] ?? '');
    return accountHandlers.redirectToSaved(context, 'removed');
  }

  return {
    getPassword: whenProtected('password', async (context) => showPassword(context, {})),
    postPassword: whenProtected('password', postPassword),

    /** Starts a set-up unless one is in progress or its recovery codes are not saved yet. */
    async getCode(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const flow = await openEnrolmentFlow(request, reply, 'one-time-code');
      if (flow === undefined) return reply;
      if ((await steps.find(flow.stepKey)) === undefined)
        await saveStep(flow.stepKey, flow.userId, 'set-up-codes');
      return enrolmentHandlers.getSetUp(flow);
    },

    openCode: (request: FastifyRequest, reply: FastifyReply) =>
      openEnrolmentFlow(request, reply, 'one-time-code'),

    openRecovery: (request: FastifyRequest, reply: FastifyReply) =>
      openEnrolmentFlow(request, reply, 'recovery-codes'),

    getRecovery: whenProtected('recovery-codes', getRecovery),
    renewRecovery: whenProtected('recovery-codes', renewRecovery),

    getPasskeys: whenProtected('passkeys', async (context) => showPasskeys(context, false)),
    addPasskey: whenProtected('passkeys', addPasskey),
    removePasskey: whenProtected('passkeys', removePasskey),
  };
}
