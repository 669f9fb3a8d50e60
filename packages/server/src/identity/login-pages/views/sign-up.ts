// The views of the front: the first page, and the form of the sign-up.
import german from 'i18n-iso-countries/langs/de.json' with { type: 'json' };
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' };
import french from 'i18n-iso-countries/langs/fr.json' with { type: 'json' };
import { type Html, html } from '../../../http/index.ts';
import { choice, type Faults, faultSummary, field, form, submit } from '../html/form-fields.ts';
import type { Answer } from '../html/page-layout.ts';
import { entryPath, signUpPath } from '../html/page-paths.ts';
import type { Language, Words } from '../locales/languages.ts';
import { trail } from './sign-up-progress.ts';

/** `portalAt`: the portal may stand at another address than its sign-in. */
export function homeView({ home }: Words, portalAt: string): Answer {
  const row = (address: string, name: string, text: string): Html =>
    html`<li><div class="what"><strong><a href="${address}">${name}</a></strong><p>${text}</p></div></li>
`;
  return {
    title: home.title,
    body: html`<h1>${home.title}</h1>
<p class="lead">${home.lead}</p>
<ul class="rows">
${[
  row(portalAt, home.portal, home.portalText),
  row(signUpPath, home.signUp, home.signUpText),
  row(entryPath, home.account, home.accountText),
  row('/docs', home.documentation, home.documentationText),
]}</ul>`,
  };
}

export type SignUpFields = Readonly<
  Record<'organizationName' | 'persona' | 'givenName' | 'familyName' | 'email' | 'country', string>
>;

type Names = Readonly<Record<string, string | readonly string[]>>;
type Options = readonly (readonly [string, string])[];

/** In the data for convenience, but a code that ISO leaves to its users. */
const userAssigned = 'XK';

function countriesOf(names: Names, language: Language): Options {
  return Object.entries(names)
    .filter(([code]) => code !== userAssigned)
    .map(([code, name]) => [code, typeof name === 'string' ? name : (name[0] ?? code)] as const)
    .sort(([, one], [, other]) => one.localeCompare(other, language));
}

const countries: Readonly<Record<Language, Options>> = {
  en: countriesOf(english.countries, 'en'),
  fr: countriesOf(french.countries, 'fr'),
  de: countriesOf(german.countries, 'de'),
};

const nameLimit = 100;
const addressLimit = 254;

export type SignUpFacts = {
  readonly token: string;
  readonly language: Language;
  readonly fields: SignUpFields;
  readonly faults: Faults;
};

function parts(words: Words, { language, fields, faults }: SignUpFacts): Html[] {
  const { signUp } = words;
  const name = (which: 'organizationName' | 'givenName' | 'familyName', autocomplete: string) =>
    field(
      {
        name: which,
        label: signUp[which],
        value: fields[which],
        autocomplete,
        maxLength: nameLimit,
        isName: true,
        isFocused: which === 'organizationName',
      },
      faults,
      words,
    );
  const pick = (which: 'persona' | 'country', autocomplete: string, options: Options) =>
    choice(
      { name: which, label: signUp[which], value: fields[which], autocomplete, options },
      faults,
      words,
    );
  return [
    name('organizationName', 'organization'),
    pick('persona', 'off', Object.entries(signUp.personas)),
    pick('country', 'country', countries[language]),
    name('givenName', 'given-name'),
    name('familyName', 'family-name'),
    field(
      {
        name: 'email',
        label: signUp.email,
        hint: signUp.emailHint,
        value: fields.email,
        autocomplete: 'email',
        inputmode: 'email',
        maxLength: addressLimit,
      },
      faults,
      words,
    ),
    submit(signUp.submit),
  ];
}

export function signUpView(words: Words, facts: SignUpFacts): Answer {
  const { signUp, entry } = words;
  const { token, faults } = facts;
  return {
    title: signUp.title,
    isFaulty: Object.keys(faults).length > 0,
    body: html`${faultSummary(faults, words)}${trail(words, 'request')}<h1>${signUp.title}</h1>
<p class="lead">${signUp.lead}</p>
${form({ action: signUpPath, token, parts: parts(words, facts) })}
<div class="more"><a href="${entryPath}">${entry.title}</a></div>`,
  };
}
