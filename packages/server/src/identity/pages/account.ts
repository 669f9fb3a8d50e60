// The account page: what somebody may see and change of his own sign-in.
import { defined } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../accounts/index.ts';
import type { CurrentSession } from '../sessions/sessions.ts';
import type { Answers } from './answers.ts';
import type { PagesDeps } from './deps.ts';
import { accountPath, accountSignInPath, signedOutPath } from './paths.ts';
import type { StepPlace, Steps } from './steps.ts';
import { accountView, type Saved } from './views/account.ts';
import { doneView } from './views/notice.ts';
import { confirmView } from './views/password.ts';
import { originOf, type RealmVisit, rememberBrowser, type Visits } from './visits.ts';

const signInsRead = 50;
/** After that the password is asked for again. */
const confirmedSeconds = 300;

/** What a password that was just typed opens. */
const guardedPages = ['password', 'one-time-code', 'recovery-codes', 'passkeys'] as const;
export type GuardedPage = (typeof guardedPages)[number];

export type AccountVisit = RealmVisit & {
  readonly session: CurrentSession;
  readonly user: User;
  readonly base: string;
  readonly place: string;
  readonly at: StepPlace;
};

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export type AccountDeps = Pick<PagesDeps, 'accounts' | 'sessions' | 'clock'> & {
  readonly visits: Visits;
  readonly answers: Answers;
  readonly steps: Steps;
};

export type Account = ReturnType<typeof createAccount>;

export function createAccount({ accounts, sessions, visits, answers, steps }: AccountDeps) {
  /** Nothing where nobody is signed in: the browser is on its way to the sign-in then. */
  async function open(
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<AccountVisit | undefined> {
    const visit = await visits.openIn(request, reply);
    const { organizationId, userDomainId } = visit.realm;
    const session = await sessions.current(userDomainId, request.raw, reply.raw);
    const user = session && (await accounts.find(organizationId, session.userId));
    if (session === undefined || user === undefined) {
      answers.goTo(visit, accountSignInPath(userDomainId));
      return undefined;
    }
    const place = `account ${userDomainId} ${session.sessionId}`;
    const at = { organizationId, browser: visit.browser, place };
    return { ...visit, session, user, base: accountPath(userDomainId), place, at };
  }

  const confirmedPlace = ({ at }: AccountVisit): StepPlace => ({
    ...at,
    place: `${at.place} confirmed`,
  });

  function askPassword(
    visit: AccountVisit,
    next: GuardedPage,
    fault?: { text: string; status: number },
  ): FastifyReply {
    const { words, base, place, user } = visit;
    const view = confirmView(words, {
      token: visits.tokenOf(visit, place),
      action: `${base}/confirm`,
      username: user.username,
      asksCode: user.secondFactor === 'On',
      next,
      back: base,
      faults: defined({ password: fault?.text }),
    });
    return answers.page(visit, { ...view, path: `${base}/${next}`, status: fault?.status ?? 200 });
  }

  /** The page itself, where the password was typed a moment ago; else the question for it. */
  async function openGuarded(
    request: FastifyRequest,
    reply: FastifyReply,
    page: GuardedPage,
  ): Promise<AccountVisit | undefined> {
    const visit = await open(request, reply);
    if (visit === undefined) return undefined;
    if (request.method === 'POST') visits.demandForm(visit, visit.place);
    if ((await steps.find(confirmedPlace(visit))) !== undefined) return visit;
    askPassword(visit, page);
    return undefined;
  }

  const posted =
    (act: (visit: AccountVisit) => Promise<FastifyReply>): Handler =>
    async (request, reply) => {
      const visit = await open(request, reply);
      if (visit === undefined) return reply;
      visits.demandForm(visit, visit.place);
      return act(visit);
    };

  const saved = (visit: AccountVisit, what: Saved): FastifyReply =>
    answers.goTo(visit, `${visit.base}?saved=${what}`);

  async function confirm(visit: AccountVisit): Promise<FastifyReply> {
    const { words, user, realm, request } = visit;
    const { password = '', code = '', next } = request.body;
    const page = guardedPages.find((each) => each === next);
    if (page === undefined) return answers.goTo(visit, visit.base);
    if (password === '') {
      const text = words.required(words.fields.password);
      return askPassword(visit, page, { text, status: 422 });
    }
    const result = await accounts.authenticate({
      organizationId: realm.organizationId,
      username: user.username,
      password,
      otp: code.trim() === '' ? undefined : code,
      origin: originOf(visit),
      kind: 'page',
    });
    // Right, and a second factor was given when the session began: that much is needed here.
    if (result.ok && result.user.userId === user.userId) {
      rememberBrowser(visit);
      const { provenAt } = result;
      const step = { userId: user.userId, methods: [], since: provenAt };
      const place = confirmedPlace(visit);
      await steps.put(place, { ...step, name: 'confirmed' }, provenAt, confirmedSeconds);
      return answers.goTo(visit, `${visit.base}/${page}`);
    }
    const wait = result.ok ? undefined : result.retryAfterSeconds;
    if (wait === undefined)
      return askPassword(visit, page, { text: words.confirm.wrong, status: 401 });
    visit.reply.header('retry-after', String(wait));
    const text = words.step.busy(Math.ceil(wait / 60));
    return askPassword(visit, page, { text, status: 429 });
  }

  async function endSession(visit: AccountVisit): Promise<FastifyReply> {
    const { user, request, session } = visit;
    const sessionId = request.body['session'] ?? '';
    // Of this user's alone, whatever was sent.
    if (sessionId !== session.sessionId) {
      await sessions.end(user.organizationId, user.userId, sessionId);
    }
    return saved(visit, 'session');
  }

  async function endOthers(visit: AccountVisit): Promise<FastifyReply> {
    const { user, session } = visit;
    await sessions.endOthers(user.organizationId, user.userId, session.sessionId);
    return saved(visit, 'others');
  }

  async function signOut(visit: AccountVisit): Promise<FastifyReply> {
    const { user, session, realm } = visit;
    await sessions.end(user.organizationId, user.userId, session.sessionId);
    return answers.goTo(visit, signedOutPath(realm.userDomainId));
  }

  return {
    open,
    openGuarded,
    saved,

    async get(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await open(request, reply);
      if (visit === undefined) return reply;
      const { words, user, session, realm } = visit;
      const { organizationId, userDomainId } = realm;
      const [opened, signIns, passkeys] = await Promise.all([
        sessions.list(organizationId, user.userId),
        accounts.signIns.list(user, { limit: signInsRead }),
        accounts.passkeys.list(user),
      ]);
      const what = visit.request.query['saved'] ?? '';
      const view = accountView(words, {
        token: visits.tokenOf(visit, visit.place),
        base: visit.base,
        domain: userDomainId,
        user,
        sessionId: session.sessionId,
        sessions: opened,
        signIns,
        passkeys: passkeys.length,
        saved: Object.hasOwn(words.account.saved, what) ? (what as Saved) : undefined,
      });
      return answers.page(visit, view);
    },

    confirm: posted(confirm),
    endSession: posted(endSession),
    endOthers: posted(endOthers),
    signOut: posted(signOut),

    async getSignedOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = await visits.openIn(request, reply);
      const { logout } = visit.words;
      const way = { address: accountSignInPath(visit.realm.userDomainId), text: logout.again };
      return answers.page(visit, doneView(logout.doneTitle, [logout.done], way));
    },
  };
}
