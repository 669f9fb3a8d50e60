// Handlers of the first sign-in step: users without an application enter their user domain.
import { defined } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { portalPath, userDomainOfHost } from '../../clients/portal-urls.ts';
import { accountPath, accountSignInPath, userDomainPath } from '../html/page-paths.ts';
import type { PageContext, PageContexts } from '../http/page-context.ts';
import type { PageResponses } from '../http/page-response.ts';
import { requiredFieldText } from '../locales/page-texts.ts';
import { renderUserDomainPage } from '../views/sign-in.ts';
import type { LoginPageDependencies } from './dependencies.ts';

type Deps = Pick<LoginPageDependencies, 'findRealm'> & {
  readonly contexts: PageContexts;
  readonly responses: PageResponses;
  readonly portalDomain: string | undefined;
  /** For example `https://login.example.com`: portal hosts redirect users to it. */
  readonly origin: string;
  /** The origin of the portal that asks for the user domain. */
  readonly portalOrigin: string;
};

/** A user name may contain an `@`, so the domain follows the last one. */
const qualifiedUsernamePattern = /^(.+)@([^@]+)$/;

const portalSignInPath = `${portalPath}/sign-in`;

export function createUserDomainHandlers(deps: Deps) {
  const { findRealm, contexts, responses, portalDomain, origin, portalOrigin } = deps;

  function showForm(context: PageContext, identifier?: string, error?: string): FastifyReply {
    const view = renderUserDomainPage(context.texts, {
      token: contexts.csrfTokenOf(context, userDomainPath),
      action: context.path,
      errors: defined({ identifier: error }),
      ...defined({ identifier }),
    });
    const status = error === undefined ? 200 : 422;
    const formTarget = context.request.params['to'] === undefined ? origin : portalOrigin;
    return responses.sendPage(context, { ...view, status, formTarget });
  }

  /** If the portal sent the user here, back to the portal: it starts its own authorization request. */
  function signInUrl(context: PageContext, userDomainId: string, name: string): string {
    const { to } = context.request.params;
    if (to === undefined) {
      const hint = new URLSearchParams({ login_hint: name });
      return `${origin}${accountSignInPath(userDomainId)}?${hint}`;
    }
    const portalPage = Buffer.from(to, 'base64url').toString();
    const query = new URLSearchParams({ domain: userDomainId, login_hint: name, to: portalPage });
    return `${portalOrigin}${portalSignInPath}?${query}`;
  }

  return {
    async get(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = contexts.create(request, reply);
      const client = userDomainOfHost(request.hostname, portalDomain);
      const realm = client === undefined ? undefined : await findRealm(client);
      if (realm === undefined) return showForm(context);
      return responses.redirect(context, origin + accountPath(realm.userDomainId));
    },

    async post(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const context = contexts.create(request, reply);
      contexts.requireCsrfToken(context, userDomainPath);
      const { texts } = context;
      const identifier = (context.request.body['identifier'] ?? '').trim();
      if (identifier === '')
        return showForm(context, identifier, requiredFieldText(texts, texts.userDomain.label));
      const [, name, domain = ''] = qualifiedUsernamePattern.exec(identifier) ?? [];
      if (name === undefined) return showForm(context, identifier, texts.userDomain.invalidFormat);
      const realm = await findRealm(domain.toLowerCase());
      if (realm === undefined) return showForm(context, identifier, texts.userDomain.unknown);
      return responses.redirect(context, signInUrl(context, realm.userDomainId, name));
    },
  };
}
