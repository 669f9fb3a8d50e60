// Renders the emails to the applicant of a sign-up in English, French and German, as text and as HTML.
import { fillTemplate, sanitizeMailName } from '../platform/index.ts';
import german from './locales/de.json' with { type: 'json' };
import english from './locales/en.json' with { type: 'json' };
import french from './locales/fr.json' with { type: 'json' };

type EmailTexts = typeof english;

export const signUpEmailTexts = { en: english, fr: french, de: german } as const satisfies Record<
  string,
  EmailTexts
>;

type LanguageName = keyof typeof signUpEmailTexts;

export type SignUpEmail = {
  readonly language: LanguageName;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
};

const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

type EmailRecipient = {
  readonly givenName: string;
  readonly organizationName: string;
  readonly language?: string | undefined;
};

export const renderRejectionEmail = (to: EmailRecipient): SignUpEmail =>
  renderEmail('rejection', to);
/** Every sign-up is confirmed, so that the owner of the address notices a sign-up by another person. */
export const renderConfirmationEmail = (to: EmailRecipient): SignUpEmail =>
  renderEmail('confirmation', to);

/** English if there are no texts in the language of the sign-up. */
function chooseLanguage(language: string | undefined): LanguageName {
  const prefix = language?.slice(0, 2);
  return prefix === 'fr' || prefix === 'de' ? prefix : 'en';
}

function renderEmail(kind: 'confirmation' | 'rejection', to: EmailRecipient): SignUpEmail {
  const language = chooseLanguage(to.language);
  const texts: EmailTexts = signUpEmailTexts[language];
  const { subject, text, advice } = texts[kind];
  const paragraphs = [
    fillTemplate(texts.greeting, { name: sanitizeMailName(to.givenName) }),
    fillTemplate(text, { organization: sanitizeMailName(to.organizationName) }),
    advice,
  ];
  const elements = paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`);
  const head = `<meta charset="utf-8"><title>${escapeHtml(subject)}</title>`;
  return {
    language,
    subject: `${subject} · Switchyard`,
    text: `${paragraphs.join('\n\n')}\n`,
    html: [
      `<!doctype html><html lang="${language}"><head>${head}</head>`,
      '<body style="font-family:sans-serif;line-height:1.5;max-width:40em">',
      ...elements,
      '</body></html>\n',
    ].join('\n'),
  };
}
