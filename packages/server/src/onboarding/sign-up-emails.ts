// Renders the emails to the applicant of a sign-up in English, French and German, as text and as HTML.
import {
  chooseLanguage,
  fillTemplate,
  type RenderedMail,
  renderMail,
  sanitizeMailName,
  type Translations,
} from '../platform/index.ts';
import german from './locales/de.json' with { type: 'json' };
import english from './locales/en.json' with { type: 'json' };
import french from './locales/fr.json' with { type: 'json' };

type EmailTexts = typeof english;

export const signUpEmailTexts: Translations<EmailTexts> = {
  en: english,
  fr: french,
  de: german,
};

type EmailRecipient = {
  readonly givenName: string;
  readonly organizationName: string;
  readonly language?: string | undefined;
};

export const renderRejectionEmail = (to: EmailRecipient): RenderedMail =>
  renderEmail('rejection', to);
/** Every sign-up is confirmed, so that the owner of the address notices a sign-up by another person. */
export const renderConfirmationEmail = (to: EmailRecipient): RenderedMail =>
  renderEmail('confirmation', to);

function renderEmail(kind: 'confirmation' | 'rejection', to: EmailRecipient): RenderedMail {
  const language = chooseLanguage({ requested: to.language === undefined ? [] : [to.language] });
  const texts = signUpEmailTexts[language];
  const { subject, text, advice } = texts[kind];
  const paragraphs = [
    fillTemplate(texts.greeting, { name: sanitizeMailName(to.givenName) }),
    fillTemplate(text, { organization: sanitizeMailName(to.organizationName) }),
    advice,
  ];
  return renderMail({ language, subject, paragraphs });
}
