// HTML of the password pages: request a link, set a new password, enter the password again before a change.

import { type Html, html } from '../../../http/index.ts';
import { fillTemplate } from '../../../platform/index.ts';
import {
  errorSummary,
  type FieldErrors,
  hiddenField,
  renderForm,
  submitButton,
  textField,
} from '../html/form-fields.ts';
import type { PageContent } from '../html/page-layout.ts';
import { emptyHtml } from '../html/page-layout.ts';
import type { PageTexts } from '../locales/page-texts.ts';

type PasswordFormData = {
  readonly token: string;
  readonly action: string;
  readonly errors: FieldErrors;
};

function renderTitledPage(
  texts: PageTexts,
  title: string,
  lead: string,
  errors: FieldErrors,
  rest: Html,
): PageContent {
  return {
    title,
    hasErrors: Object.keys(errors).length > 0,
    body: html`${errorSummary(errors, texts)}<h1>${title}</h1>
<p class="lead">${lead}</p>
${rest}`,
  };
}

export type ForgottenPasswordPageData = PasswordFormData & {
  readonly identifier?: string | undefined;
  readonly backUrl: string;
};

export function renderForgottenPasswordPage(
  texts: PageTexts,
  data: ForgottenPasswordPageData,
): PageContent {
  const { forgottenPassword } = texts;
  const { token, action, errors, identifier, backUrl } = data;
  const parts = [
    textField(
      {
        name: 'identifier',
        label: forgottenPassword.label,
        value: identifier,
        autocomplete: 'username',
        inputmode: 'email',
        isFocused: true,
      },
      errors,
      texts,
    ),
    submitButton(forgottenPassword.submit),
  ];
  const rest = html`${renderForm({ action, token, parts })}
<div class="more"><a href="${backUrl}">${forgottenPassword.toSignIn}</a></div>`;
  return renderTitledPage(texts, forgottenPassword.title, forgottenPassword.lead, errors, rest);
}

export type NewPasswordPageData = PasswordFormData & {
  readonly title: string;
  readonly lead: string;
  /** Shown so that password managers store it with the password. */
  readonly username: string;
  readonly minLength: number;
  /** The link for users that do not want to change the password. */
  readonly backUrl?: string | undefined;
};

export function renderNewPasswordPage(texts: PageTexts, data: NewPasswordPageData): PageContent {
  const { fields, emailLink } = texts;
  const { token, action, errors, username, minLength } = data;
  const secret = { type: 'password', autocomplete: 'new-password', maxLength: 1024 } as const;
  const parts = [
    textField(
      {
        name: 'username',
        label: fields.username,
        value: username,
        autocomplete: 'username',
        isFixed: true,
      },
      {},
      texts,
    ),
    textField(
      {
        ...secret,
        name: 'password',
        label: fields.newPassword,
        hint: fillTemplate(emailLink.rule, { length: minLength }),
        isFocused: true,
      },
      errors,
      texts,
    ),
    textField({ ...secret, name: 'repeated', label: fields.repeatPassword }, errors, texts),
    submitButton(emailLink.submit),
  ];
  const { backUrl } = data;
  const rest = html`${renderForm({ action, token, parts })}
${backUrl === undefined ? emptyHtml : html`<div class="more"><a href="${backUrl}">${texts.cancel}</a></div>`}`;
  return renderTitledPage(texts, data.title, data.lead, errors, rest);
}

export type ConfirmPasswordPageData = PasswordFormData & {
  readonly username: string;
  readonly asksCode: boolean;
  /** The page that follows. */
  readonly next: string;
  readonly backUrl: string;
};

export function renderConfirmPasswordPage(
  texts: PageTexts,
  data: ConfirmPasswordPageData,
): PageContent {
  const { confirmPassword, fields } = texts;
  const { token, action, errors, username, asksCode, next, backUrl } = data;
  const code = textField(
    {
      name: 'code',
      label: fields.code,
      hint: confirmPassword.codeHint,
      autocomplete: 'one-time-code',
      isCode: true,
      maxLength: 64,
    },
    errors,
    texts,
  );
  const parts = [
    hiddenField('next', next),
    textField(
      {
        name: 'username',
        label: fields.username,
        value: username,
        autocomplete: 'username',
        isFixed: true,
      },
      {},
      texts,
    ),
    textField(
      {
        name: 'password',
        label: fields.password,
        type: 'password',
        autocomplete: 'current-password',
        isFocused: true,
      },
      errors,
      texts,
    ),
    ...(asksCode ? [code] : []),
    submitButton(texts.continue),
  ];
  const rest = html`${renderForm({ action, token, parts })}
<div class="more"><a href="${backUrl}">${texts.cancel}</a></div>`;
  return renderTitledPage(texts, confirmPassword.title, confirmPassword.lead, errors, rest);
}
