// The words of the notes to whoever signs up.

type Words = {
  readonly subject: string;
  readonly lines: (name: string, organization: string) => readonly string[];
};

export type NoteKind = 'received' | 'rejected';

const languages = {
  en: {
    received: {
      subject: 'We have your sign-up',
      lines: (name, organization) => [
        `Hello ${name},`,
        `Thank you for signing up ${organization}. We look at it, and answer to this address.`,
        'If it was not you, leave this mail: nothing is set up before we have answered.',
      ],
    },
    rejected: {
      subject: 'Your sign-up',
      lines: (name, organization) => [
        `Hello ${name},`,
        `Thank you for your interest. We cannot open an account for ${organization} at the moment.`,
        'If you think that we missed something, write to us and we look again.',
      ],
    },
  },
  fr: {
    received: {
      subject: 'Nous avons reçu votre inscription',
      lines: (name, organization) => [
        `Bonjour ${name},`,
        `Merci d’avoir inscrit ${organization}. Nous étudions la demande et répondons à cette adresse.`,
        'Si ce n’était pas vous, ignorez ce message : rien ne se fait avant notre réponse.',
      ],
    },
    rejected: {
      subject: 'Votre inscription',
      lines: (name, organization) => [
        `Bonjour ${name},`,
        `Merci de votre intérêt. Nous ne pouvons pas ouvrir de compte pour ${organization} pour le moment.`,
        'Si vous pensez que quelque chose nous a échappé, écrivez-nous : nous regarderons à nouveau.',
      ],
    },
  },
  de: {
    received: {
      subject: 'Ihre Anmeldung ist da',
      lines: (name, organization) => [
        `Guten Tag ${name},`,
        `vielen Dank, dass Sie ${organization} angemeldet haben. Wir sehen uns die Anfrage an und antworten an diese Adresse.`,
        'Waren Sie es nicht, so lassen Sie diese E-Mail liegen: Vor unserer Antwort wird nichts eingerichtet.',
      ],
    },
    rejected: {
      subject: 'Ihre Anmeldung',
      lines: (name, organization) => [
        `Guten Tag ${name},`,
        `vielen Dank für Ihr Interesse. Wir können für ${organization} zurzeit kein Konto eröffnen.`,
        'Meinen Sie, dass uns etwas entgangen ist, so schreiben Sie uns, und wir sehen noch einmal hin.',
      ],
    },
  },
} satisfies Record<string, Readonly<Record<NoteKind, Words>>>;

/** English for whoever has no language that we speak. */
export function languageNamed(language: string | undefined) {
  const named = language?.slice(0, 2);
  const name: keyof typeof languages = named === 'fr' || named === 'de' ? named : 'en';
  return { language: name, notes: languages[name] };
}
