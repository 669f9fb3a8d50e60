// The views of one message: what stopped a page, what is done, and the question before a sign-out.
import { type Html, html } from '../../../http/index.ts';
import { form, submit } from '../html/form-fields.ts';
import { type FaultKind, faultKinds } from '../html/page-errors.ts';
import type { Answer } from '../html/page-layout.ts';
import { nothing } from '../html/page-layout.ts';
import type { Words } from '../locales/languages.ts';

export type Way = { readonly address: string; readonly text: string };

function wayOn(way: Way | undefined): Html {
  if (way === undefined) return nothing;
  return html`<p class="way"><a class="button primary" href="${way.address}">${way.text}</a></p>`;
}

/** With the request's name: whoever helps finds it in the log. */
export function faultView(
  words: Words,
  kind: FaultKind,
  requestId: string,
  { way, error }: { readonly way?: Way | undefined; readonly error?: string } = {},
): Answer {
  const { status, title, text } = faultKinds[kind];
  // For those who run the application: RFC 6749's word.
  const word = error === undefined ? nothing : html` · <code>${error}</code>`;
  return {
    status,
    title: title(words),
    isFaulty: true,
    body: html`<h1>${title(words)}</h1>
<p class="lead">${text(words)}</p>
${wayOn(way)}
<p class="request">${words.faults.request} <code>${requestId}</code>${word}</p>`,
  };
}

/** `above`: where on a longer way this is. */
export function doneView(
  title: string,
  texts: readonly string[],
  way?: Way,
  above: Html = nothing,
): Answer {
  const [lead = '', ...others] = texts;
  return {
    title,
    body: html`${above}<h1>${title}</h1>
<p class="lead">${lead}</p>
${others.map((text) => html`<p>${text}</p>`)}
${wayOn(way)}`,
  };
}

/** A question with one button. */
export function askView(
  { title, lead, button }: { title: string; lead: string; button: string },
  { action, token }: { action: string; token: string },
  back?: Way,
): Answer {
  return {
    title,
    body: html`<h1>${title}</h1>
<p class="lead">${lead}</p>
${form({ action, token, parts: [submit(button)] })}
${back === undefined ? nothing : html`<div class="more"><a href="${back.address}">${back.text}</a></div>`}`,
  };
}

/** `hiddenForm` is the authorization server's own; the button belongs to it by its name. */
export function logoutView(words: Words, hiddenForm: string, stay: string | undefined): Answer {
  const { logout } = words;
  return {
    title: logout.title,
    path: undefined,
    leadsTo: stay,
    body: html`<h1>${logout.title}</h1>
<p class="lead">${logout.lead}</p>
${{ html: hiddenForm }}
<button type="submit" class="primary" form="op.logoutForm" name="logout" value="yes" autofocus>${words.signOut}</button>
<div class="more"><button type="submit" class="lesser" form="op.logoutForm">${logout.stay}</button></div>`,
  };
}
