// HTML of form fields with labels, hints and errors, accessible to screen readers.
import { type Html, html } from '../../../http/index.ts';
import type { PageTexts } from '../locales/page-texts.ts';
import { emptyHtml } from './page-layout.ts';

export type TextFieldOptions = {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'password' | undefined;
  readonly value?: string | undefined;
  readonly autocomplete: string;
  readonly hint?: string | undefined;
  /** HTML below the field, for example a related link. */
  readonly belowField?: Html | undefined;
  readonly inputmode?: 'numeric' | 'email' | 'text' | undefined;
  readonly isOptional?: boolean | undefined;
  readonly isFixed?: boolean | undefined;
  readonly isFocused?: boolean | undefined;
  readonly isCode?: boolean | undefined;
  /** The name of a person or company: phones start it with a capital letter. */
  readonly isName?: boolean | undefined;
  readonly maxLength?: number | undefined;
};

/** Error texts by field name. */
export type FieldErrors = Readonly<Record<string, string>>;

/** Cuts texts that a user pastes by mistake. */
const maxFieldLength = 512;

function attribute(name: string, value: string | undefined): Html {
  return value === undefined ? emptyHtml : html` ${{ html: name }}="${value}"`;
}

function booleanAttribute(name: string, isSet: boolean | undefined): Html {
  return isSet === true ? { html: ` ${name}` } : emptyHtml;
}

type FieldLabel = Pick<TextFieldOptions, 'name' | 'label' | 'hint' | 'belowField'>;

/** Puts label, hint and error around the control. */
function wrapField(
  { name, label, hint, belowField }: FieldLabel,
  control: Html,
  errorContext: FieldErrorContext,
): Html {
  const { error, texts } = errorContext;
  return html`<div class="field${error === undefined ? '' : ' faulty'}">
<label for="${name}">${label}</label>
${hint === undefined ? emptyHtml : html`<p class="hint" id="${name}-hint">${hint}</p>`}
${error === undefined ? emptyHtml : html`<p class="fault" id="${name}-fault"><span class="unseen">${texts.errorTitle}${texts.colon}</span> ${error}</p>`}
${control}
${belowField ?? emptyHtml}
</div>
`;
}

type FieldErrorContext = { readonly error: string | undefined; readonly texts: PageTexts };

const errorOfField = (errors: FieldErrors, name: string): string | undefined =>
  Object.hasOwn(errors, name) ? errors[name] : undefined;

/** Attributes for screen readers. */
function ariaAttributes({ name, hint }: FieldLabel, error: string | undefined): Html[] {
  const described = [hint && `${name}-hint`, error && `${name}-fault`].filter(Boolean).join(' ');
  return [
    attribute('aria-describedby', described === '' ? undefined : described),
    attribute('aria-invalid', error === undefined ? undefined : 'true'),
  ];
}

function autofocusAttribute(name: string, errors: FieldErrors, isFirstChoice?: boolean): Html {
  const first = Object.keys(errors)[0];
  return booleanAttribute('autofocus', first === undefined ? isFirstChoice : first === name);
}

export function textField(options: TextFieldOptions, errors: FieldErrors, texts: PageTexts): Html {
  const { name, type = 'text', isName = false } = options;
  const error = errorOfField(errors, name);
  const control = html`<input id="${name}" name="${name}" type="${type}" maxlength="${options.maxLength ?? maxFieldLength}" autocomplete="${options.autocomplete}"${[
    attribute('value', options.value),
    attribute('inputmode', options.inputmode),
    attribute('class', options.isCode === true ? 'code' : undefined),
    ...ariaAttributes(options, error),
    booleanAttribute('required', options.isOptional !== true && options.isFixed !== true),
    booleanAttribute('readonly', options.isFixed),
    autofocusAttribute(name, errors, options.isFocused),
  ]} autocapitalize="${isName ? 'words' : 'none'}" autocorrect="off" spellcheck="false">`;
  return wrapField(options, control, { error, texts });
}

export type SelectFieldOptions = FieldLabel & {
  readonly value: string;
  readonly autocomplete: string;
  /** The value that is sent and the text that is shown. */
  readonly options: readonly (readonly [value: string, text: string])[];
};

/** A selection; its first line asks the user to choose. */
export function selectField(
  select: SelectFieldOptions,
  errors: FieldErrors,
  texts: PageTexts,
): Html {
  const { name, value, autocomplete, options } = select;
  const error = errorOfField(errors, name);
  const lines = [['', texts.choose] as const, ...options].map(
    ([optionValue, text]) =>
      html`<option value="${optionValue}"${booleanAttribute('selected', optionValue === value)}>${text}</option>\n`,
  );
  const control = html`<select id="${name}" name="${name}" autocomplete="${autocomplete}" required${[
    ...ariaAttributes(select, error),
    autofocusAttribute(name, errors),
  ]}>
${lines}</select>`;
  return wrapField(select, control, { error, texts });
}

/** The list of errors at the top, with a link to each field; screen readers read it first. */
export function errorSummary(errors: FieldErrors, texts: PageTexts): Html {
  const entries = Object.entries(errors);
  if (entries.length === 0) return emptyHtml;
  const items = entries.map(([name, text]) => html`<li><a href="#${name}">${text}</a></li>`);
  return html`<div class="summary" role="alert" aria-labelledby="problem">
<h2 id="problem">${texts.problem}</h2>
<ul>${items}</ul>
</div>
`;
}

export type FormOptions = {
  readonly action: string;
  readonly token: string;
  readonly parts: readonly Html[];
  /** The browser checks required fields, because a response of the server would not show the page again. */
  readonly isChecked?: boolean | undefined;
  readonly id?: string | undefined;
  readonly isInline?: boolean | undefined;
};

export function renderForm({ action, token, parts, isChecked, id, isInline }: FormOptions): Html {
  return html`<form method="post" action="${action}"${[
    attribute('id', id),
    attribute('class', isInline === true ? 'inline' : undefined),
    booleanAttribute('novalidate', isChecked !== true),
  ]}>
<input type="hidden" name="token" value="${token}">
${parts}</form>
`;
}

export function hiddenField(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">
`;
}

export function submitButton(text: string): Html {
  return html`<button type="submit" class="primary">${text}</button>
`;
}

/** `ariaLabel`: the full text for screen readers. */
export function secondaryButton(text: string, ariaLabel?: string): Html {
  return html`<button type="submit" class="lesser"${attribute('aria-label', ariaLabel)}>${text}</button>
`;
}

export function checkboxField(name: string, label: string, errors: FieldErrors): Html {
  const error = Object.hasOwn(errors, name) ? errors[name] : undefined;
  return html`<div class="check${error === undefined ? '' : ' faulty'}">
<input id="${name}" name="${name}" type="checkbox" value="yes" required${attribute('aria-invalid', error === undefined ? undefined : 'true')}>
<label for="${name}">${label}</label>
</div>
`;
}
