// The parts of a form: fields with their labels, hints and faults, in a way that every reader can follow.
import { type Html, html } from '../../../http/index.ts';
import type { Words } from '../locales/languages.ts';
import { nothing } from './page-layout.ts';

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
  /** Of a person or a firm: phones may begin it with a capital letter. */
  readonly isName?: boolean | undefined;
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

type Labelled = Pick<Field, 'name' | 'label' | 'hint' | 'after'>;

/** The label, the hint and the fault around whatever is filled in. */
function framed({ name, label, hint, after }: Labelled, control: Html, told: Told): Html {
  const { fault, words } = told;
  return html`<div class="field${fault === undefined ? '' : ' faulty'}">
<label for="${name}">${label}</label>
${hint === undefined ? nothing : html`<p class="hint" id="${name}-hint">${hint}</p>`}
${fault === undefined ? nothing : html`<p class="fault" id="${name}-fault"><span class="unseen">${words.errorTitle}${words.colon}</span> ${fault}</p>`}
${control}
${after ?? nothing}
</div>
`;
}

type Told = { readonly fault: string | undefined; readonly words: Words };

const faultOf = (faults: Faults, name: string): string | undefined =>
  Object.hasOwn(faults, name) ? faults[name] : undefined;

/** What readers that do not see are told of a field. */
function spoken({ name, hint }: Labelled, fault: string | undefined): Html[] {
  const described = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(' ');
  return [
    attribute('aria-describedby', described === '' ? undefined : described),
    attribute('aria-invalid', fault === undefined ? undefined : 'true'),
  ];
}

function focus(name: string, faults: Faults, wanted?: boolean): Html {
  const first = Object.keys(faults)[0];
  return flag('autofocus', first === undefined ? wanted : first === name);
}

export function field(given: Field, faults: Faults, words: Words): Html {
  const { name, type = 'text', isName = false } = given;
  const fault = faultOf(faults, name);
  const control = html`<input id="${name}" name="${name}" type="${type}" maxlength="${given.maxLength ?? longestField}" autocomplete="${given.autocomplete}"${[
    attribute('value', given.value),
    attribute('inputmode', given.inputmode),
    attribute('class', given.isCode === true ? 'code' : undefined),
    ...spoken(given, fault),
    flag('required', given.isOptional !== true && given.isFixed !== true),
    flag('readonly', given.isFixed),
    focus(name, faults, given.isFocused),
  ]} autocapitalize="${isName ? 'words' : 'none'}" autocorrect="off" spellcheck="false">`;
  return framed(given, control, { fault, words });
}

export type Choice = Labelled & {
  readonly value: string;
  readonly autocomplete: string;
  /** What is sent, and what is read. */
  readonly options: readonly (readonly [value: string, text: string])[];
};

/** One of several; the first line asks to choose. */
export function choice(given: Choice, faults: Faults, words: Words): Html {
  const { name, value, autocomplete, options } = given;
  const fault = faultOf(faults, name);
  const lines = [['', words.choose] as const, ...options].map(
    ([own, text]) =>
      html`<option value="${own}"${flag('selected', own === value)}>${text}</option>\n`,
  );
  const control = html`<select id="${name}" name="${name}" autocomplete="${autocomplete}" required${[
    ...spoken(given, fault),
    focus(name, faults),
  ]}>
${lines}</select>`;
  return framed(given, control, { fault, words });
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
