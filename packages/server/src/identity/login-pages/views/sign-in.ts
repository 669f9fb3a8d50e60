// The views of the sign-in: which user domain, then name, password and code, and the passkey.
import { type Html, html } from '../../../http/index.ts';
import {
  type Faults,
  faultSummary,
  field,
  form,
  hidden,
  lesser,
  submit,
} from '../html/form-fields.ts';
import type { Answer } from '../html/page-layout.ts';
import { nothing } from '../html/page-layout.ts';
import { signUpPath } from '../html/page-paths.ts';
import type { Words } from '../locales/languages.ts';
import { passkeyParts } from './passkey-form.ts';

export type EntryFacts = {
  readonly token: string;
  readonly action: string;
  readonly who?: string;
  readonly faults: Faults;
};

export function entryView(words: Words, { token, action, who, faults }: EntryFacts): Answer {
  const { entry } = words;
  const parts = [
    field(
      {
        name: 'who',
        label: entry.label,
        hint: entry.hint,
        value: who,
        autocomplete: 'username',
        inputmode: 'email',
        isFocused: true,
      },
      faults,
      words,
    ),
    submit(words.continue),
  ];
  return {
    title: entry.title,
    isFaulty: Object.keys(faults).length > 0,
    body: html`${faultSummary(faults, words)}<h1>${entry.title}</h1>
<p class="lead">${entry.lead}</p>
${form({ action, token, parts })}
<div class="more"><a href="${signUpPath}">${entry.signUp}</a></div>`,
  };
}

export type StepFacts = {
  readonly token: string;
  /** Of the flow: what its forms and links start with. */
  readonly base: string;
  readonly domain: string;
  /** The application, or nothing where somebody signs in to see the account. */
  readonly client?: { readonly name: string; readonly redirectUri: string } | undefined;
  readonly username?: string | undefined;
  readonly usesRecoveryCode: boolean;
  readonly faults: Faults;
  /** Above the form, and not about one field. */
  readonly refusal?: string | undefined;
  readonly forgottenPath: string;
};

function credentialFields(words: Words, facts: StepFacts): Html[] {
  const { step, fields } = words;
  const { base, username = '', usesRecoveryCode, faults } = facts;
  const other = usesRecoveryCode
    ? html`<a href="${base}">${step.useCode}</a>`
    : html`<a href="${base}?with=recovery">${step.useRecovery}</a>`;
  return [
    field(
      {
        name: 'username',
        label: fields.username,
        value: username,
        autocomplete: 'username',
        isFocused: username === '',
      },
      faults,
      words,
    ),
    field(
      {
        name: 'password',
        label: fields.password,
        type: 'password',
        autocomplete: 'current-password',
        isFocused: username !== '',
        after: html`<p class="after"><a href="${facts.forgottenPath}">${step.forgotten}</a></p>`,
      },
      faults,
      words,
    ),
    field(
      {
        name: 'code',
        label: usesRecoveryCode ? fields.recoveryCode : fields.code,
        hint: usesRecoveryCode ? step.recoveryHint : step.codeHint,
        autocomplete: usesRecoveryCode ? 'off' : 'one-time-code',
        inputmode: usesRecoveryCode ? 'text' : 'numeric',
        isOptional: true,
        isCode: true,
        maxLength: 64,
        after: html`<p class="after">${other}</p>`,
      },
      faults,
      words,
    ),
    ...(usesRecoveryCode ? [hidden('with', 'recovery')] : []),
    submit(words.signIn),
  ];
}

export function stepView(words: Words, facts: StepFacts): Answer {
  const { step } = words;
  const { token, base, domain, client, refusal } = facts;
  // Said once, at the top: beside a field it would tell which of them is right.
  const faults: Faults = refusal === undefined ? facts.faults : { username: refusal };
  const lead = client === undefined ? step.toAccount : step.to(client.name);
  // The application named the domain; only somebody who came by himself can have meant another.
  const other =
    client === undefined ? html` <a href="/auth/sign-in">${step.otherDomain}</a>` : nothing;
  const cancel = html`<div class="more">${form({ action: `${base}/cancel`, token, parts: [lesser(words.cancel)], isInline: true })}</div>`;
  return {
    title: step.title,
    isFaulty: Object.keys(faults).length > 0,
    leadsTo: client?.redirectUri,
    body: html`${faultSummary(faults, words)}<h1>${step.title}</h1>
<p class="lead">${lead}</p>
<p class="domain"><span class="what">${step.domain}</span> <strong>${domain}</strong>${other}</p>
${form({ action: base, token, parts: credentialFields(words, facts) })}
${client === undefined ? nothing : cancel}`,
  };
}

export type PasskeyFacts = {
  readonly token: string;
  readonly base: string;
  readonly options: unknown;
  readonly isWrong: boolean;
  readonly redirectUri: string | undefined;
};

export function passkeyView(words: Words, facts: PasskeyFacts): Answer {
  const { passkey } = words;
  const { token, base, options, isWrong, redirectUri } = facts;
  return {
    title: passkey.title,
    isFaulty: isWrong,
    usesPasskey: true,
    leadsTo: redirectUri,
    body: html`<h1>${passkey.title}</h1>
<p class="lead">${passkey.lead}</p>
${passkeyParts({
  token,
  action: `${base}/passkey`,
  options,
  kind: 'known',
  button: passkey.submit,
  problem: isWrong ? passkey.wrong : passkey.failed,
  isWrong,
  needsScript: passkey.needsScript,
  fields: [],
})}
<div class="more"><a class="button lesser" href="${base}">${passkey.useCode}</a></div>`,
  };
}
