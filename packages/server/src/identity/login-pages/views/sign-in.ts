// HTML of the sign-in pages: user domain; user name, password and code; passkey.

import { type Html, html } from '../../../http/index.ts';
import { fillTemplate } from '../../../platform/index.ts';
import {
  errorSummary,
  type FieldErrors,
  hiddenField,
  renderForm,
  secondaryButton,
  submitButton,
  textField,
} from '../html/form-fields.ts';
import type { PageContent } from '../html/page-layout.ts';
import { emptyHtml } from '../html/page-layout.ts';
import { signUpPath } from '../html/page-paths.ts';
import type { PageTexts } from '../locales/page-texts.ts';
import { renderPasskeyForm } from './passkey-form.ts';

export type UserDomainPageData = {
  readonly token: string;
  readonly action: string;
  readonly identifier?: string;
  readonly errors: FieldErrors;
};

export function renderUserDomainPage(
  texts: PageTexts,
  { token, action, identifier, errors }: UserDomainPageData,
): PageContent {
  const { userDomain } = texts;
  const parts = [
    textField(
      {
        name: 'identifier',
        label: userDomain.label,
        hint: userDomain.hint,
        value: identifier,
        autocomplete: 'username',
        inputmode: 'email',
        isFocused: true,
      },
      errors,
      texts,
    ),
    submitButton(texts.continue),
  ];
  return {
    title: userDomain.title,
    hasErrors: Object.keys(errors).length > 0,
    body: html`${errorSummary(errors, texts)}<h1>${userDomain.title}</h1>
<p class="lead">${userDomain.lead}</p>
${renderForm({ action, token, parts })}
<div class="more"><a href="${signUpPath}">${userDomain.signUp}</a></div>`,
  };
}

export type SignInPageData = {
  readonly token: string;
  /** The path of the flow: prefix of its forms and links. */
  readonly basePath: string;
  readonly domain: string;
  /** The application; missing if the user signs in to see the account page. */
  readonly client?: { readonly name: string; readonly redirectUri: string } | undefined;
  readonly username?: string | undefined;
  readonly usesRecoveryCode: boolean;
  readonly errors: FieldErrors;
  /** An error of the whole form, shown above it. */
  readonly errorMessage?: string | undefined;
  readonly forgottenPath: string;
};

function renderCredentialFields(texts: PageTexts, data: SignInPageData): Html[] {
  const { signInForm, fields } = texts;
  const { basePath, username = '', usesRecoveryCode, errors } = data;
  const other = usesRecoveryCode
    ? html`<a href="${basePath}">${signInForm.useCode}</a>`
    : html`<a href="${basePath}?with=recovery">${signInForm.useRecovery}</a>`;
  return [
    textField(
      {
        name: 'username',
        label: fields.username,
        value: username,
        autocomplete: 'username',
        isFocused: username === '',
      },
      errors,
      texts,
    ),
    textField(
      {
        name: 'password',
        label: fields.password,
        type: 'password',
        autocomplete: 'current-password',
        isFocused: username !== '',
        belowField: html`<p class="after"><a href="${data.forgottenPath}">${signInForm.forgotten}</a></p>`,
      },
      errors,
      texts,
    ),
    textField(
      {
        name: 'code',
        label: usesRecoveryCode ? fields.recoveryCode : fields.code,
        hint: usesRecoveryCode ? signInForm.recoveryHint : signInForm.codeHint,
        autocomplete: usesRecoveryCode ? 'off' : 'one-time-code',
        inputmode: usesRecoveryCode ? 'text' : 'numeric',
        isOptional: true,
        isCode: true,
        maxLength: 64,
        belowField: html`<p class="after">${other}</p>`,
      },
      errors,
      texts,
    ),
    ...(usesRecoveryCode ? [hiddenField('with', 'recovery')] : []),
    submitButton(texts.signIn),
  ];
}

export function renderSignInPage(texts: PageTexts, data: SignInPageData): PageContent {
  const { signInForm } = texts;
  const { token, basePath, domain, client, errorMessage } = data;
  // Shown once, at the top: next to a field it would reveal which value is wrong.
  const errors: FieldErrors = errorMessage === undefined ? data.errors : { username: errorMessage };
  const lead =
    client === undefined
      ? signInForm.toAccount
      : fillTemplate(signInForm.toApplication, { name: client.name });
  // The application has chosen the user domain; only without an application can the user change it.
  const other =
    client === undefined ? html` <a href="/auth/sign-in">${signInForm.otherDomain}</a>` : emptyHtml;
  const cancel = html`<div class="more">${renderForm({ action: `${basePath}/cancel`, token, parts: [secondaryButton(texts.cancel)], isInline: true })}</div>`;
  return {
    title: signInForm.title,
    hasErrors: Object.keys(errors).length > 0,
    formTarget: client?.redirectUri,
    body: html`${errorSummary(errors, texts)}<h1>${signInForm.title}</h1>
<p class="lead">${lead}</p>
<p class="domain"><span class="what">${signInForm.domain}</span> <strong>${domain}</strong>${other}</p>
${renderForm({ action: basePath, token, parts: renderCredentialFields(texts, data) })}
${client === undefined ? emptyHtml : cancel}`,
  };
}

export type PasskeyPageData = {
  readonly token: string;
  readonly basePath: string;
  readonly options: unknown;
  readonly isWrong: boolean;
  readonly redirectUri: string | undefined;
};

export function renderPasskeyPage(texts: PageTexts, data: PasskeyPageData): PageContent {
  const { passkey } = texts;
  const { token, basePath, options, isWrong, redirectUri } = data;
  return {
    title: passkey.title,
    hasErrors: isWrong,
    usesPasskey: true,
    formTarget: redirectUri,
    body: html`<h1>${passkey.title}</h1>
<p class="lead">${passkey.lead}</p>
${renderPasskeyForm({
  token,
  action: `${basePath}/passkey`,
  options,
  kind: 'known',
  button: passkey.submit,
  problem: isWrong ? passkey.wrong : passkey.failed,
  isWrong,
  needsScript: passkey.needsScript,
  fields: [],
})}
<div class="more"><a class="button lesser" href="${basePath}">${passkey.useCode}</a></div>`,
  };
}
