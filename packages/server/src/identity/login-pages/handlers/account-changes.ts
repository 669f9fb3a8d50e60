// The guarded part of the account page: password, one-time codes, recovery codes and passkeys.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PageFault } from '../html/page-errors.ts';
import type { StepPlace } from '../requests/sign-in-steps.ts';
import { askView } from '../views/messages.ts';
import { passkeysView } from '../views/passkeys.ts';
import { newPasswordView } from '../views/password.ts';
import type { Account, AccountDeps, AccountVisit, GuardedPage } from './account.ts';
import type { RelyingParty } from './dependencies.ts';
import { leastLength, newPasswordFaults } from './new-password.ts';
import type { Enrolment, EnrolmentFlow } from './one-time-code-setup.ts';
import { readAnswer } from './passkey-response.ts';

type Deps = AccountDeps & {
  readonly account: Account;
  readonly enrolment: Enrolment;
  readonly rp: RelyingParty;
};

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function createAccountChanges(deps: Deps) {
  const { account, enrolment, accounts, sessions, clock, visits, answers, steps, rp } = deps;

  const guarded =
    (page: GuardedPage, act: (visit: AccountVisit) => Promise<FastifyReply>): Handler =>
    async (request, reply) => {
      const visit = await account.openGuarded(request, reply, page);
      return visit === undefined ? reply : act(visit);
    };

  function begin(at: StepPlace, userId: string, name: 'enrol' | 'save'): Promise<void> {
    const since = clock.now();
    return steps.put(at, { name, userId, methods: [], since }, since);
  }

  function flowOf(visit: AccountVisit): EnrolmentFlow & { readonly userId: string } {
    return {
      visit,
      at: { ...visit.at, place: `${visit.at.place} one-time-code` },
      place: visit.place,
      base: visit.base,
      isRequired: false,
      keptSessionId: visit.session.sessionId,
      userId: visit.user.userId,
      done: async ({ methods }) =>
        account.saved(visit, methods.includes('otp') ? 'codes' : 'recovery'),
    };
  }

  async function openCodes(request: FastifyRequest, reply: FastifyReply, page: GuardedPage) {
    const visit = await account.openGuarded(request, reply, page);
    return visit === undefined ? undefined : flowOf(visit);
  }

  function showPassword(visit: AccountVisit, faults: Readonly<Record<string, string>>) {
    const { words, base, user } = visit;
    const view = newPasswordView(words, {
      token: visits.tokenOf(visit, visit.place),
      action: `${base}/password`,
      title: words.password.title,
      lead: words.password.lead,
      username: user.username,
      leastLength: leastLength(user),
      back: base,
      faults,
    });
    return answers.page(visit, { ...view, status: view.isFaulty === true ? 422 : 200 });
  }

  async function showPasskeys(visit: AccountVisit, isWrong: boolean): Promise<FastifyReply> {
    const { words, user, base } = visit;
    const options = await accounts.passkeys.registrationOptions(user, rp);
    const view = passkeysView(words, {
      token: visits.tokenOf(visit, visit.place),
      base,
      items: await accounts.passkeys.list(user),
      options,
      zone: user.zoneinfo,
      isWrong,
    });
    return answers.page(visit, { ...view, status: isWrong ? 422 : 200 });
  }

  async function postPassword(visit: AccountVisit): Promise<FastifyReply> {
    const { words, user, request, reply, realm, session } = visit;
    const faults = await newPasswordFaults(accounts, words, user, request.body);
    if (Object.keys(faults).length > 0) return showPassword(visit, faults);
    const { organizationId, userDomainId } = realm;
    await accounts.setPassword(organizationId, user.userId, request.body['password'] ?? '');
    // Every session has ended, this one too: a new one begins, under a new name.
    const { userId, methods } = session;
    const signedIn = { userId, methods, provenAt: clock.now() };
    const sessionId = await sessions.start(userDomainId, request.raw, reply.raw, signedIn);
    if (sessionId === undefined) throw new PageFault('stale');
    return account.saved(visit, 'password');
  }

  async function getRecovery(visit: AccountVisit): Promise<FastifyReply> {
    const flow = flowOf(visit);
    if ((await steps.find(flow.at))?.name === 'save') return enrolment.getCodes(flow);
    const { recovery } = visit.words;
    const token = visits.tokenOf(visit, visit.place);
    const ask = { title: recovery.renew, lead: recovery.renewLead, button: recovery.renew };
    const back = { address: visit.base, text: visit.words.cancel };
    return answers.page(visit, askView(ask, { action: `${visit.path}/renew`, token }, back));
  }

  async function renewRecovery(visit: AccountVisit): Promise<FastifyReply> {
    const flow = flowOf(visit);
    if (visit.user.secondFactor !== 'On') return answers.goTo(visit, visit.base);
    await begin(flow.at, visit.user.userId, 'save');
    return enrolment.renewCodes(flow);
  }

  async function addPasskey(visit: AccountVisit): Promise<FastifyReply> {
    const { user, request, words } = visit;
    const response = readAnswer(request.body['response']);
    const name = request.body['name'] ?? '';
    const isAdded = await accounts.passkeys.register(
      user,
      response,
      rp,
      name.trim() === '' ? words.passkeys.defaultName : name,
      visit.session.sessionId,
    );
    return isAdded ? account.saved(visit, 'passkey') : showPasskeys(visit, true);
  }

  async function removePasskey(visit: AccountVisit): Promise<FastifyReply> {
    await accounts.passkeys.remove(visit.user, visit.request.body['passkey'] ?? '');
    return account.saved(visit, 'removed');
  }

  return {
    getPassword: guarded('password', async (visit) => showPassword(visit, {})),
    postPassword: guarded('password', postPassword),

    /** Begins anew, unless it is under way or its recovery codes are still to be saved. */
    async getCode(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const flow = await openCodes(request, reply, 'one-time-code');
      if (flow === undefined) return reply;
      if ((await steps.find(flow.at)) === undefined) await begin(flow.at, flow.userId, 'enrol');
      return enrolment.get(flow);
    },

    openCode: (request: FastifyRequest, reply: FastifyReply) =>
      openCodes(request, reply, 'one-time-code'),

    openRecovery: (request: FastifyRequest, reply: FastifyReply) =>
      openCodes(request, reply, 'recovery-codes'),

    getRecovery: guarded('recovery-codes', getRecovery),
    renewRecovery: guarded('recovery-codes', renewRecovery),

    getPasskeys: guarded('passkeys', async (visit) => showPasskeys(visit, false)),
    addPasskey: guarded('passkeys', addPasskey),
    removePasskey: guarded('passkeys', removePasskey),
  };
}
