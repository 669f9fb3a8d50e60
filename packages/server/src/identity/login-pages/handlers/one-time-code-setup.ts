// Handlers for the set-up of one-time codes: during a sign-in, after the first password, and on the account page.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../../accounts/index.ts';
import { PageError } from '../html/page-errors.ts';
import { attemptOriginOf, type PageContexts, type RealmPageContext } from '../http/page-context.ts';
import type { PageResponses } from '../http/page-response.ts';
import type { PendingSignInStep, SignInSteps, StepKey } from '../http/sign-in-step-store.ts';
import {
  renderCodesHiddenPage,
  renderRecoveryCodesPage,
  renderSetUpPage,
} from '../views/one-time-code-setup.ts';
import type { LoginPageDependencies } from './dependencies.ts';

export type EnrolmentFlow = {
  readonly context: RealmPageContext;
  readonly stepKey: StepKey;
  readonly flowKey: string;
  readonly basePath: string;
  readonly isRequired: boolean;
  /** Missing if the user is not signed in yet: then every session ends. */
  readonly currentSessionId?: string | undefined;
  readonly formTarget?: string | undefined;
  /** Called after the user has saved the recovery codes; `provenAt` is the time before the step was consumed. */
  finish(step: PendingSignInStep, provenAt: number): Promise<FastifyReply>;
};

export type OpenEnrolment = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<EnrolmentFlow | undefined>;

type Deps = {
  readonly accounts: LoginPageDependencies['accounts'];
  readonly clock: LoginPageDependencies['clock'];
  readonly contexts: PageContexts;
  readonly responses: PageResponses;
  readonly steps: SignInSteps;
};

export type EnrolmentHandlers = ReturnType<typeof createEnrolmentHandlers>;

export function createEnrolmentHandlers({ accounts, clock, contexts, responses, steps }: Deps) {
  /**
   * A password alone allows only the set-up of the first second factor: if the user has set one up
   * elsewhere since this page was opened, the sign-in is over.
   */
  async function requireUser(
    { stepKey, isRequired }: EnrolmentFlow,
    step: PendingSignInStep,
  ): Promise<User> {
    const user = await steps.requireActiveUser(stepKey, step);
    if (isRequired && user.secondFactor === 'On') throw new PageError('signInExpired');
    return user;
  }

  async function showSecret(flow: EnrolmentFlow, step: PendingSignInStep, isWrong: boolean) {
    const { context, stepKey, flowKey, basePath, isRequired } = flow;
    const user = await requireUser(flow, step);
    const { secret, uri } = await accounts.beginOtpEnrolment(user, steps.idOf(stepKey));
    const view = renderSetUpPage(context.texts, {
      token: contexts.csrfTokenOf(context, flowKey),
      action: `${basePath}/one-time-code`,
      secret,
      uri,
      picture: await qrCodeImage(uri),
      isRequired,
      isWrong,
      backUrl: isRequired ? undefined : basePath,
    });
    return responses.sendPage(context, { ...view, status: isWrong ? 422 : 200 });
  }

  function recoveryCodePageData({ context, flowKey, basePath, formTarget }: EnrolmentFlow) {
    const token = contexts.csrfTokenOf(context, flowKey);
    return { token, action: `${basePath}/recovery-codes`, formTarget, errors: {} };
  }

  function showRecoveryCodes(flow: EnrolmentFlow, codes: readonly string[]): FastifyReply {
    return responses.sendPage(
      flow.context,
      renderRecoveryCodesPage(flow.context.texts, { ...recoveryCodePageData(flow), codes }),
    );
  }

  return {
    async getSetUp(flow: EnrolmentFlow): Promise<FastifyReply> {
      const step = await steps.find(flow.stepKey);
      if (step?.name === 'save-recovery-codes')
        return responses.redirect(flow.context, `${flow.basePath}/recovery-codes`);
      if (step?.name !== 'set-up-codes') return responses.redirect(flow.context, flow.basePath);
      return showSecret(flow, step, false);
    },

    async postSetUp(flow: EnrolmentFlow): Promise<FastifyReply> {
      const { context, stepKey, basePath } = flow;
      contexts.requireCsrfToken(context, flow.flowKey);
      const step = await steps.find(stepKey);
      if (step?.name === 'save-recovery-codes')
        return responses.redirect(context, `${basePath}/recovery-codes`);
      if (step?.name !== 'set-up-codes') return responses.redirect(context, basePath);
      const user = await requireUser(flow, step);
      const code = (context.request.body['code'] ?? '').replaceAll(/\s/g, '');
      const confirmed = await accounts.confirmOtpEnrolment(user, code, attemptOriginOf(context), {
        since: step.since,
        currentSessionId: flow.currentSessionId,
        isFirstFactor: flow.isRequired,
      });
      if (confirmed === undefined) {
        if ((await steps.find(stepKey)) === undefined) throw new PageError('signInExpired');
        return showSecret(flow, step, true);
      }
      // The confirmation itself revoked all other sessions, so `provenAt` must be later. A revocation
      // before it is found by the check of the user.
      const provenAt = clock.now();
      await steps.requireActiveUser(stepKey, step);
      const next: PendingSignInStep = {
        ...step,
        name: 'save-recovery-codes',
        methods: [...step.methods, 'otp'],
      };
      await steps.save(stepKey, next, provenAt);
      return showRecoveryCodes(flow, confirmed.recoveryCodes);
    },

    /** After a reload: recovery codes are shown only once. */
    async getRecoveryCodes(flow: EnrolmentFlow): Promise<FastifyReply> {
      const step = await steps.find(flow.stepKey);
      if (step?.name !== 'save-recovery-codes')
        return responses.redirect(flow.context, flow.basePath);
      const view = renderCodesHiddenPage(flow.context.texts, {
        ...recoveryCodePageData(flow),
        codes: [],
      });
      return responses.sendPage(flow.context, view);
    },

    async postRecoveryCodes(flow: EnrolmentFlow): Promise<FastifyReply> {
      const { context, stepKey } = flow;
      contexts.requireCsrfToken(context, flow.flowKey);
      if (context.request.body['saved'] !== 'yes') {
        const { texts } = context;
        const errors = { saved: texts.recoveryCodes.savedNeeded };
        const view = renderCodesHiddenPage(texts, {
          ...recoveryCodePageData(flow),
          codes: [],
          errors,
        });
        return responses.sendPage(context, { ...view, status: 422 });
      }
      const step = await steps.find(stepKey);
      if (step?.name !== 'save-recovery-codes') return responses.redirect(context, flow.basePath);
      await steps.requireActiveUser(stepKey, step);
      const provenAt = clock.now();
      const consumed = await steps.consume(stepKey);
      return consumed === undefined
        ? responses.redirect(context, flow.basePath)
        : flow.finish(consumed, provenAt);
    },

    async renewRecoveryCodes(flow: EnrolmentFlow): Promise<FastifyReply> {
      contexts.requireCsrfToken(flow.context, flow.flowKey);
      const step = await steps.find(flow.stepKey);
      if (step?.name !== 'save-recovery-codes')
        return responses.redirect(flow.context, flow.basePath);
      const user = await steps.requireActiveUser(flow.stepKey, step);
      return showRecoveryCodes(flow, await accounts.renewRecoveryCodes(user));
    },
  };
}

/** Error correction level M: readable if up to 15 % of the code is damaged. */
async function qrCodeImage(text: string): Promise<string> {
  // Few pages show a QR code: the library is loaded with the first one.
  const { toString: draw } = await import('qrcode');
  const svg = await draw(text, { type: 'svg', errorCorrectionLevel: 'M', margin: 0 });
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}
