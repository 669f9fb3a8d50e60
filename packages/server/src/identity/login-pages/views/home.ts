// HTML of the home page of the login pages.
import { type Html, html } from '../../../http/index.ts';
import type { PageContent } from '../html/page-layout.ts';
import { signUpPath, userDomainPath } from '../html/page-paths.ts';
import type { PageTexts } from '../locales/page-texts.ts';

/** `portalUrl`: the portal may have another address than the sign-in pages. */
export function renderHomePage({ home }: PageTexts, portalUrl: string): PageContent {
  const row = (address: string, name: string, text: string): Html =>
    html`<li><div class="what"><strong><a href="${address}">${name}</a></strong><p>${text}</p></div></li>
`;
  return {
    title: home.title,
    body: html`<h1>${home.title}</h1>
<p class="lead">${home.lead}</p>
<ul class="rows">
${[
  row(portalUrl, home.portal, home.portalText),
  row(signUpPath, home.signUp, home.signUpText),
  row(userDomainPath, home.account, home.accountText),
  row('/docs', home.documentation, home.documentationText),
]}</ul>`,
  };
}
