// HTML of the form that a passkey fills: it needs JavaScript and shows a message without it.
import { type Html, html } from '../../../http/index.ts';
import { hiddenField, renderForm } from '../html/form-fields.ts';
import { emptyHtml } from '../html/page-layout.ts';

export type PasskeyFormData = {
  readonly token: string;
  readonly action: string;
  /** The WebAuthn options for the browser. */
  readonly options: unknown;
  readonly kind: 'known' | 'new';
  readonly button: string;
  /** Hidden until the browser reports an error. */
  readonly problem: string;
  readonly isWrong: boolean;
  readonly needsScript: string;
  readonly fields: readonly Html[];
};

export function renderPasskeyForm(parts: PasskeyFormData): Html {
  const { token, action, options, kind, isWrong } = parts;
  return html`<div id="passkey-options" data-kind="${kind}" data-options="${JSON.stringify(options)}"></div>
<div id="passkey-problem" class="summary" role="alert"${isWrong ? emptyHtml : { html: ' hidden' }}><p>${parts.problem}</p></div>
<noscript><div class="summary"><p>${parts.needsScript}</p></div></noscript>
${renderForm({
  id: 'passkey',
  action,
  token,
  isChecked: true,
  parts: [
    hiddenField('response', ''),
    ...parts.fields,
    html`<button type="submit" class="primary" id="passkey-button" hidden>${parts.button}</button>
`,
  ],
})}`;
}
