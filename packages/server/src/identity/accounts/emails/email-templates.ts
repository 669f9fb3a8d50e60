// Renders the emails to users in English, French and German, as text and as HTML.
import {
  chooseLanguage,
  fillTemplate,
  type Language,
  type RenderedMail,
  renderMail,
  sanitizeMailName,
  type Translations,
} from '../../../platform/index.ts';
import german from './locales/de.json' with { type: 'json' };
import english from './locales/en.json' with { type: 'json' };
import french from './locales/fr.json' with { type: 'json' };

type EmailTexts = typeof english;

/** `activate`, `reset` and `email` contain a link. The others report a change, so that the user notices an attack. */
export type AccountEmailKind = keyof EmailTexts['emails'];

export type AccountEmail = {
  readonly kind: AccountEmailKind;
  readonly to: string;
  readonly locale?: string | undefined;
  readonly zoneinfo?: string | undefined;
  readonly givenName?: string | undefined;
  readonly username: string;
  readonly userDomainId: string;
  readonly link?: { readonly address: string; readonly expiresAt: number } | undefined;
};

export const emailTexts: Translations<EmailTexts> = { en: english, fr: french, de: german };

/** Dates as in the country where most speakers of the language live. */
const dateLocales = { en: 'en-GB', fr: 'fr-FR', de: 'de-DE' } as const;

export function renderAccountEmail(email: AccountEmail): RenderedMail {
  const { locale } = email;
  const language = chooseLanguage({ requested: locale === undefined ? [] : [locale] });
  const texts = emailTexts[language];
  const { subject, text, advice } = texts.emails[email.kind];
  const name = sanitizeMailName(email.givenName ?? '');
  const { link, username, userDomainId, zoneinfo } = email;
  const linkParagraphs =
    link === undefined
      ? []
      : [
          link.address,
          fillTemplate(texts.linkExpiry, { time: formatTime(link.expiresAt, language, zoneinfo) }),
        ];
  const paragraphs = [
    name === '' ? texts.greeting : fillTemplate(texts.greetingWithName, { name }),
    text,
    ...linkParagraphs,
    fillTemplate(texts.account, { username, userDomainId }),
    advice,
  ];
  return renderMail({ language, subject, paragraphs, linkAddress: link?.address });
}

function formatTime(timestamp: number, language: Language, zone = 'UTC'): string {
  return new Intl.DateTimeFormat(dateLocales[language], {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: zone,
    timeZoneName: 'short',
  }).format(timestamp);
}
