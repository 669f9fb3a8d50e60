// HTML for the set-up of one-time codes: QR code and key, then the recovery codes, once.
import { html } from '../../../http/index.ts';
import {
  checkboxField,
  errorSummary,
  type FieldErrors,
  renderForm,
  secondaryButton,
  submitButton,
  textField,
} from '../html/form-fields.ts';
import type { PageContent } from '../html/page-layout.ts';
import { emptyHtml } from '../html/page-layout.ts';
import type { PageTexts } from '../locales/page-texts.ts';

export type SetUpPageData = {
  readonly token: string;
  readonly action: string;
  readonly secret: string;
  readonly uri: string;
  /** A `data:` URL. */
  readonly picture: string;
  readonly isRequired: boolean;
  readonly isWrong: boolean;
  /** Missing if the user cannot skip the set-up. */
  readonly backUrl?: string | undefined;
};

export function renderSetUpPage(texts: PageTexts, data: SetUpPageData): PageContent {
  const { oneTimeCodeSetUp, fields } = texts;
  const errors: FieldErrors = data.isWrong ? { code: oneTimeCodeSetUp.wrong } : {};
  const code = textField(
    {
      name: 'code',
      label: fields.sixDigits,
      autocomplete: 'one-time-code',
      inputmode: 'numeric',
      isCode: true,
      maxLength: 16,
    },
    errors,
    texts,
  );
  const key = data.secret.match(/.{1,4}/g)?.join(' ') ?? data.secret;
  return {
    title: oneTimeCodeSetUp.title,
    hasErrors: data.isWrong,
    body: html`${errorSummary(errors, texts)}<h1>${oneTimeCodeSetUp.title}</h1>
<p class="lead">${data.isRequired ? oneTimeCodeSetUp.required : oneTimeCodeSetUp.optional}</p>
<ol class="steps">
<li><p>${oneTimeCodeSetUp.install}</p></li>
<li><p>${oneTimeCodeSetUp.scan}</p>
<img class="picture" src="${data.picture}" alt="${oneTimeCodeSetUp.picture}" width="192" height="192">
<p>${oneTimeCodeSetUp.typeKey}</p>
<code class="key">${key}</code>
<p><a href="${data.uri}">${oneTimeCodeSetUp.openApp}</a></p></li>
<li><p>${oneTimeCodeSetUp.confirm}</p>
${renderForm({ action: data.action, token: data.token, parts: [code, submitButton(oneTimeCodeSetUp.submit)] })}</li>
</ol>
${data.backUrl === undefined ? emptyHtml : html`<div class="more"><a href="${data.backUrl}">${texts.cancel}</a></div>`}`,
  };
}

export type RecoveryCodesPageData = {
  readonly token: string;
  readonly action: string;
  /** Empty if they were shown already. */
  readonly codes: readonly string[];
  readonly errors: FieldErrors;
  /** The address to which the sign-in leads after this page. */
  readonly formTarget?: string | undefined;
};

function renderConfirmForm(texts: PageTexts, { token, action, errors }: RecoveryCodesPageData) {
  const parts = [
    checkboxField('saved', texts.recoveryCodes.saved, errors),
    submitButton(texts.continue),
  ];
  return renderForm({ action, token, isChecked: true, parts });
}

/** Shown once as the response to a form, so there are no links to other languages. */
export function renderRecoveryCodesPage(
  texts: PageTexts,
  data: RecoveryCodesPageData,
): PageContent {
  const { recoveryCodes } = texts;
  const { codes, formTarget } = data;
  const items = codes.map((code) => html`<li><code>${code}</code></li>`);
  return {
    title: recoveryCodes.title,
    path: undefined,
    formTarget,
    body: html`<h1>${recoveryCodes.title}</h1>
<p class="lead">${recoveryCodes.lead}</p>
<p>${recoveryCodes.once}</p>
<ol class="codes" aria-label="${recoveryCodes.list}">${items}</ol>
${renderConfirmForm(texts, data)}`,
  };
}

export function renderCodesHiddenPage(texts: PageTexts, data: RecoveryCodesPageData): PageContent {
  const { recoveryCodes } = texts;
  const { token, action, errors, formTarget } = data;
  return {
    title: recoveryCodes.alreadyShownTitle,
    hasErrors: Object.keys(errors).length > 0,
    formTarget,
    body: html`${errorSummary(errors, texts)}<h1>${recoveryCodes.alreadyShownTitle}</h1>
<p class="lead">${recoveryCodes.alreadyShown}</p>
${renderConfirmForm(texts, data)}
<div class="more">${renderForm({ action: `${action}/renew`, token, parts: [secondaryButton(recoveryCodes.renew)] })}</div>`,
  };
}
