// The door of the pages: what people see when they sign in, and what they may do about it afterwards.
import type { FastifyInstance } from 'fastify';
import { deriveKey } from '../../platform/index.ts';
import { createPortalUrls, portalPath } from '../clients/portal-urls.ts';
import type { PageRenderer } from '../oauth/rendered-pages.ts';
import { createAccount } from './account.ts';
import { createAccountChanges } from './account-changes.ts';
import { createAnswers } from './answers.ts';
import { createPageAssets, type PageAssets } from './assets.ts';
import type { PageSettings, PagesDeps } from './deps.ts';
import { createEnrolment } from './enrolment.ts';
import { createEntry } from './entry.ts';
import { createFormTokens } from './form-tokens.ts';
import type { Frame } from './layout.ts';
import { createLinks } from './links.ts';
import { frontPages, pageTable } from './page-table.ts';
import { registerAssets, registerPageRoutes } from './routes.ts';
import { createShown } from './shown.ts';
import { createSignIn } from './sign-in.ts';
import { createFront, type TakeSignUp } from './sign-up.ts';
import { createSteps } from './steps.ts';
import { createVisits } from './visits.ts';

export type { PageSettings } from './deps.ts';
export type { TakeSignUp } from './sign-up.ts';

/** Made first: the authorization server shows some pages by itself, and knows no accounts. */
export type PageFrame = Frame & { readonly assets: PageAssets; readonly shown: PageRenderer };

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
  const places = createPortalUrls({ baseUrl, portalDomain: settings.portalDomain });
  /** Where it asks nobody for the user domain again. */
  const portalOf = (userDomainId: string): string => {
    const signIn = `${places.listOrigins(userDomainId).at(-1)}${portalPath}/sign-in`;
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
