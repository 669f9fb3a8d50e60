// The views of passwords: asking for a link, choosing one, and typing it again before a change.
import { type Html, html } from '../../../http/index.ts';
import { type Faults, faultSummary, field, form, hidden, submit } from '../html/form-fields.ts';
import type { Answer } from '../html/page-layout.ts';
import { nothing } from '../html/page-layout.ts';
import type { Words } from '../locales/languages.ts';

type Common = { readonly token: string; readonly action: string; readonly faults: Faults };

function titled(words: Words, title: string, lead: string, faults: Faults, rest: Html): Answer {
  return {
    title,
    isFaulty: Object.keys(faults).length > 0,
    body: html`${faultSummary(faults, words)}<h1>${title}</h1>
<p class="lead">${lead}</p>
${rest}`,
  };
}

export type ForgottenFacts = Common & { readonly who?: string | undefined; readonly back: string };

export function forgottenView(words: Words, facts: ForgottenFacts): Answer {
  const { forgotten } = words;
  const { token, action, faults, who, back } = facts;
  const parts = [
    field(
      {
        name: 'who',
        label: forgotten.label,
        value: who,
        autocomplete: 'username',
        inputmode: 'email',
        isFocused: true,
      },
      faults,
      words,
    ),
    submit(forgotten.submit),
  ];
  const rest = html`${form({ action, token, parts })}
<div class="more"><a href="${back}">${forgotten.toSignIn}</a></div>`;
  return titled(words, forgotten.title, forgotten.lead, faults, rest);
}

export type NewPasswordFacts = Common & {
  readonly title: string;
  readonly lead: string;
  /** So that a password manager knows whose it is. */
  readonly username: string;
  readonly leastLength: number;
  /** Where somebody goes who wants to keep the old one. */
  readonly back?: string | undefined;
};

export function newPasswordView(words: Words, facts: NewPasswordFacts): Answer {
  const { fields, link } = words;
  const { token, action, faults, username, leastLength } = facts;
  const secret = { type: 'password', autocomplete: 'new-password', maxLength: 1024 } as const;
  const parts = [
    field(
      {
        name: 'username',
        label: fields.username,
        value: username,
        autocomplete: 'username',
        isFixed: true,
      },
      {},
      words,
    ),
    field(
      {
        ...secret,
        name: 'password',
        label: fields.newPassword,
        hint: link.rule(leastLength),
        isFocused: true,
      },
      faults,
      words,
    ),
    field({ ...secret, name: 'repeated', label: fields.repeatPassword }, faults, words),
    submit(link.submit),
  ];
  const { back } = facts;
  const rest = html`${form({ action, token, parts })}
${back === undefined ? nothing : html`<div class="more"><a href="${back}">${words.cancel}</a></div>`}`;
  return titled(words, facts.title, facts.lead, faults, rest);
}

export type ConfirmFacts = Common & {
  readonly username: string;
  readonly asksCode: boolean;
  /** Which page follows. */
  readonly next: string;
  readonly back: string;
};

export function confirmView(words: Words, facts: ConfirmFacts): Answer {
  const { confirm, fields } = words;
  const { token, action, faults, username, asksCode, next, back } = facts;
  const code = field(
    {
      name: 'code',
      label: fields.code,
      hint: confirm.codeHint,
      autocomplete: 'one-time-code',
      isCode: true,
      maxLength: 64,
    },
    faults,
    words,
  );
  const parts = [
    hidden('next', next),
    field(
      {
        name: 'username',
        label: fields.username,
        value: username,
        autocomplete: 'username',
        isFixed: true,
      },
      {},
      words,
    ),
    field(
      {
        name: 'password',
        label: fields.password,
        type: 'password',
        autocomplete: 'current-password',
        isFocused: true,
      },
      faults,
      words,
    ),
    ...(asksCode ? [code] : []),
    submit(words.continue),
  ];
  const rest = html`${form({ action, token, parts })}
<div class="more"><a href="${back}">${words.cancel}</a></div>`;
  return titled(words, confirm.title, confirm.lead, faults, rest);
}
