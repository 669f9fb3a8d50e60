// The general entry: who comes without an application says first to which user domain he belongs.
import { defined } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { portalPath, userDomainOfHost } from '../clients/portal-urls.ts';
import type { Answers } from './answers.ts';
import type { PagesDeps } from './deps.ts';
import { accountPath, accountSignInPath, entryPath } from './paths.ts';
import { entryView } from './views/sign-in.ts';
import type { Visit, Visits } from './visits.ts';

type Deps = Pick<PagesDeps, 'findRealm'> & {
  readonly visits: Visits;
  readonly answers: Answers;
  readonly portalDomain: string | undefined;
  /** `https://login.example.com`: the portal's hosts send people on to it. */
  readonly origin: string;
  /** Of the portal that asks for the user domain. */
  readonly portalOrigin: string;
};

/** A name may hold an `@` itself, so the domain is what follows the last one. */
const wholeName = /^(.+)@([^@]+)$/;

const signInAtPortal = `${portalPath}/sign-in`;

export function createEntry(deps: Deps) {
  const { findRealm, visits, answers, portalDomain, origin, portalOrigin } = deps;

  function ask(visit: Visit, who?: string, fault?: string): FastifyReply {
    const view = entryView(visit.words, {
      token: visits.tokenOf(visit, entryPath),
      action: visit.path,
      faults: defined({ who: fault }),
      ...defined({ who }),
    });
    const status = fault === undefined ? 200 : 422;
    const leadsTo = visit.request.params['to'] === undefined ? origin : portalOrigin;
    return answers.page(visit, { ...view, status, leadsTo });
  }

  /** Whoever comes from the portal goes back to it: it asks the user domain in its own name. */
  function addressFor(visit: Visit, userDomainId: string, name: string): string {
    const { to } = visit.request.params;
    if (to === undefined) {
      const hint = new URLSearchParams({ login_hint: name });
      return `${origin}${accountSignInPath(userDomainId)}?${hint}`;
    }
    const wanted = Buffer.from(to, 'base64url').toString();
    const query = new URLSearchParams({ domain: userDomainId, login_hint: name, to: wanted });
    return `${portalOrigin}${signInAtPortal}?${query}`;
  }

  return {
    async get(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = visits.open(request, reply);
      const client = userDomainOfHost(request.hostname, portalDomain);
      const realm = client === undefined ? undefined : await findRealm(client);
      if (realm === undefined) return ask(visit);
      return answers.goTo(visit, origin + accountPath(realm.userDomainId));
    },

    async post(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = visits.open(request, reply);
      visits.demandForm(visit, entryPath);
      const { words } = visit;
      const who = (visit.request.body['who'] ?? '').trim();
      if (who === '') return ask(visit, who, words.required(words.entry.label));
      const [, name, domain = ''] = wholeName.exec(who) ?? [];
      if (name === undefined) return ask(visit, who, words.entry.form);
      const realm = await findRealm(domain.toLowerCase());
      if (realm === undefined) return ask(visit, who, words.entry.unknown);
      return answers.goTo(visit, addressFor(visit, realm.userDomainId, name));
    },
  };
}
