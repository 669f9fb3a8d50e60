// The pages that the authorization server shows: an error, the question before a sign-out, the end of a sign-out.
import type { IncomingMessage } from 'node:http';
import type { PageError, PageRenderer, RenderedPage } from '../../oauth/rendered-pages.ts';
import type { PageErrorKind } from '../html/page-errors.ts';
import { type LayoutOptions, type PageContent, renderPage } from '../html/page-layout.ts';
import { accountSignInPath } from '../html/page-paths.ts';
import { requestLanguage } from '../http/page-context.ts';
import { pageHeadersFor } from '../http/page-response.ts';
import { type PageTexts, pageTexts } from '../locales/page-texts.ts';
import { renderDonePage, renderErrorPage, renderLogoutPage } from '../views/messages.ts';

const kindByOAuthError: Readonly<Record<string, PageErrorKind>> = {
  access_denied: 'accessDenied',
  invalid_client: 'clientInvalid',
  invalid_redirect_uri: 'clientInvalid',
  unauthorized_client: 'clientInvalid',
  temporarily_unavailable: 'tooManyRequests',
  server_error: 'serverError',
};

/** Error descriptions of oidc-provider for an expired sign-in; its error code has other meanings too. */
const expiredSessionPattern =
  /^(?:authorization request has expired|(?:authorization|interaction) session)/;

function errorKindOf({ error, description = '', status, realm }: PageError): PageErrorKind {
  if (realm === undefined && status === 404) return 'userDomainUnknown';
  return expiredSessionPattern.test(description)
    ? 'signInExpired'
    : (kindByOAuthError[error] ?? 'requestInvalid');
}

export function createProviderPages(layout: LayoutOptions): PageRenderer {
  function render(
    raw: IncomingMessage,
    buildContent: (texts: PageTexts) => PageContent,
  ): RenderedPage {
    const query = new URL(raw.url ?? '/', 'https://any.example').searchParams;
    const requested = (query.get('ui_locales') ?? '').split(' ').filter((locale) => locale !== '');
    const language = requestLanguage(raw, undefined, requested);
    const content = buildContent(pageTexts[language]);
    return { html: renderPage(layout, { ...content, language }), headers: pageHeadersFor(content) };
  }

  return {
    errorPage: (raw, data) =>
      render(raw, (texts) => renderErrorPage(texts, errorKindOf(data), data.requestId, data)),
    logoutPage: (raw, { form, redirectUri }) =>
      render(raw, (texts) => renderLogoutPage(texts, form, redirectUri)),
    signedOutPage: (raw, { realm }) =>
      render(raw, (texts) => {
        const { doneTitle, done, again } = texts.logout;
        return renderDonePage(doneTitle, [done], {
          address: accountSignInPath(realm),
          text: again,
        });
      }),
  };
}
