// What comes by mail: asking for a link, and the pages behind it. A look does not use a link up.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../accounts/index.ts';
import { signInPath } from '../sessions/login-interactions.ts';
import type { Answers } from './answers.ts';
import type { PagesDeps } from './deps.ts';
import type { EnrolmentFlow } from './enrolment.ts';
import { PageFault } from './faults.ts';
import type { Faults } from './fields.ts';
import { leastLength, newPasswordFaults } from './new-password.ts';
import { accountFlow, accountSignInPath, activationPath, forgottenPath } from './paths.ts';
import type { Step, StepPlace, Steps } from './steps.ts';
import { askView, doneView } from './views/notice.ts';
import { forgottenView, newPasswordView } from './views/password.ts';
import { originOf, type RealmVisit, type Visits } from './visits.ts';

type Deps = Pick<PagesDeps, 'accounts' | 'clock'> & {
  readonly visits: Visits;
  readonly answers: Answers;
  readonly steps: Steps;
  /** The way into the portal of a user domain. */
  readonly portalOf: (userDomainId: string) => string;
};

type Opened = NonNullable<Awaited<ReturnType<PagesDeps['accounts']['links']['open']>>>;
type LinkVisit = RealmVisit & Opened & { readonly link: string; readonly place: string };

/** As the authorization server makes them. */
const flowPattern = /^[\w-]{1,64}$/;

export function createLinks({ accounts, clock, visits, answers, steps, portalOf }: Deps) {
  function wayBack({ realm, words }: RealmVisit, flow: string | undefined) {
    const uid = flow !== undefined && flowPattern.test(flow) ? flow : accountFlow;
    return { address: signInPath(realm.userDomainId, uid), text: words.forgotten.toSignIn };
  }

  function askWho(visit: RealmVisit, flow: string | undefined, faults: Faults): FastifyReply {
    const action = forgottenPath(visit.realm.userDomainId);
    const isKnown = flow !== undefined && flowPattern.test(flow);
    const view = forgottenView(visit.words, {
      token: visits.tokenOf(visit, action),
      action: isKnown ? `${action}?flow=${flow}` : action,
      back: wayBack(visit, flow).address,
      faults,
    });
    return answers.page(visit, { ...view, status: view.isFaulty === true ? 422 : 200 });
  }

  async function openLink(request: FastifyRequest, reply: FastifyReply): Promise<LinkVisit> {
    const visit = await visits.openIn(request, reply);
    const link = visit.request.params['link'] ?? '';
    const opened = await accounts.links.open(visit.realm.organizationId, link);
    if (opened === undefined) throw new PageFault('link');
    return { ...visit, ...opened, link, place: `link ${link}` };
  }

  function show(visit: LinkVisit, faults: Faults): FastifyReply {
    const { words, purpose, user, realm, path } = visit;
    const form = { token: visits.tokenOf(visit, visit.place), action: path };
    if (purpose === 'email') {
      const { emailTitle: title, emailLead: lead, emailSubmit: button } = words.link;
      return answers.page(visit, askView({ title, lead, button }, form));
    }
    const { activateTitle, resetTitle, for: lead } = words.link;
    const view = newPasswordView(words, {
      ...form,
      title: purpose === 'activate' ? activateTitle : resetTitle,
      lead: lead(realm.userDomainId),
      username: user.username,
      leastLength: leastLength(user),
      faults,
    });
    return answers.page(visit, { ...view, status: view.isFaulty === true ? 422 : 200 });
  }

  function done(visit: RealmVisit, title: string, text: string): FastifyReply {
    const { words, realm } = visit;
    const way = { address: accountSignInPath(realm.userDomainId), text: words.signIn };
    // The link is used up: there is no page to show again in another language.
    return answers.page(visit, { ...doneView(title, [text], way), path: undefined });
  }

  /** Whoever comes for the first time wants to see the portal, and nobody's account page. */
  function activated(visit: RealmVisit): FastifyReply {
    const { link } = visit.words;
    const way = { address: portalOf(visit.realm.userDomainId), text: link.toPortal };
    const view = doneView(link.activatedTitle, [link.activated], way);
    return answers.page(visit, { ...view, path: undefined });
  }

  const activationPlace = (visit: RealmVisit): { place: string; at: StepPlace } => {
    const { organizationId, userDomainId } = visit.realm;
    const place = `activation ${userDomainId}`;
    return { place, at: { organizationId, browser: visit.browser, place } };
  };

  /** A second factor that is asked for is set up at once, while the person is at it. */
  async function goOn(visit: LinkVisit, user: User): Promise<FastifyReply> {
    const { link } = visit.words;
    if (visit.purpose === 'reset') return done(visit, link.doneTitle, link.done);
    if (user.secondFactor !== 'Required') return activated(visit);
    const provenAt = clock.now();
    const since = Math.max(provenAt, user.tokensNotBefore ?? 0);
    const { at } = activationPlace(visit);
    const step: Step = { name: 'enrol', userId: user.userId, methods: ['pwd'], since };
    await steps.put(at, step, provenAt);
    return answers.goTo(visit, `${activationPath(visit.realm.userDomainId)}/one-time-code`);
  }

  return {
    async getForgotten(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await visits.openIn(request, reply);
      return askWho(visit, visit.request.query['flow'], {});
    },

    async postForgotten(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await visits.openIn(request, reply);
      const { realm, words } = visit;
      visits.demandForm(visit, forgottenPath(realm.userDomainId));
      const who = (visit.request.body['who'] ?? '').trim();
      const { flow } = visit.request.query;
      const { forgotten } = words;
      if (who === '') return askWho(visit, flow, { who: words.required(forgotten.label) });
      await accounts.links.requestReset(realm.organizationId, who, originOf(visit));
      const texts = [forgotten.sent, forgotten.sentHint];
      const view = doneView(forgotten.sentTitle, texts, wayBack(visit, flow));
      return answers.page(visit, { ...view, path: undefined });
    },

    async getLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      return show(await openLink(request, reply), {});
    },

    async postLink(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await openLink(request, reply);
      visits.demandForm(visit, visit.place);
      const { words, realm, link, purpose } = visit;
      const { organizationId } = realm;
      if (purpose === 'email') {
        const user = await accounts.links.use(organizationId, link);
        if (user === undefined) throw new PageFault('link');
        return done(visit, words.link.emailDoneTitle, words.link.emailDone);
      }
      const { body } = visit.request;
      const faults = await newPasswordFaults(accounts, words, visit.user, body);
      if (Object.keys(faults).length > 0) return show(visit, faults);
      const user = await accounts.links.use(organizationId, link, body['password']);
      if (user === undefined) throw new PageFault('link');
      return goOn(visit, user);
    },

    /** Where the flow begins and ends: with the first password set, there is nothing to see. */
    async getActivation(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await visits.openIn(request, reply);
      return answers.goTo(visit, accountSignInPath(visit.realm.userDomainId));
    },

    async openEnrolment(request: FastifyRequest, reply: FastifyReply): Promise<EnrolmentFlow> {
      const visit = await visits.openIn(request, reply);
      return {
        visit,
        ...activationPlace(visit),
        base: activationPath(visit.realm.userDomainId),
        isRequired: true,
        done: async () => activated(visit),
      };
    },
  };
}
