// Handlers of the account page: the user's sign-in methods, sessions and recent sign-ins.
import { defined } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../../accounts/index.ts';
import type { CurrentSession } from '../../sessions/sessions.ts';
import { accountPath, accountSignInPath, signedOutPath } from '../html/page-paths.ts';
import {
  attemptOriginOf,
  type PageContexts,
  type RealmPageContext,
  rememberBrowser,
} from '../http/page-context.ts';
import type { PageResponses } from '../http/page-response.ts';
import type { SignInSteps, StepKey } from '../http/sign-in-step-store.ts';
import { requiredFieldText, tooManyAttemptsText } from '../locales/page-texts.ts';
import { renderAccountPage, type SavedChange } from '../views/account.ts';
import { renderDonePage } from '../views/messages.ts';
import { renderConfirmPasswordPage } from '../views/password.ts';
import type { LoginPageDependencies } from './dependencies.ts';

const maxSignInsRead = 50;
/** After this time the user must enter the password again. */
const passwordConfirmationSeconds = 300;

/** Pages that open only after the user has entered the password again. */
const protectedPages = ['password', 'one-time-code', 'recovery-codes', 'passkeys'] as const;
export type ProtectedPage = (typeof protectedPages)[number];

export type AccountContext = RealmPageContext & {
  readonly session: CurrentSession;
  readonly user: User;
  readonly basePath: string;
  readonly flowKey: string;
  readonly stepKey: StepKey;
};

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export type AccountDependencies = Pick<LoginPageDependencies, 'accounts' | 'sessions' | 'clock'> & {
  readonly contexts: PageContexts;
  readonly responses: PageResponses;
  readonly steps: SignInSteps;
};

export type AccountHandlers = ReturnType<typeof createAccountHandlers>;

export function createAccountHandlers({
  accounts,
  sessions,
  contexts,
  responses,
  steps,
}: AccountDependencies) {
  /** Undefined if no user is signed in: then the browser is redirected to the sign-in. */
  async function openAccount(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<AccountContext | undefined> {
    const context = await contexts.createInRealm(request, reply);
    const { organizationId, userDomainId } = context.realm;
    const session = await sessions.current(userDomainId, request.raw, reply.raw);
    const user = session && (await accounts.find(organizationId, session.userId));
    if (session === undefined || user === undefined) {
      responses.redirect(context, accountSignInPath(userDomainId));
      return undefined;
    }
    const flowKey = `account ${userDomainId} ${session.sessionId}`;
    const stepKey = { organizationId, browserId: context.browserId, flowKey };
    return { ...context, session, user, basePath: accountPath(userDomainId), flowKey, stepKey };
  }

  const confirmationStepKey = ({ stepKey }: AccountContext): StepKey => ({
    ...stepKey,
    flowKey: `${stepKey.flowKey} confirmed`,
  });

  function showPasswordPrompt(
    context: AccountContext,
    next: ProtectedPage,
    error?: { text: string; status: number },
  ): FastifyReply {
    const { texts, basePath, flowKey, user } = context;
    const view = renderConfirmPasswordPage(texts, {
      token: contexts.csrfTokenOf(context, flowKey),
      action: `${basePath}/confirm`,
      username: user.username,
      asksCode: user.secondFactor === 'On',
      next,
      backUrl: basePath,
      errors: defined({ password: error?.text }),
    });
    return responses.sendPage(context, {
      ...view,
      path: `${basePath}/${next}`,
      status: error?.status ?? 200,
    });
  }

  /** The context if the password was entered recently; otherwise sends the page that asks for it. */
  async function openProtected(
    request: FastifyRequest,
    reply: FastifyReply,
    page: ProtectedPage,
  ): Promise<AccountContext | undefined> {
    const context = await openAccount(request, reply);
    if (context === undefined) return undefined;
    if (request.method === 'POST') contexts.requireCsrfToken(context, context.flowKey);
    if ((await steps.find(confirmationStepKey(context))) !== undefined) return context;
    showPasswordPrompt(context, page);
    return undefined;
  }

  const handlePost =
    (handle: (context: AccountContext) => Promise<FastifyReply>): Handler =>
    async (request, reply) => {
      const context = await openAccount(request, reply);
      if (context === undefined) return reply;
      contexts.requireCsrfToken(context, context.flowKey);
      return handle(context);
    };

  const redirectToSaved = (context: AccountContext, change: SavedChange): FastifyReply =>
    responses.redirect(context, `${context.basePath}?saved=${change}`);

  async function confirm(context: AccountContext): Promise<FastifyReply> {
    const { texts, user, realm, request } = context;
    const { password = '', code = '', next } = request.body;
    const page = protectedPages.find((candidate) => candidate === next);
    if (page === undefined) return responses.redirect(context, context.basePath);
    if (password === '') {
      const text = requiredFieldText(texts, texts.fields.password);
      return showPasswordPrompt(context, page, { text, status: 422 });
    }
    const result = await accounts.authenticate({
      organizationId: realm.organizationId,
      username: user.username,
      password,
      otp: code.trim() === '' ? undefined : code,
      origin: attemptOriginOf(context),
      kind: 'page',
    });
    // The second factor was checked when the session began, so the right password is enough here.
    if (result.ok && result.user.userId === user.userId) {
      rememberBrowser(context);
      const { provenAt } = result;
      const step = { userId: user.userId, methods: [], since: provenAt };
      const stepKey = confirmationStepKey(context);
      await steps.save(
        stepKey,
        { ...step, name: 'password-confirmed' },
        provenAt,
        passwordConfirmationSeconds,
      );
      return responses.redirect(context, `${context.basePath}/${page}`);
    }
    const retryAfterSeconds = result.ok ? undefined : result.retryAfterSeconds;
    if (retryAfterSeconds === undefined)
      return showPasswordPrompt(context, page, { text: texts.confirmPassword.wrong, status: 401 });
    context.reply.header('retry-after', String(retryAfterSeconds));
    const text = tooManyAttemptsText(texts, retryAfterSeconds);
    return showPasswordPrompt(context, page, { text, status: 429 });
  }

  async function endSession(context: AccountContext): Promise<FastifyReply> {
    const { user, request, session } = context;
    const sessionId = request.body['session'] ?? '';
    // Ends only sessions of this user, for every value that the client sends.
    if (sessionId !== session.sessionId) {
      await sessions.end(user.organizationId, user.userId, sessionId);
    }
    return redirectToSaved(context, 'session');
  }

  async function endOthers(context: AccountContext): Promise<FastifyReply> {
    const { user, session } = context;
    await sessions.endOthers(user.organizationId, user.userId, session.sessionId);
    return redirectToSaved(context, 'others');
  }

  async function signOut(context: AccountContext): Promise<FastifyReply> {
    const { user, session, realm } = context;
    await sessions.end(user.organizationId, user.userId, session.sessionId);
    return responses.redirect(context, signedOutPath(realm.userDomainId));
  }

  return {
    openAccount,
    openProtected,
    redirectToSaved,

    async getAccount(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await openAccount(request, reply);
      if (context === undefined) return reply;
      const { texts, user, session, realm } = context;
      const { organizationId, userDomainId } = realm;
      const [sessionList, signIns, passkeys] = await Promise.all([
        sessions.list(organizationId, user.userId),
        accounts.signInHistory.list(user, { limit: maxSignInsRead }),
        accounts.passkeys.list(user),
      ]);
      const savedName = context.request.query['saved'] ?? '';
      const view = renderAccountPage(texts, {
        token: contexts.csrfTokenOf(context, context.flowKey),
        basePath: context.basePath,
        domain: userDomainId,
        user,
        sessionId: session.sessionId,
        sessions: sessionList,
        signIns,
        passkeys: passkeys.length,
        saved: Object.hasOwn(texts.account.saved, savedName)
          ? (savedName as SavedChange)
          : undefined,
      });
      return responses.sendPage(context, view);
    },

    confirm: handlePost(confirm),
    endSession: handlePost(endSession),
    endOthers: handlePost(endOthers),
    signOut: handlePost(signOut),

    async getSignedOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await contexts.createInRealm(request, reply);
      const { logout } = context.texts;
      const next = { address: accountSignInPath(context.realm.userDomainId), text: logout.again };
      return responses.sendPage(context, renderDonePage(logout.doneTitle, [logout.done], next));
    },
  };
}
