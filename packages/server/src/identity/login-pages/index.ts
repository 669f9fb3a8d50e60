// The door of the pages: what people see when they sign in, and what they may do about it afterwards.
import type { FastifyInstance } from 'fastify';
import { deriveKey } from '../../platform/index.ts';
import { createPortalPlaces, portalPath } from '../portal-places.ts';
import type { Shown } from '../shown.ts';
import { createAccount } from './handlers/account.ts';
import { createAccountChanges } from './handlers/account-changes.ts';
import type { PageSettings, PagesDeps } from './handlers/dependencies.ts';
import { createLinks } from './handlers/email-links.ts';
import { createEnrolment } from './handlers/one-time-code-setup.ts';
import { createShown } from './handlers/provider-pages.ts';
import { createSignIn } from './handlers/sign-in.ts';
import { createFront, type TakeSignUp } from './handlers/sign-up.ts';
import { createEntry } from './handlers/user-domain.ts';
import { createPageAssets, type PageAssets } from './html/page-assets.ts';
import type { Frame } from './html/page-layout.ts';
import { frontPages, pageTable } from './page-list.ts';
import { registerAssets, registerPageRoutes } from './page-routes.ts';
import { createFormTokens } from './requests/csrf-tokens.ts';
import { createVisits } from './requests/page-context.ts';
import { createAnswers } from './requests/page-response.ts';
import { createSteps } from './requests/sign-in-steps.ts';

export type { PageSettings } from './handlers/dependencies.ts';
export type { TakeSignUp } from './handlers/sign-up.ts';

/** Made first: the authorization server shows some pages by itself, and knows no accounts. */
export type PageFrame = Frame & { readonly assets: PageAssets; readonly shown: Shown };

export function createPageFrame({
  signInName: name = 'Switchyard',
  supportContact: support,
}: PageSettings): PageFrame {
  const frame = { brand: { name, support }, assets: createPageAssets() };
  return { ...frame, shown: createShown(frame) };
}

export type Pages = {
  register(app: FastifyInstance): void;
  /** Those for whoever has no account yet: the first page, and the form to sign up. */
  registerFront(app: FastifyInstance, take: TakeSignUp): void;
};

export function createPages(deps: PagesDeps & { readonly frame: PageFrame }): Pages {
  const { settings, masterKey, frame } = deps;
  const { authUrl, baseUrl = authUrl } = settings;
  const { origin, hostname } = new URL(authUrl);
  const { origin: portalOrigin } = new URL(baseUrl);
  const answers = createAnswers(frame);
  const tokens = createFormTokens(deriveKey(masterKey, 'page-forms'));
  const visits = createVisits({ ...deps, origin, tokens });
  const steps = createSteps({ ...deps, key: deriveKey(masterKey, 'page-steps') });
  const rp = { id: hostname, name: frame.brand.name, origin };
  const parts = { ...deps, visits, answers, steps, rp, origin };
  const enrolment = createEnrolment(parts);
  const account = createAccount(parts);
  const places = createPortalPlaces({ baseUrl, portalDomain: settings.portalDomain });
  /** Where it asks nobody for the user domain again. */
  const portalOf = (userDomainId: string): string => {
    const signIn = `${places.originsOf(userDomainId).at(-1)}${portalPath}/sign-in`;
    return `${signIn}?${new URLSearchParams({ domain: userDomainId, to: portalPath })}`;
  };
  const routes = pageTable({
    enrolment,
    account,
    entry: createEntry({ ...parts, portalDomain: settings.portalDomain, portalOrigin }),
    signIn: createSignIn(parts),
    links: createLinks({ ...parts, portalOf }),
    changes: createAccountChanges({ ...parts, account, enrolment }),
  });
  const portalAt = portalOrigin === origin ? portalPath : portalOrigin + portalPath;
  const shown = { visits, answers, assets: frame.assets };
  return {
    register(app) {
      registerPageRoutes(app, routes, shown);
      registerAssets(app, shown);
    },
    registerFront(app, take) {
      registerPageRoutes(app, frontPages(createFront({ visits, answers, take, portalAt })), shown);
    },
  };
}
