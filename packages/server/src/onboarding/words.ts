// The words of the note to whoever was not taken on.

const languages = {
  en: {
    subject: 'Your sign-up',
    lines: (name: string, organization: string) => [
      `Hello ${name},`,
      `Thank you for your interest. We cannot open an account for ${organization} at the moment.`,
      'If you think that we missed something, write to us and we look again.',
    ],
  },
  fr: {
    subject: 'Votre inscription',
    lines: (name: string, organization: string) => [
      `Bonjour ${name},`,
      `Merci de votre intérêt. Nous ne pouvons pas ouvrir de compte pour ${organization} pour le moment.`,
      'Si vous pensez que quelque chose nous a échappé, écrivez-nous : nous regarderons à nouveau.',
    ],
  },
} as const;

/** English for whoever has no language that we speak. */
export function languageNamed(language: string | undefined) {
  const name = language?.startsWith('fr') === true ? ('fr' as const) : ('en' as const);
  return { language: name, ...languages[name] };
}
