// HTML of the sign-up form.
import german from 'i18n-iso-countries/langs/de.json' with { type: 'json' };
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };
import french from 'i18n-iso-countries/langs/fr.json' with { type: 'json' };
import { type Html, html } from '../../../http/index.ts';
import type { Language } from '../../../platform/index.ts';
import {
  errorSummary,
  type FieldErrors,
  renderForm,
  selectField,
  submitButton,
  textField,
} from '../html/form-fields.ts';
import type { PageContent } from '../html/page-layout.ts';
import { signUpPath, userDomainPath } from '../html/page-paths.ts';
import type { PageTexts } from '../locales/page-texts.ts';

const progressSteps = ['request', 'decision', 'password', 'portal'] as const;

export function renderSignUpProgress(
  { progress: texts }: PageTexts,
  currentStep: (typeof progressSteps)[number],
): Html {
  const items = progressSteps.map((step, index) => {
    if (step === currentStep) return html`<li aria-current="step">${texts[step]}</li>`;
    const isDone = index < progressSteps.indexOf(currentStep);
    return html`<li${isDone ? { html: ' class="done"' } : { html: '' }}>${texts[step]}</li>`;
  });
  return html`<ol class="trail" aria-label="${texts.label}">${items}</ol>
`;
}

export type SignUpFields = Readonly<
  Record<'organizationName' | 'persona' | 'givenName' | 'familyName' | 'email' | 'country', string>
>;

type CountryNames = Readonly<Record<string, string | readonly string[]>>;
type SelectOptions = readonly (readonly [string, string])[];

/** The library lists this code, but ISO 3166 leaves it to its users. */
const userAssigned = 'XK';

function countryOptions(names: CountryNames, language: Language): SelectOptions {
  return Object.entries(names)
    .filter(([code]) => code !== userAssigned)
    .map(([code, name]) => [code, typeof name === 'string' ? name : (name[0] ?? code)] as const)
    .sort(([, one], [, other]) => one.localeCompare(other, language));
}

const countriesByLanguage: Readonly<Record<Language, SelectOptions>> = {
  en: countryOptions(english.countries, 'en'),
  fr: countryOptions(french.countries, 'fr'),
  de: countryOptions(german.countries, 'de'),
};

const maxNameLength = 100;
const maxEmailLength = 254;

export type SignUpPageData = {
  readonly token: string;
  readonly language: Language;
  readonly fields: SignUpFields;
  readonly errors: FieldErrors;
};

function renderFields(texts: PageTexts, { language, fields, errors }: SignUpPageData): Html[] {
  const { signUp } = texts;
  const name = (which: 'organizationName' | 'givenName' | 'familyName', autocomplete: string) =>
    textField(
      {
        name: which,
        label: signUp[which],
        value: fields[which],
        autocomplete,
        maxLength: maxNameLength,
        isName: true,
        isFocused: which === 'organizationName',
      },
      errors,
      texts,
    );
  const pick = (which: 'persona' | 'country', autocomplete: string, options: SelectOptions) =>
    selectField(
      { name: which, label: signUp[which], value: fields[which], autocomplete, options },
      errors,
      texts,
    );
  return [
    name('organizationName', 'organization'),
    pick('persona', 'off', Object.entries(signUp.personas)),
    pick('country', 'country', countriesByLanguage[language]),
    name('givenName', 'given-name'),
    name('familyName', 'family-name'),
    textField(
      {
        name: 'email',
        label: signUp.email,
        hint: signUp.emailHint,
        value: fields.email,
        autocomplete: 'email',
        inputmode: 'email',
        maxLength: maxEmailLength,
      },
      errors,
      texts,
    ),
    submitButton(signUp.submit),
  ];
}

export function renderSignUpPage(texts: PageTexts, data: SignUpPageData): PageContent {
  const { signUp, userDomain } = texts;
  const { token, errors } = data;
  return {
    title: signUp.title,
    hasErrors: Object.keys(errors).length > 0,
    body: html`${errorSummary(errors, texts)}${renderSignUpProgress(texts, 'request')}<h1>${signUp.title}</h1>
<p class="lead">${signUp.lead}</p>
${renderForm({ action: signUpPath, token, parts: renderFields(texts, data) })}
<div class="more"><a href="${userDomainPath}">${userDomain.title}</a></div>`,
  };
}
