// Handlers of the pages behind links in emails, and of the request for a password reset. Opening a link does not use it up.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { fillTemplate } from '../../../platform/index.ts';
import type { User } from '../../accounts/index.ts';
import { signInPath } from '../../sessions/login-interactions.ts';
import type { FieldErrors } from '../html/form-fields.ts';
import { PageError } from '../html/page-errors.ts';
import {
  accountFlowId,
  accountSignInPath,
  activationPath,
  forgottenPasswordPath,
} from '../html/page-paths.ts';
import { attemptOriginOf, type PageContexts, type RealmPageContext } from '../http/page-context.ts';
import type { PageResponses } from '../http/page-response.ts';
import type { PendingSignInStep, SignInSteps, StepKey } from '../http/sign-in-step-store.ts';
import { requiredFieldText } from '../locales/page-texts.ts';
import { renderDonePage, renderQuestionPage } from '../views/messages.ts';
import { renderForgottenPasswordPage, renderNewPasswordPage } from '../views/password.ts';
import type { LoginPageDependencies } from './dependencies.ts';
import { findNewPasswordErrors, minPasswordLength } from './new-password.ts';
import type { EnrolmentFlow } from './one-time-code-setup.ts';

type Deps = Pick<LoginPageDependencies, 'accounts' | 'clock'> & {
  readonly contexts: PageContexts;
  readonly responses: PageResponses;
  readonly steps: SignInSteps;
  /** The address of the portal sign-in for a user domain. */
  readonly portalSignInUrl: (userDomainId: string) => string;
};

type FoundLink = NonNullable<
  Awaited<ReturnType<LoginPageDependencies['accounts']['emailLinks']['find']>>
>;
type LinkContext = RealmPageContext &
  FoundLink & { readonly link: string; readonly flowKey: string };

/** The format of the interaction IDs of the authorization server. */
const flowIdPattern = /^[\w-]{1,64}$/;

export function createEmailLinkHandlers({
  accounts,
  clock,
  contexts,
  responses,
  steps,
  portalSignInUrl,
}: Deps) {
  function backToSignIn({ realm, texts }: RealmPageContext, flow: string | undefined) {
    const uid = flow !== undefined && flowIdPattern.test(flow) ? flow : accountFlowId;
    return { address: signInPath(realm.userDomainId, uid), text: texts.forgottenPassword.toSignIn };
  }

  function showForgottenForm(
    context: RealmPageContext,
    flow: string | undefined,
    errors: FieldErrors,
  ): FastifyReply {
    const action = forgottenPasswordPath(context.realm.userDomainId);
    const isKnown = flow !== undefined && flowIdPattern.test(flow);
    const view = renderForgottenPasswordPage(context.texts, {
      token: contexts.csrfTokenOf(context, action),
      action: isKnown ? `${action}?flow=${flow}` : action,
      backUrl: backToSignIn(context, flow).address,
      errors,
    });
    return responses.sendPage(context, { ...view, status: view.hasErrors === true ? 422 : 200 });
  }

  async function openLink(request: FastifyRequest, reply: FastifyReply): Promise<LinkContext> {
    const context = await contexts.createInRealm(request, reply);
    const link = context.request.params['link'] ?? '';
    const existing = await accounts.emailLinks.find(context.realm.organizationId, link);
    if (existing === undefined) throw new PageError('linkInvalid');
    return { ...context, ...existing, link, flowKey: `link ${link}` };
  }

  function showLink(context: LinkContext, errors: FieldErrors): FastifyReply {
    const { texts, purpose, user, realm, path } = context;
    const form = { token: contexts.csrfTokenOf(context, context.flowKey), action: path };
    if (purpose === 'email') {
      const { emailTitle: title, emailLead: lead, emailSubmit: button } = texts.emailLink;
      return responses.sendPage(context, renderQuestionPage({ title, lead, button }, form));
    }
    const { activateTitle, resetTitle, forAccount } = texts.emailLink;
    const view = renderNewPasswordPage(texts, {
      ...form,
      title: purpose === 'activate' ? activateTitle : resetTitle,
      lead: fillTemplate(forAccount, { domain: realm.userDomainId }),
      username: user.username,
      minLength: minPasswordLength(user),
      errors,
    });
    return responses.sendPage(context, { ...view, status: view.hasErrors === true ? 422 : 200 });
  }

  function showDone(context: RealmPageContext, title: string, text: string): FastifyReply {
    const { texts, realm } = context;
    const next = { address: accountSignInPath(realm.userDomainId), text: texts.signIn };
    // The link is used up, so the page cannot be shown again in another language.
    return responses.sendPage(context, { ...renderDonePage(title, [text], next), path: undefined });
  }

  /** After the activation, new users continue to the portal, not to their account page. */
  function showActivated(context: RealmPageContext): FastifyReply {
    const { emailLink } = context.texts;
    const next = { address: portalSignInUrl(context.realm.userDomainId), text: emailLink.toPortal };
    const view = renderDonePage(emailLink.activatedTitle, [emailLink.activated], next);
    return responses.sendPage(context, { ...view, path: undefined });
  }

  const activationKeys = (context: RealmPageContext): { flowKey: string; stepKey: StepKey } => {
    const { organizationId, userDomainId } = context.realm;
    const flowKey = `activation ${userDomainId}`;
    return { flowKey, stepKey: { organizationId, browserId: context.browserId, flowKey } };
  };

  /** If a second factor is required, the user sets it up right after the first password. */
  async function continueAfterPassword(context: LinkContext, user: User): Promise<FastifyReply> {
    const { emailLink } = context.texts;
    if (context.purpose === 'reset') return showDone(context, emailLink.doneTitle, emailLink.done);
    if (user.secondFactor !== 'Required') return showActivated(context);
    const provenAt = clock.now();
    const since = Math.max(provenAt, user.tokensNotBefore ?? 0);
    const { stepKey } = activationKeys(context);
    const step: PendingSignInStep = {
      name: 'set-up-codes',
      userId: user.userId,
      methods: ['pwd'],
      since,
    };
    await steps.save(stepKey, step, provenAt);
    return responses.redirect(
      context,
      `${activationPath(context.realm.userDomainId)}/one-time-code`,
    );
  }

  return {
    async getForgotten(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await contexts.createInRealm(request, reply);
      return showForgottenForm(context, context.request.query['flow'], {});
    },

    async postForgotten(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await contexts.createInRealm(request, reply);
      const { realm, texts } = context;
      contexts.requireCsrfToken(context, forgottenPasswordPath(realm.userDomainId));
      const identifier = (context.request.body['identifier'] ?? '').trim();
      const { flow } = context.request.query;
      const { forgottenPassword } = texts;
      if (identifier === '')
        return showForgottenForm(context, flow, {
          identifier: requiredFieldText(texts, forgottenPassword.label),
        });
      await accounts.emailLinks.requestPasswordReset(
        realm.organizationId,
        identifier,
        attemptOriginOf(context),
      );
      const paragraphs = [forgottenPassword.sent, forgottenPassword.sentHint];
      const view = renderDonePage(
        forgottenPassword.sentTitle,
        paragraphs,
        backToSignIn(context, flow),
      );
      return responses.sendPage(context, { ...view, path: undefined });
    },

    async getLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      return showLink(await openLink(request, reply), {});
    },

    async postLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await openLink(request, reply);
      contexts.requireCsrfToken(context, context.flowKey);
      const { texts, realm, link, purpose } = context;
      const { organizationId } = realm;
      if (purpose === 'email') {
        const user = await accounts.emailLinks.redeem(organizationId, link);
        if (user === undefined) throw new PageError('linkInvalid');
        return showDone(context, texts.emailLink.emailDoneTitle, texts.emailLink.emailDone);
      }
      const { body } = context.request;
      const errors = await findNewPasswordErrors(accounts, texts, context.user, body);
      if (Object.keys(errors).length > 0) return showLink(context, errors);
      const user = await accounts.emailLinks.redeem(organizationId, link, body['password']);
      if (user === undefined) throw new PageError('linkInvalid');
      return continueAfterPassword(context, user);
    },

    /** The base address of the activation flow has no page of its own. */
    async getActivation(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = await contexts.createInRealm(request, reply);
      return responses.redirect(context, accountSignInPath(context.realm.userDomainId));
    },

    async openEnrolment(request: FastifyRequest, reply: FastifyReply): Promise<EnrolmentFlow> {
      const context = await contexts.createInRealm(request, reply);
      return {
        context,
        ...activationKeys(context),
        basePath: activationPath(context.realm.userDomainId),
        isRequired: true,
        finish: async () => showActivated(context),
      };
    },
  };
}
