// Contains the texts of the portal pages of the server itself, in three languages.

export const languages = ['en', 'fr', 'de'] as const;
export type Language = (typeof languages)[number];

export type Message = { readonly title: string; readonly text: string };

export type MessageTexts = {
  readonly signIn: string;
  readonly request: string;
  readonly building: Message;
  readonly absent: Message;
  readonly unknownClient: Message;
  readonly elsewhere: Message;
  readonly stale: Message;
  readonly denied: Message;
  readonly failed: Message;
  readonly busy: Message;
  readonly broken: Message;
};

export type MessageName = Exclude<keyof MessageTexts, 'signIn' | 'request'>;

const en: MessageTexts = {
  signIn: 'Sign in',
  request: 'Request',
  building: {
    title: 'The portal is being built',
    text: 'The build takes a few seconds after a change of the sources. This page reloads automatically.',
  },
  absent: {
    title: 'The portal is not built',
    text: 'The files of the portal are missing on this server. The operator of the platform builds them with “npm run build-portal”.',
  },
  unknownClient: {
    title: 'No portal here',
    text: 'No client of the platform has this address. Check the spelling of the name.',
  },
  elsewhere: { title: 'No portal here', text: 'The portal has another address.' },
  stale: {
    title: 'This sign-in has expired',
    text: 'The sign-in was started in another browser, or too long ago. Please start again.',
  },
  denied: { title: 'You are not signed in', text: 'The sign-in was cancelled.' },
  failed: { title: 'The sign-in failed', text: 'Please start again.' },
  busy: { title: 'Too many requests', text: 'Please wait a moment, then try again.' },
  broken: {
    title: 'Something went wrong',
    text: 'The platform had an internal error. Please try again later.',
  },
};

const fr: MessageTexts = {
  signIn: 'Se connecter',
  request: 'Requête',
  building: {
    title: 'Le portail est en cours de construction',
    text: 'La construction prend quelques secondes après un changement des sources. Cette page se recharge automatiquement.',
  },
  absent: {
    title: 'Le portail n’est pas construit',
    text: 'Ses fichiers manquent sur ce serveur : l’exploitant de la plateforme les construit avec « npm run build-portal ».',
  },
  unknownClient: {
    title: 'Aucun portail ici',
    text: 'Aucun client de la plateforme n’a cette adresse. Vérifiez l’orthographe de son nom.',
  },
  elsewhere: { title: 'Aucun portail ici', text: 'Le portail a une autre adresse.' },
  stale: {
    title: 'Cette connexion est périmée',
    text: 'Elle a commencé dans un autre navigateur, ou il y a trop longtemps. Veuillez recommencer.',
  },
  denied: { title: 'Vous n’êtes pas connecté', text: 'La connexion a été annulée.' },
  failed: { title: 'La connexion a échoué', text: 'Veuillez recommencer.' },
  busy: { title: 'Trop de requêtes', text: 'Veuillez patienter un instant, puis réessayer.' },
  broken: {
    title: 'Une erreur est survenue',
    text: 'L’erreur vient de nous. Veuillez réessayer plus tard.',
  },
};

const de: MessageTexts = {
  signIn: 'Anmelden',
  request: 'Anfrage',
  building: {
    title: 'Das Portal wird gebaut',
    text: 'Nach einer Änderung der Quellen dauert das einige Sekunden. Diese Seite lädt automatisch neu.',
  },
  absent: {
    title: 'Das Portal ist nicht gebaut',
    text: 'Seine Dateien fehlen auf diesem Server: Wer die Plattform betreibt, baut sie mit „npm run build-portal“.',
  },
  unknownClient: {
    title: 'Hier ist kein Portal',
    text: 'Kein Kunde der Plattform hat diese Adresse. Bitte prüfen Sie, wie der Name geschrieben wird.',
  },
  elsewhere: { title: 'Hier ist kein Portal', text: 'Das Portal hat eine andere Adresse.' },
  stale: {
    title: 'Diese Anmeldung ist veraltet',
    text: 'Sie wurde in einem anderen Browser begonnen oder vor zu langer Zeit. Bitte beginnen Sie von vorn.',
  },
  denied: { title: 'Sie sind nicht angemeldet', text: 'Die Anmeldung wurde abgebrochen.' },
  failed: { title: 'Die Anmeldung ist gescheitert', text: 'Bitte beginnen Sie von vorn.' },
  busy: {
    title: 'Zu viele Anfragen',
    text: 'Bitte warten Sie einen Moment und versuchen es erneut.',
  },
  broken: {
    title: 'Etwas ist schiefgegangen',
    text: 'Der Fehler liegt bei uns. Bitte versuchen Sie es später erneut.',
  },
};

export const textsByLanguage: Readonly<Record<Language, MessageTexts>> = { en, fr, de };

/** Returns the first available language that the browser prefers, otherwise English. */
export function languageOf(accepted: string | undefined): Language {
  const preferred = (accepted ?? '')
    .split(',', 32)
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
      const quality = parameters.find((each) => each.trim().startsWith('q='));
      return {
        tag: tag.split('-', 1)[0],
        q: quality === undefined ? 1 : Number(quality.split('=')[1]),
      };
    })
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q);
  return preferred.map(({ tag }) => languages.find((one) => one === tag)).find(Boolean) ?? 'en';
}
