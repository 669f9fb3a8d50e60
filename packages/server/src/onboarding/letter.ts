// The friendly note to whoever was not taken on, as text and as HTML, in English and French.
import { languageNamed } from './words.ts';

export type Note = {
  readonly language: 'en' | 'fr';
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

export function rejectionNote(to: {
  readonly givenName: string;
  readonly organizationName: string;
  readonly language?: string | undefined;
}): Note {
  const { language, subject, lines } = languageNamed(to.language);
  const told = lines(to.givenName, to.organizationName);
  const paragraphs = told.map((line) => `<p>${escaped(line)}</p>`);
  const head = `<meta charset="utf-8"><title>${escaped(subject)}</title>`;
  return {
    language,
    subject: `${subject} · Switchyard`,
    text: `${told.join('\n\n')}\n`,
    html: [
      `<!doctype html><html lang="${language}"><head>${head}</head>`,
      '<body style="font-family:sans-serif;line-height:1.5;max-width:40em">',
      ...paragraphs,
      '</body></html>\n',
    ].join('\n'),
  };
}
