// Renders the paragraphs of a mail as text and as HTML.
import { escapeHtml } from '../texts/escape-html.ts';
import type { Language } from '../texts/languages.ts';

export type RenderedMail = {
  readonly language: Language;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
};

type MailContent = {
  readonly language: Language;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** The paragraph that is only this address becomes a link. */
  readonly linkAddress?: string | undefined;
};

/** No images, style sheets or other resources that a mail client would have to load. */
export function renderMail({
  language,
  subject,
  paragraphs,
  linkAddress,
}: MailContent): RenderedMail {
  const elements = paragraphs.map((paragraph) => {
    const text = escapeHtml(paragraph).replaceAll('\n', '<br>');
    return paragraph === linkAddress ? `<p><a href="${text}">${text}</a></p>` : `<p>${text}</p>`;
  });
  return {
    language,
    subject: `${subject} · Switchyard`,
    text: `${paragraphs.join('\n\n')}\n`,
    html: [
      `<!doctype html><html lang="${language}"><head><meta charset="utf-8">`,
      `<title>${escapeHtml(subject)}</title></head>`,
      '<body style="font-family:sans-serif;line-height:1.5;max-width:40em">',
      ...elements,
      '</body></html>\n',
    ].join('\n'),
  };
}
