// HTML of pages with one message: an error, a completed action, a question, a sign-out.
import { type Html, html } from '../../../http/index.ts';
import { renderForm, submitButton } from '../html/form-fields.ts';
import { type PageErrorKind, pageErrorStatuses } from '../html/page-errors.ts';
import type { PageContent } from '../html/page-layout.ts';
import { emptyHtml } from '../html/page-layout.ts';
import type { PageTexts } from '../locales/page-texts.ts';

export type NextLink = { readonly address: string; readonly text: string };

function renderNextLink(next: NextLink | undefined): Html {
  if (next === undefined) return emptyHtml;
  return html`<p class="way"><a class="button primary" href="${next.address}">${next.text}</a></p>`;
}

/** Contains the request ID, so that support can find the request in the log. */
export function renderErrorPage(
  texts: PageTexts,
  kind: PageErrorKind,
  requestId: string,
  { next, error }: { readonly next?: NextLink | undefined; readonly error?: string } = {},
): PageContent {
  const { title, text } = texts.errors[kind];
  // The error code of RFC 6749, for the operator of the application.
  const oauthError = error === undefined ? emptyHtml : html` · <code>${error}</code>`;
  return {
    status: pageErrorStatuses[kind],
    title,
    hasErrors: true,
    body: html`<h1>${title}</h1>
<p class="lead">${text}</p>
${renderNextLink(next)}
<p class="request">${texts.errors.requestId} <code>${requestId}</code>${oauthError}</p>`,
  };
}

/** `header`: HTML above the title, for example the steps of the sign-up. */
export function renderDonePage(
  title: string,
  paragraphs: readonly string[],
  next?: NextLink,
  header: Html = emptyHtml,
): PageContent {
  const [lead = '', ...others] = paragraphs;
  return {
    title,
    body: html`${header}<h1>${title}</h1>
<p class="lead">${lead}</p>
${others.map((text) => html`<p>${text}</p>`)}
${renderNextLink(next)}`,
  };
}

/** A question with one button. */
export function renderQuestionPage(
  { title, lead, button }: { title: string; lead: string; button: string },
  { action, token }: { action: string; token: string },
  backLink?: NextLink,
): PageContent {
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead">${lead}</p>
${renderForm({ action, token, parts: [submitButton(button)] })}
${backLink === undefined ? emptyHtml : html`<div class="more"><a href="${backLink.address}">${backLink.text}</a></div>`}`,
  };
}

/** `hiddenForm` comes from the authorization server; the buttons refer to it by its ID. */
export function renderLogoutPage(
  texts: PageTexts,
  hiddenForm: string,
  stay: string | undefined,
): PageContent {
  const { logout } = texts;
  return {
    title: logout.title,
    path: undefined,
    formTarget: stay,
    body: html`<h1>${logout.title}</h1>
<p class="lead">${logout.lead}</p>
${{ html: hiddenForm }}
<button type="submit" class="primary" form="op.logoutForm" name="logout" value="yes" autofocus>${texts.signOut}</button>
<div class="more"><button type="submit" class="lesser" form="op.logoutForm">${logout.stay}</button></div>`,
  };
}
