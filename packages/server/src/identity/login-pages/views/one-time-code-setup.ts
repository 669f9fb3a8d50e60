// The views of setting up one-time codes: the picture and the key, then the recovery codes, once.
import { html } from '../../../http/index.ts';
import {
  checkbox,
  type Faults,
  faultSummary,
  field,
  form,
  lesser,
  submit,
} from '../html/form-fields.ts';
import type { Answer } from '../html/page-layout.ts';
import { nothing } from '../html/page-layout.ts';
import type { Words } from '../locales/languages.ts';

export type EnrolFacts = {
  readonly token: string;
  readonly action: string;
  readonly secret: string;
  readonly uri: string;
  /** A data: address. */
  readonly picture: string;
  readonly isRequired: boolean;
  readonly isWrong: boolean;
  /** Left out where nothing goes on without it. */
  readonly back?: string | undefined;
};

export function enrolView(words: Words, facts: EnrolFacts): Answer {
  const { enrolment, fields } = words;
  const faults: Faults = facts.isWrong ? { code: enrolment.wrong } : {};
  const code = field(
    {
      name: 'code',
      label: fields.sixDigits,
      autocomplete: 'one-time-code',
      inputmode: 'numeric',
      isCode: true,
      maxLength: 16,
    },
    faults,
    words,
  );
  const key = facts.secret.match(/.{1,4}/g)?.join(' ') ?? facts.secret;
  return {
    title: enrolment.title,
    isFaulty: facts.isWrong,
    body: html`${faultSummary(faults, words)}<h1>${enrolment.title}</h1>
<p class="lead">${facts.isRequired ? enrolment.required : enrolment.optional}</p>
<ol class="steps">
<li><p>${enrolment.install}</p></li>
<li><p>${enrolment.scan}</p>
<img class="picture" src="${facts.picture}" alt="${enrolment.picture}" width="192" height="192">
<p>${enrolment.type}</p>
<code class="key">${key}</code>
<p><a href="${facts.uri}">${enrolment.open}</a></p></li>
<li><p>${enrolment.confirm}</p>
${form({ action: facts.action, token: facts.token, parts: [code, submit(enrolment.submit)] })}</li>
</ol>
${facts.back === undefined ? nothing : html`<div class="more"><a href="${facts.back}">${words.cancel}</a></div>`}`,
  };
}

export type RecoveryFacts = {
  readonly token: string;
  readonly action: string;
  /** Empty where they were shown already. */
  readonly codes: readonly string[];
  readonly faults: Faults;
  /** Where the sign-in ends after this. */
  readonly leadsTo?: string | undefined;
};

function confirmForm(words: Words, { token, action, faults }: RecoveryFacts) {
  const parts = [checkbox('saved', words.recovery.saved, faults), submit(words.continue)];
  return form({ action, token, isChecked: true, parts });
}

/** Shown as the answer to a form, and never again: no way to another language from here. */
export function recoveryView(words: Words, facts: RecoveryFacts): Answer {
  const { recovery } = words;
  const { codes, leadsTo } = facts;
  const items = codes.map((code) => html`<li><code>${code}</code></li>`);
  return {
    title: recovery.title,
    path: undefined,
    leadsTo,
    body: html`<h1>${recovery.title}</h1>
<p class="lead">${recovery.lead}</p>
<p>${recovery.once}</p>
<ol class="codes" aria-label="${recovery.list}">${items}</ol>
${confirmForm(words, facts)}`,
  };
}

export function recoveryGoneView(words: Words, facts: RecoveryFacts): Answer {
  const { recovery } = words;
  const { token, action, faults, leadsTo } = facts;
  return {
    title: recovery.goneTitle,
    isFaulty: Object.keys(faults).length > 0,
    leadsTo,
    body: html`${faultSummary(faults, words)}<h1>${recovery.goneTitle}</h1>
<p class="lead">${recovery.gone}</p>
${confirmForm(words, facts)}
<div class="more">${form({ action: `${action}/renew`, token, parts: [lesser(recovery.renew)] })}</div>`,
  };
}
