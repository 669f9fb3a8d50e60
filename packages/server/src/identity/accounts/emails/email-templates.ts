// The words of our mail, in English, French and German, as text and as HTML.
import { mailName } from '../../../platform/index.ts';

/** With a link: the first three. The others tell what was done, so that a stranger's doing is noticed. */
export type LetterKind =
  | 'activate'
  | 'reset'
  | 'email'
  | 'email-changed'
  | 'password-changed'
  | 'second-factor-set'
  | 'second-factor-reset';

export type Letter = {
  readonly kind: LetterKind;
  readonly to: string;
  readonly locale?: string | undefined;
  readonly zoneinfo?: string | undefined;
  readonly givenName?: string | undefined;
  readonly username: string;
  readonly userDomainId: string;
  readonly link?: { readonly address: string; readonly expiresAt: number } | undefined;
};

type Words = { readonly subject: string; readonly body: string; readonly after: string };
type Language = {
  readonly greeting: (name: string | undefined) => string;
  readonly account: (username: string, domain: string) => string;
  readonly expiry: (until: string) => string;
  readonly letters: Readonly<Record<LetterKind, Words>>;
};

const languages = {
  en: {
    greeting: (name) => (name === undefined ? 'Hello,' : `Hello ${name},`),
    account: (username, domain) => `User name: ${username}\nUser domain: ${domain}`,
    expiry: (until) => `The link works once, until ${until}.`,
    letters: {
      activate: {
        subject: 'Set up your account',
        body: 'An account was made for you. Choose your password here:',
        after: 'If you did not expect this mail, leave it: nothing happens without the link.',
      },
      reset: {
        subject: 'Choose a new password',
        body: 'Somebody asked for a new password for your account. Choose it here:',
        after: 'If it was not you, leave this mail: your password stays as it is.',
      },
      email: {
        subject: 'Confirm your mail address',
        body: 'This address was given for your account. Confirm that it is yours:',
        after: 'If it was not you, leave this mail: the account keeps its old address.',
      },
      'email-changed': {
        subject: 'Your mail address was changed',
        body: 'Your account has a new mail address from now on. This one gets no more mail.',
        after: 'If it was not you, tell your administrator at once.',
      },
      'password-changed': {
        subject: 'Your password was changed',
        body: 'Your account has a new password from now on. You are signed out everywhere.',
        after: 'If it was not you, tell your administrator at once.',
      },
      'second-factor-set': {
        subject: 'A second factor was set up',
        body: 'From now on your account asks for a second factor that was set up just now.',
        after: 'If it was not you, tell your administrator at once.',
      },
      'second-factor-reset': {
        subject: 'Your second factor was removed',
        body: 'Your administrator removed the second factor of your account. You are signed out everywhere, and set up a new one when you sign in next.',
        after: 'If you did not ask for this, tell your administrator at once.',
      },
    },
  },
  fr: {
    greeting: (name) => (name === undefined ? 'Bonjour,' : `Bonjour ${name},`),
    account: (username, domain) =>
      `Nom d’utilisateur : ${username}\nDomaine d’utilisateurs : ${domain}`,
    expiry: (until) => `Le lien est valable une seule fois, jusqu’au ${until}.`,
    letters: {
      activate: {
        subject: 'Configurez votre compte',
        body: 'Un compte a été créé pour vous. Choisissez votre mot de passe ici :',
        after: 'Si vous n’attendiez pas ce message, ignorez-le : rien ne se fait sans le lien.',
      },
      reset: {
        subject: 'Choisissez un nouveau mot de passe',
        body: 'Un nouveau mot de passe a été demandé pour votre compte. Choisissez-le ici :',
        after: 'Si ce n’était pas vous, ignorez ce message : votre mot de passe ne change pas.',
      },
      email: {
        subject: 'Confirmez votre adresse',
        body: 'Cette adresse a été indiquée pour votre compte. Confirmez qu’elle est à vous :',
        after: 'Si ce n’était pas vous, ignorez ce message : le compte garde l’ancienne adresse.',
      },
      'email-changed': {
        subject: 'Votre adresse a été modifiée',
        body: 'Votre compte a désormais une autre adresse. Celle-ci ne recevra plus de message.',
        after: 'Si ce n’était pas vous, prévenez tout de suite votre administrateur.',
      },
      'password-changed': {
        subject: 'Votre mot de passe a été modifié',
        body: 'Votre compte a désormais un nouveau mot de passe. Vous êtes déconnecté partout.',
        after: 'Si ce n’était pas vous, prévenez tout de suite votre administrateur.',
      },
      'second-factor-set': {
        subject: 'Un second facteur a été configuré',
        body: 'Votre compte demande désormais un second facteur, configuré à l’instant.',
        after: 'Si ce n’était pas vous, prévenez tout de suite votre administrateur.',
      },
      'second-factor-reset': {
        subject: 'Votre second facteur a été retiré',
        body: 'Votre administrateur a retiré le second facteur de votre compte. Vous êtes déconnecté partout et en configurerez un nouveau à la prochaine connexion.',
        after: 'Si vous ne l’avez pas demandé, prévenez tout de suite votre administrateur.',
      },
    },
  },
  de: {
    greeting: (name) => (name === undefined ? 'Guten Tag,' : `Guten Tag ${name},`),
    account: (username, domain) => `Benutzername: ${username}\nBenutzerdomäne: ${domain}`,
    expiry: (until) => `Der Link gilt einmal, bis ${until}.`,
    letters: {
      activate: {
        subject: 'Richten Sie Ihr Konto ein',
        body: 'Für Sie wurde ein Konto angelegt. Wählen Sie hier Ihr Passwort:',
        after:
          'Haben Sie diese E-Mail nicht erwartet, so lassen Sie sie liegen: Ohne den Link geschieht nichts.',
      },
      reset: {
        subject: 'Wählen Sie ein neues Passwort',
        body: 'Für Ihr Konto wurde um ein neues Passwort gebeten. Wählen Sie es hier:',
        after:
          'Waren Sie es nicht, so lassen Sie diese E-Mail liegen: Ihr Passwort bleibt, wie es ist.',
      },
      email: {
        subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
        body: 'Diese Adresse wurde für Ihr Konto angegeben. Bestätigen Sie, dass sie Ihnen gehört:',
        after:
          'Waren Sie es nicht, so lassen Sie diese E-Mail liegen: Das Konto behält seine alte Adresse.',
      },
      'email-changed': {
        subject: 'Ihre E-Mail-Adresse wurde geändert',
        body: 'Ihr Konto hat von jetzt an eine andere Adresse. Hierher kommt keine E-Mail mehr.',
        after: 'Waren Sie es nicht, so sagen Sie es sofort Ihrer Verwaltung.',
      },
      'password-changed': {
        subject: 'Ihr Passwort wurde geändert',
        body: 'Ihr Konto hat von jetzt an ein neues Passwort. Sie sind überall abgemeldet.',
        after: 'Waren Sie es nicht, so sagen Sie es sofort Ihrer Verwaltung.',
      },
      'second-factor-set': {
        subject: 'Ein zweiter Nachweis wurde eingerichtet',
        body: 'Von jetzt an verlangt Ihr Konto einen zweiten Nachweis, der soeben eingerichtet wurde.',
        after: 'Waren Sie es nicht, so sagen Sie es sofort Ihrer Verwaltung.',
      },
      'second-factor-reset': {
        subject: 'Ihr zweiter Nachweis wurde entfernt',
        body: 'Ihre Verwaltung hat den zweiten Nachweis Ihres Kontos entfernt. Sie sind überall abgemeldet und richten bei der nächsten Anmeldung einen neuen ein.',
        after: 'Haben Sie nicht darum gebeten, so sagen Sie es sofort Ihrer Verwaltung.',
      },
    },
  },
} satisfies Record<string, Language>;

/** Dates as the country writes them that most who speak the language live in. */
const dateLocales = { en: 'en-GB', fr: 'fr-FR', de: 'de-DE' } as const;

type LanguageName = keyof typeof languages;

export type Written = {
  readonly language: LanguageName;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
};

/** English for whoever has no language that we speak. */
function languageOf(locale: string | undefined): LanguageName {
  const named = locale?.toLowerCase().split('-')[0];
  return named === 'fr' || named === 'de' ? named : 'en';
}

export function writeLetter(letter: Letter): Written {
  const name = languageOf(letter.locale);
  const language: Language = languages[name];
  const { subject, body, after } = language.letters[letter.kind];
  const givenName = mailName(letter.givenName ?? '');
  const { link, username, userDomainId } = letter;
  const until =
    link === undefined ? [] : [language.expiry(timeText(link.expiresAt, name, letter.zoneinfo))];
  const lines = [
    language.greeting(givenName === '' ? undefined : givenName),
    body,
    ...(link === undefined ? [] : [link.address]),
    ...until,
    language.account(username, userDomainId),
    after,
  ];
  return {
    language: name,
    subject: `${subject} · Switchyard`,
    text: `${lines.join('\n\n')}\n`,
    html: htmlOf(name, subject, lines, link?.address),
  };
}

function timeText(at: number, language: LanguageName, zone = 'UTC'): string {
  return new Intl.DateTimeFormat(dateLocales[language], {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: zone,
    timeZoneName: 'short',
  }).format(at);
}

/** Without pictures, styles from elsewhere or anything else that a mailbox would have to fetch. */
function htmlOf(
  language: LanguageName,
  title: string,
  lines: readonly string[],
  address: string | undefined,
): string {
  const paragraphs = lines.map((line) => {
    const text = escaped(line).replaceAll('\n', '<br>');
    return line === address ? `<p><a href="${text}">${text}</a></p>` : `<p>${text}</p>`;
  });
  return [
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8">`,
    `<title>${escaped(title)}</title></head>`,
    '<body style="font-family:sans-serif;line-height:1.5;max-width:40em">',
    ...paragraphs,
    '</body></html>\n',
  ].join('\n');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
