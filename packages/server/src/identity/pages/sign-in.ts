// Signing in: name, password and code in one form, then what the password alone did not settle.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type SignInRequest, signInPath } from '../sessions/login-interactions.ts';
import type { AuthenticatedUser } from '../sessions/sessions.ts';
import type { Answers } from './answers.ts';
import type { PagesDeps, RelyingParty } from './deps.ts';
import type { EnrolmentFlow } from './enrolment.ts';
import { PageFault } from './faults.ts';
import type { Faults } from './fields.ts';
import { readAnswer } from './passkey-answer.ts';
import { accountFlow, accountPath, forgottenPath } from './paths.ts';
import type { Step, StepPlace, Steps } from './steps.ts';
import { passkeyView, type StepFacts, stepView } from './views/sign-in.ts';
import { originOf, type RealmVisit, rememberBrowser, type Visits } from './visits.ts';

/** A visit in the middle of a sign-in. */
export type FlowVisit = RealmVisit & {
  /** Left out where nobody but the account page asks. */
  readonly asked?: SignInRequest | undefined;
  readonly base: string;
  /** Ties forms to this sign-in. */
  readonly place: string;
  readonly at: StepPlace;
};

type Deps = Pick<PagesDeps, 'accounts' | 'interactions' | 'sessions' | 'clock'> & {
  readonly visits: Visits;
  readonly answers: Answers;
  readonly steps: Steps;
  readonly rp: RelyingParty;
};

export type SignIn = ReturnType<typeof createSignIn>;

/** `jane@acme` in the realm `acme` is `jane`: the first step of others asks for this form. */
export function withoutDomain(name: string, userDomainId: string): string {
  const trimmed = name.trim();
  const end = `@${userDomainId}`;
  const isWhole = trimmed.toLowerCase().endsWith(end) && trimmed.length > end.length;
  return isWhole ? trimmed.slice(0, -end.length) : trimmed;
}

const secondsOfMinute = 60;

export function createSignIn(deps: Deps) {
  const { accounts, interactions, sessions, clock, visits, answers, steps, rp } = deps;

  async function open(request: FastifyRequest, reply: FastifyReply): Promise<FlowVisit> {
    const visit = await visits.openIn(request, reply);
    const { organizationId, userDomainId } = visit.realm;
    const uid = visit.request.params['uid'] ?? '';
    const place = `sign-in ${userDomainId} ${uid}`;
    const at = { organizationId, browser: visit.browser, place };
    const flow = { base: signInPath(userDomainId, uid), place, at };
    if (uid === accountFlow) return { ...visit, ...flow };
    const asked = await interactions.details(userDomainId, request.raw, reply.raw);
    if (asked?.uid !== uid) throw new PageFault('stale');
    return { ...visits.speaking(visit, asked.locales), ...flow, asked };
  }

  function show(
    visit: FlowVisit,
    more: Partial<Pick<StepFacts, 'username' | 'refusal'>> & { faults?: Faults; status?: number },
  ): FastifyReply {
    const { words, realm, base, place, asked, request } = visit;
    const { userDomainId } = realm;
    const back = asked === undefined ? '' : `?flow=${encodeURIComponent(asked.uid)}`;
    const view = stepView(words, {
      token: visits.tokenOf(visit, place),
      base,
      domain: userDomainId,
      client: asked && { name: asked.clientName, redirectUri: asked.redirectUri },
      usesRecoveryCode: (request.body?.['with'] ?? request.query['with']) === 'recovery',
      forgottenPath: forgottenPath(userDomainId) + back,
      faults: more.faults ?? {},
      username: more.username,
      refusal: more.refusal,
    });
    return answers.page(visit, { ...view, status: more.status ?? 200 });
  }

  async function finish(visit: FlowVisit, signedIn: AuthenticatedUser): Promise<FastifyReply> {
    const { realm, request, reply } = visit;
    const who = [realm.userDomainId, request.raw, reply.raw] as const;
    if (visit.asked === undefined) {
      const sessionId = await sessions.start(...who, signedIn);
      if (sessionId === undefined) throw new PageFault('stale');
      return answers.goTo(visit, accountPath(realm.userDomainId));
    }
    const address = await interactions.finish(...who, signedIn);
    if (address === undefined) throw new PageFault('stale');
    return answers.goTo(visit, address);
  }

  function refuse(visit: FlowVisit, username: string, retryAfterSeconds?: number): FastifyReply {
    const { words, reply } = visit;
    if (retryAfterSeconds === undefined) {
      return show(visit, { username, refusal: words.step.wrong, status: 401 });
    }
    reply.header('retry-after', String(retryAfterSeconds));
    const minutes = Math.ceil(retryAfterSeconds / secondsOfMinute);
    return show(visit, { username, refusal: words.step.busy(minutes), status: 429 });
  }

  return {
    open,

    async get(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await open(request, reply);
      const { asked, realm } = visit;
      const hint = asked === undefined ? visit.request.query['login_hint'] : asked.loginHint;
      return show(visit, { username: withoutDomain(hint ?? '', realm.userDomainId) });
    },

    async post(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await open(request, reply);
      visits.demandForm(visit, visit.place);
      const { words, realm, base, at, asked } = visit;
      const { username = '', password = '', code = '' } = visit.request.body;
      const { fields, required } = words;
      const missing = {
        ...(username.trim() === '' ? { username: required(fields.username) } : {}),
        ...(password === '' ? { password: required(fields.password) } : {}),
      };
      if (Object.keys(missing).length > 0) {
        return show(visit, { username, faults: missing, status: 422 });
      }
      const result = await accounts.authenticate({
        organizationId: realm.organizationId,
        username: withoutDomain(username, realm.userDomainId),
        password,
        otp: code.trim() === '' ? undefined : code,
        origin: originOf(visit, asked?.clientId),
        kind: 'page',
      });
      if (!result.ok) return refuse(visit, username, result.retryAfterSeconds);
      rememberBrowser(visit);
      const { user, methods, needs, provenAt } = result;
      const { userId } = user;
      if (needs === undefined) return finish(visit, { userId, methods, provenAt });
      const name = needs === 'enrolment' ? 'enrol' : 'passkey';
      await steps.put(at, { name, userId, methods, since: provenAt }, provenAt);
      return answers.goTo(visit, `${base}/${name === 'enrol' ? 'one-time-code' : 'passkey'}`);
    },

    async cancel(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await open(request, reply);
      visits.demandForm(visit, visit.place);
      const { userDomainId } = visit.realm;
      const address = await interactions.deny(userDomainId, request.raw, reply.raw);
      if (address === undefined) throw new PageFault('stale');
      return answers.goTo(visit, address);
    },

    /** Setting up one-time codes in the middle of a sign-in, which goes on afterwards. */
    async openEnrolment(request: FastifyRequest, reply: FastifyReply): Promise<EnrolmentFlow> {
      const visit = await open(request, reply);
      return {
        visit,
        at: visit.at,
        place: visit.place,
        base: visit.base,
        isRequired: true,
        leadsTo: visit.asked?.redirectUri,
        done: ({ userId, methods }, provenAt) => finish(visit, { userId, methods, provenAt }),
      };
    },

    async getPasskey(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await open(request, reply);
      const step = await steps.find(visit.at);
      if (step?.name !== 'passkey') return answers.goTo(visit, visit.base);
      return askPasskey(visit, step, false);
    },

    async postPasskey(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await open(request, reply);
      visits.demandForm(visit, visit.place);
      const { at, asked, request: page } = visit;
      const step = await steps.find(at);
      if (step?.name !== 'passkey') throw new PageFault('stale');
      const user = await steps.demandUser(at, step);
      const response = readAnswer(page.body['response']);
      const origin = originOf(visit, asked?.clientId);
      const provenAt = clock.now();
      if (!(await accounts.passkeys.authenticate(user, response, rp, origin))) {
        return askPasskey(visit, step, true);
      }
      if ((await steps.take(at)) === undefined) throw new PageFault('stale');
      rememberBrowser(visit);
      return finish(visit, { userId: user.userId, methods: [...step.methods, 'hwk'], provenAt });
    },
  };

  async function askPasskey(visit: FlowVisit, step: Step, isWrong: boolean): Promise<FastifyReply> {
    const user = await steps.demandUser(visit.at, step);
    const options = await accounts.passkeys.authenticationOptions(user, rp);
    const view = passkeyView(visit.words, {
      token: visits.tokenOf(visit, visit.place),
      base: visit.base,
      options,
      isWrong,
      redirectUri: visit.asked?.redirectUri,
    });
    return answers.page(visit, { ...view, status: isWrong ? 401 : 200 });
  }
}
