// The notes to whoever signs up, as text and as HTML, in English, French and German.
import { mailName } from '../platform/index.ts';
import { languageNamed, type NoteKind } from './words.ts';

export type Note = {
  readonly language: 'en' | 'fr' | 'de';
  readonly subject: string;
  readonly text: string;
  readonly html: string;
};

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');

type Addressee = {
  readonly givenName: string;
  readonly organizationName: string;
  readonly language?: string | undefined;
};

/** To whoever was not taken on. */
export const rejectionNote = (to: Addressee): Note => noteOf('rejected', to);
/** To whoever signed up, so that a stranger's doing is noticed. */
export const receiptNote = (to: Addressee): Note => noteOf('received', to);

function noteOf(kind: NoteKind, to: Addressee): Note {
  const { language, notes } = languageNamed(to.language);
  const { subject, lines } = notes[kind];
  const greeting = lines(mailName(to.givenName), mailName(to.organizationName));
  const paragraphs = greeting.map((line) => `<p>${escaped(line)}</p>`);
  const head = `<meta charset="utf-8"><title>${escaped(subject)}</title>`;
  return {
    language,
    subject: `${subject} · Switchyard`,
    text: `${greeting.join('\n\n')}\n`,
    html: [
      `<!doctype html><html lang="${language}"><head>${head}</head>`,
      '<body style="font-family:sans-serif;line-height:1.5;max-width:40em">',
      ...paragraphs,
      '</body></html>\n',
    ].join('\n'),
  };
}
