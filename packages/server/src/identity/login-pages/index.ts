// The interface of the sign-in pages: sign-in, sign-up, email links and the account page.
import type { FastifyInstance } from 'fastify';
import { deriveKey } from '../../platform/index.ts';
import { createPortalUrls, portalPath } from '../clients/portal-urls.ts';
import type { PageRenderer } from '../oauth/rendered-pages.ts';
import { createAccountHandlers } from './handlers/account.ts';
import { createAccountChangeHandlers } from './handlers/account-changes.ts';
import type { LoginPageDependencies, LoginPageSettings } from './handlers/dependencies.ts';
import { createEmailLinkHandlers } from './handlers/email-links.ts';
import { createEnrolmentHandlers } from './handlers/one-time-code-setup.ts';
import { createProviderPages } from './handlers/provider-pages.ts';
import { createSignInHandlers } from './handlers/sign-in.ts';
import { createSignUpHandlers, type SubmitSignUp } from './handlers/sign-up.ts';
import { createUserDomainHandlers } from './handlers/user-domain.ts';
import { createPageAssets, type PageAssets } from './html/page-assets.ts';
import type { LayoutOptions } from './html/page-layout.ts';
import { createCsrfTokens } from './http/csrf-tokens.ts';
import { createPageContexts } from './http/page-context.ts';
import { createPageResponses } from './http/page-response.ts';
import { createSignInSteps } from './http/sign-in-step-store.ts';
import { listPages, listPublicPages } from './page-list.ts';
import { registerAssetRoutes, registerPageRoutes } from './page-routes.ts';

export type { LoginPageSettings } from './handlers/dependencies.ts';
export type { SubmitSignUp } from './handlers/sign-up.ts';

/** Created first: the authorization server shows some pages and does not depend on accounts. */
export type LoginPageFrame = LayoutOptions & {
  readonly assets: PageAssets;
  readonly providerPages: PageRenderer;
};

export function createLoginPageFrame({
  signInBrandName: name = 'Switchyard',
  supportContact: support,
}: LoginPageSettings): LoginPageFrame {
  const frame = { brand: { name, support }, assets: createPageAssets() };
  return { ...frame, providerPages: createProviderPages(frame) };
}

export type LoginPages = {
  register(app: FastifyInstance): void;
  /** Pages for visitors without an account: the home page and the sign-up form. */
  registerPublicPages(app: FastifyInstance, submitSignUp: SubmitSignUp): void;
};

export function createLoginPages(
  deps: LoginPageDependencies & { readonly frame: LoginPageFrame },
): LoginPages {
  const { settings, masterKey, frame } = deps;
  const { authUrl, baseUrl = authUrl } = settings;
  const { origin, hostname } = new URL(authUrl);
  const { origin: portalOrigin } = new URL(baseUrl);
  const responses = createPageResponses(frame);
  const csrfTokens = createCsrfTokens(deriveKey(masterKey, 'page-forms'));
  const contexts = createPageContexts({ ...deps, origin, tokens: csrfTokens });
  const steps = createSignInSteps({ ...deps, key: deriveKey(masterKey, 'page-steps') });
  const rp = { id: hostname, name: frame.brand.name, origin };
  const shared = { ...deps, contexts, responses, steps, rp, origin };
  const enrolmentHandlers = createEnrolmentHandlers(shared);
  const accountHandlers = createAccountHandlers(shared);
  const portalAddresses = createPortalUrls({ baseUrl, portalDomain: settings.portalDomain });
  /** The sign-in of the portal that already knows the user domain. */
  const portalSignInUrl = (userDomainId: string): string => {
    const signIn = `${portalAddresses.listOrigins(userDomainId).at(-1)}${portalPath}/sign-in`;
    return `${signIn}?${new URLSearchParams({ domain: userDomainId, to: portalPath })}`;
  };
  const pages = listPages({
    enrolment: enrolmentHandlers,
    account: accountHandlers,
    userDomain: createUserDomainHandlers({
      ...shared,
      portalDomain: settings.portalDomain,
      portalOrigin,
    }),
    signIn: createSignInHandlers(shared),
    links: createEmailLinkHandlers({ ...shared, portalSignInUrl }),
    changes: createAccountChangeHandlers({ ...shared, accountHandlers, enrolmentHandlers }),
  });
  const portalUrl = portalOrigin === origin ? portalPath : portalOrigin + portalPath;
  const rendering = { contexts, responses, assets: frame.assets };
  return {
    register(app) {
      registerPageRoutes(app, pages, rendering);
      registerAssetRoutes(app, rendering);
    },
    registerPublicPages(app, submitSignUp) {
      registerPageRoutes(
        app,
        listPublicPages(createSignUpHandlers({ contexts, responses, submitSignUp, portalUrl })),
        rendering,
      );
    },
  };
}
