// The general entry: who comes without an application says first to which user domain he belongs.
import type { FastifyReply, FastifyRequest } from 'fastify';
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
};

/** A name may hold an `@` itself, so the domain is what follows the last one. */
const wholeName = /^(.+)@([^@]+)$/;

/** `acme` of `acme.portal.example`; undefined for every other host. */
export function clientOf(hostname: string, portalDomain: string | undefined): string | undefined {
  const name = hostname.toLowerCase();
  const end = `.${portalDomain?.toLowerCase()}`;
  if (portalDomain === undefined || !name.endsWith(end)) return undefined;
  const client = name.slice(0, -end.length);
  return client === '' || client.includes('.') ? undefined : client;
}

export function createEntry({ findRealm, visits, answers, portalDomain, origin }: Deps) {
  function ask(visit: Visit, who?: string, fault?: string): FastifyReply {
    const view = entryView(visit.words, {
      token: visits.tokenOf(visit, entryPath),
      faults: fault === undefined ? {} : { who: fault },
      ...(who === undefined ? {} : { who }),
    });
    const status = fault === undefined ? 200 : 422;
    return answers.page(visit, { ...view, status, leadsTo: origin });
  }

  return {
    async get(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const visit = visits.open(request, reply);
      const client = clientOf(request.hostname, portalDomain);
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
      const hint = new URLSearchParams({ login_hint: name });
      return answers.goTo(visit, `${origin}${accountSignInPath(realm.userDomainId)}?${hint}`);
    },
  };
}
