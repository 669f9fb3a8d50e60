// Setting up one-time codes, wherever it happens: in a sign-in, after a first password, on the account page.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../../accounts/index.ts';
import { PageFault } from '../html/page-errors.ts';
import { originOf, type RealmVisit, type Visits } from '../requests/page-context.ts';
import type { Answers } from '../requests/page-response.ts';
import type { Step, StepPlace, Steps } from '../requests/sign-in-steps.ts';
import { enrolView, recoveryGoneView, recoveryView } from '../views/one-time-code-setup.ts';
import type { PagesDeps } from './dependencies.ts';

export type EnrolmentFlow = {
  readonly visit: RealmVisit;
  readonly at: StepPlace;
  readonly place: string;
  readonly base: string;
  readonly isRequired: boolean;
  /** Left out where nobody is signed in yet: every session ends then. */
  readonly keptSessionId?: string | undefined;
  readonly leadsTo?: string | undefined;
  /** After the recovery codes are saved; `provenAt` is of before the step was taken. */
  done(step: Step, provenAt: number): Promise<FastifyReply>;
};

export type OpenEnrolment = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<EnrolmentFlow | undefined>;

type Deps = {
  readonly accounts: PagesDeps['accounts'];
  readonly clock: PagesDeps['clock'];
  readonly visits: Visits;
  readonly answers: Answers;
  readonly steps: Steps;
};

export type Enrolment = ReturnType<typeof createEnrolment>;

export function createEnrolment({ accounts, clock, visits, answers, steps }: Deps) {
  /**
   * A password alone sets up the first second factor, never the next one: whoever came as far as
   * this page and waits there goes no further once the user has one.
   */
  async function demandUser({ at, isRequired }: EnrolmentFlow, step: Step): Promise<User> {
    const user = await steps.demandUser(at, step);
    if (isRequired && user.secondFactor === 'On') throw new PageFault('stale');
    return user;
  }

  async function showSecret(flow: EnrolmentFlow, step: Step, isWrong: boolean) {
    const { visit, at, place, base, isRequired } = flow;
    const user = await demandUser(flow, step);
    const { secret, uri } = await accounts.beginOtp(user, steps.nameOf(at));
    const view = enrolView(visit.words, {
      token: visits.tokenOf(visit, place),
      action: `${base}/one-time-code`,
      secret,
      uri,
      picture: await qrPicture(uri),
      isRequired,
      isWrong,
      back: isRequired ? undefined : base,
    });
    return answers.page(visit, { ...view, status: isWrong ? 422 : 200 });
  }

  function recoveryFacts({ visit, place, base, leadsTo }: EnrolmentFlow) {
    const token = visits.tokenOf(visit, place);
    return { token, action: `${base}/recovery-codes`, leadsTo, faults: {} };
  }

  function showCodes(flow: EnrolmentFlow, codes: readonly string[]): FastifyReply {
    return answers.page(
      flow.visit,
      recoveryView(flow.visit.words, { ...recoveryFacts(flow), codes }),
    );
  }

  return {
    async get(flow: EnrolmentFlow): Promise<FastifyReply> {
      const step = await steps.find(flow.at);
      if (step?.name === 'save') return answers.goTo(flow.visit, `${flow.base}/recovery-codes`);
      if (step?.name !== 'enrol') return answers.goTo(flow.visit, flow.base);
      return showSecret(flow, step, false);
    },

    async post(flow: EnrolmentFlow): Promise<FastifyReply> {
      const { visit, at, base } = flow;
      visits.demandForm(visit, flow.place);
      const step = await steps.find(at);
      if (step?.name === 'save') return answers.goTo(visit, `${base}/recovery-codes`);
      if (step?.name !== 'enrol') return answers.goTo(visit, base);
      const user = await demandUser(flow, step);
      const code = (visit.request.body['code'] ?? '').replaceAll(/\s/g, '');
      const confirmed = await accounts.confirmOtp(user, code, originOf(visit), {
        since: step.since,
        keptSessionId: flow.keptSessionId,
        isFirst: flow.isRequired,
      });
      if (confirmed === undefined) {
        if ((await steps.find(at)) === undefined) throw new PageFault('stale');
        return showSecret(flow, step, true);
      }
      // It ended all else by itself, so only a time of after it counts; what was ended before it by
      // somebody else shows in the user.
      const provenAt = clock.now();
      await steps.demandUser(at, step);
      const next: Step = { ...step, name: 'save', methods: [...step.methods, 'otp'] };
      await steps.put(at, next, provenAt);
      return showCodes(flow, confirmed.recoveryCodes);
    },

    /** Loaded again: what was shown once is not shown twice. */
    async getCodes(flow: EnrolmentFlow): Promise<FastifyReply> {
      const step = await steps.find(flow.at);
      if (step?.name !== 'save') return answers.goTo(flow.visit, flow.base);
      const view = recoveryGoneView(flow.visit.words, { ...recoveryFacts(flow), codes: [] });
      return answers.page(flow.visit, view);
    },

    async postCodes(flow: EnrolmentFlow): Promise<FastifyReply> {
      const { visit, at } = flow;
      visits.demandForm(visit, flow.place);
      if (visit.request.body['saved'] !== 'yes') {
        const { words } = visit;
        const faults = { saved: words.recovery.savedNeeded };
        const view = recoveryGoneView(words, { ...recoveryFacts(flow), codes: [], faults });
        return answers.page(visit, { ...view, status: 422 });
      }
      const step = await steps.find(at);
      if (step?.name !== 'save') return answers.goTo(visit, flow.base);
      await steps.demandUser(at, step);
      const provenAt = clock.now();
      const taken = await steps.take(at);
      return taken === undefined ? answers.goTo(visit, flow.base) : flow.done(taken, provenAt);
    },

    async renewCodes(flow: EnrolmentFlow): Promise<FastifyReply> {
      visits.demandForm(flow.visit, flow.place);
      const step = await steps.find(flow.at);
      if (step?.name !== 'save') return answers.goTo(flow.visit, flow.base);
      const user = await steps.demandUser(flow.at, step);
      return showCodes(flow, await accounts.renewRecoveryCodes(user));
    },
  };
}

/** Level M: a scratched screen may hide an eighth of it. */
async function qrPicture(text: string): Promise<string> {
  // Few pages show one: what draws it is loaded with the first.
  const { toString: draw } = await import('qrcode');
  const svg = await draw(text, { type: 'svg', errorCorrectionLevel: 'M', margin: 0 });
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}
