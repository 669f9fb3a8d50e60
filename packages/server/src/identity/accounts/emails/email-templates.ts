// Renders the emails to users in English, French and German, as text and as HTML.
import { fillTemplate, sanitizeMailName } from '../../../platform/index.ts';
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

export const emailTexts = { en: english, fr: french, de: german } as const satisfies Record<
  string,
  EmailTexts
>;

type LanguageName = keyof typeof emailTexts;

/** Dates as in the country where most speakers of the language live. */
const dateLocales = { en: 'en-GB', fr: 'fr-FR', de: 'de-DE' } as const;

export type RenderedEmail = {
  readonly language: LanguageName;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
};

/** English if there are no texts in the user's language. */
function chooseLanguage(locale: string | undefined): LanguageName {
  const language = locale?.toLowerCase().split('-')[0];
  return language === 'fr' || language === 'de' ? language : 'en';
}

export function renderAccountEmail(email: AccountEmail): RenderedEmail {
  const language = chooseLanguage(email.locale);
  const texts: EmailTexts = emailTexts[language];
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
  return {
    language,
    subject: `${subject} · Switchyard`,
    text: `${paragraphs.join('\n\n')}\n`,
    html: renderHtml(language, subject, paragraphs, link?.address),
  };
}

function formatTime(timestamp: number, language: LanguageName, zone = 'UTC'): string {
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

/** No images, style sheets or other resources that a mail client would have to load. */
function renderHtml(
  language: LanguageName,
  title: string,
  paragraphs: readonly string[],
  linkAddress: string | undefined,
): string {
  const elements = paragraphs.map((paragraph) => {
    const text = escapeHtml(paragraph).replaceAll('\n', '<br>');
    return paragraph === linkAddress ? `<p><a href="${text}">${text}</a></p>` : `<p>${text}</p>`;
  });
  return [
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8">`,
    `<title>${escapeHtml(title)}</title></head>`,
    '<body style="font-family:sans-serif;line-height:1.5;max-width:40em">',
    ...elements,
    '</body></html>\n',
  ].join('\n');
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
