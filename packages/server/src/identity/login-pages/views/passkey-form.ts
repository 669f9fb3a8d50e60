// The form that a passkey fills: the one place of the pages that needs JavaScript, and says so without it.
import { type Html, html } from '../../../http/index.ts';
import { form, hidden } from '../html/form-fields.ts';
import { nothing } from '../html/page-layout.ts';

export type PasskeyParts = {
  readonly token: string;
  readonly action: string;
  /** What the server asks the browser for, as WebAuthn has it. */
  readonly options: unknown;
  readonly kind: 'known' | 'new';
  readonly button: string;
  /** Hidden until something goes wrong in the browser. */
  readonly problem: string;
  readonly isWrong: boolean;
  readonly needsScript: string;
  readonly fields: readonly Html[];
};

export function passkeyParts(parts: PasskeyParts): Html {
  const { token, action, options, kind, isWrong } = parts;
  return html`<div id="passkey-options" data-kind="${kind}" data-options="${JSON.stringify(options)}"></div>
<div id="passkey-problem" class="summary" role="alert"${isWrong ? nothing : { html: ' hidden' }}><p>${parts.problem}</p></div>
<noscript><div class="summary"><p>${parts.needsScript}</p></div></noscript>
${form({
  id: 'passkey',
  action,
  token,
  isChecked: true,
  parts: [
    hidden('response', ''),
    ...parts.fields,
    html`<button type="submit" class="primary" id="passkey-button" hidden>${parts.button}</button>
`,
  ],
})}`;
}
