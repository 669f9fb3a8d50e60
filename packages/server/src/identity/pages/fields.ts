// The parts of a form: fields with their labels, hints and faults, in a way that every reader can follow.
import { type Html, html } from '../../http/index.ts';
import { nothing } from './layout.ts';
import type { Words } from './words/index.ts';

export type Field = {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'password' | undefined;
  readonly value?: string | undefined;
  readonly autocomplete: string;
  readonly hint?: string | undefined;
  /** Under the field, such as a link that has to do with it. */
  readonly after?: Html | undefined;
  readonly inputmode?: 'numeric' | 'email' | 'text' | undefined;
  readonly isOptional?: boolean | undefined;
  readonly isFixed?: boolean | undefined;
  readonly isFocused?: boolean | undefined;
  readonly isCode?: boolean | undefined;
  readonly maxLength?: number | undefined;
};

/** By the name of the field that it belongs to. */
export type Faults = Readonly<Record<string, string>>;

/** A page's longest: what somebody pastes by mistake ends here. */
const longestField = 512;

function attribute(name: string, value: string | undefined): Html {
  return value === undefined ? nothing : html` ${{ html: name }}="${value}"`;
}

function flag(name: string, isSet: boolean | undefined): Html {
  return isSet === true ? { html: ` ${name}` } : nothing;
}

export function field(given: Field, faults: Faults, words: Words): Html {
  const { name, label, type = 'text', hint } = given;
  const fault = Object.hasOwn(faults, name) ? faults[name] : undefined;
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ');
  const first = Object.keys(faults)[0];
  const isFocused = first === undefined ? given.isFocused : first === name;
  return html`<div class="field${fault === undefined ? '' : ' faulty'}">
<label for="${name}">${label}</label>
${hint === undefined ? nothing : html`<p class="hint" id="${name}-hint">${hint}</p>`}
${fault === undefined ? nothing : html`<p class="fault" id="${name}-fault"><span class="unseen">${words.errorTitle}${words.colon}</span> ${fault}</p>`}
<input id="${name}" name="${name}" type="${type}" maxlength="${given.maxLength ?? longestField}" autocomplete="${given.autocomplete}"${[
    attribute('value', given.value),
    attribute('inputmode', given.inputmode),
    attribute('class', given.isCode === true ? 'code' : undefined),
    attribute('aria-describedby', described === '' ? undefined : described),
    attribute('aria-invalid', fault === undefined ? undefined : 'true'),
    flag('required', given.isOptional !== true && given.isFixed !== true),
    flag('readonly', given.isFixed),
    flag('autofocus', isFocused),
  ]} autocapitalize="none" autocorrect="off" spellcheck="false">
${given.after ?? nothing}
</div>
`;
}

/** What is wrong, at the top and read out first, with the way to each field. */
export function faultSummary(faults: Faults, words: Words): Html {
  const entries = Object.entries(faults);
  if (entries.length === 0) return nothing;
  const items = entries.map(([name, text]) => html`<li><a href="#${name}">${text}</a></li>`);
  return html`<div class="summary" role="alert" aria-labelledby="problem">
<h2 id="problem">${words.problem}</h2>
<ul>${items}</ul>
</div>
`;
}

export type Form = {
  readonly action: string;
  readonly token: string;
  readonly parts: readonly Html[];
  /** The browser itself asks for what is missing: where a round trip would lose what is shown. */
  readonly isChecked?: boolean | undefined;
  readonly id?: string | undefined;
  readonly isInline?: boolean | undefined;
};

export function form({ action, token, parts, isChecked, id, isInline }: Form): Html {
  return html`<form method="post" action="${action}"${[
    attribute('id', id),
    attribute('class', isInline === true ? 'inline' : undefined),
    flag('novalidate', isChecked !== true),
  ]}>
<input type="hidden" name="token" value="${token}">
${parts}</form>
`;
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">
`;
}

export function submit(text: string): Html {
  return html`<button type="submit" class="primary">${text}</button>
`;
}

/** `told`: the whole of it, for those who do not see what it stands beside. */
export function lesser(text: string, told?: string): Html {
  return html`<button type="submit" class="lesser"${attribute('aria-label', told)}>${text}</button>
`;
}

export function checkbox(name: string, label: string, faults: Faults): Html {
  const fault = Object.hasOwn(faults, name) ? faults[name] : undefined;
  return html`<div class="check${fault === undefined ? '' : ' faulty'}">
<input id="${name}" name="${name}" type="checkbox" value="yes" required${attribute('aria-invalid', fault === undefined ? undefined : 'true')}>
<label for="${name}">${label}</label>
</div>
`;
}
