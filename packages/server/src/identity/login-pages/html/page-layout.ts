// The frame of every page: head, wordmark, one column, the languages, and whom to ask for help.
import { type Html, html } from '../../../http/index.ts';
import { type Language, languages, type Words } from '../locales/languages.ts';

export type Brand = {
  /** Stands at the top of every page. */
  readonly name: string;
  /** An address of mail or web, or a number to call. */
  readonly support?: string | undefined;
};

export type Frame = {
  readonly brand: Brand;
  /** Where the style and the picture lie, with the tag that makes them last. */
  readonly assets: { readonly style: string; readonly mark: string };
};

export type Shown = {
  readonly language: Language;
  readonly title: string;
  readonly body: Html;
  /** Where the same page is found in the other languages; left out where it is shown only once. */
  readonly path?: string | undefined;
  readonly isFaulty?: boolean | undefined;
  /** More than one column's worth. */
  readonly isWide?: boolean | undefined;
  readonly scripts?: readonly string[] | undefined;
};

export type Answer = Omit<Shown, 'language'> & {
  readonly status?: number | undefined;
  /** Where a form of it ends after our own redirect, besides ourselves. */
  readonly leadsTo?: string | undefined;
  readonly usesPasskey?: boolean | undefined;
};

export const nothing: Html = { html: '' };

function languageLinks(path: string, current: Language): Html {
  const links = (Object.keys(languages) as Language[]).map((language) => {
    const name = languages[language].languageName;
    if (language === current) return html`<li><span aria-current="true">${name}</span></li>`;
    return html`<li><a href="${path}?lang=${language}" hreflang="${language}" lang="${language}">${name}</a></li>`;
  });
  return html`<nav aria-label="${languages[current].languages}"><ul class="languages">${links}</ul></nav>`;
}

const webAddress = /^https:\/\/[^\s]+$/;
const mailAddress = /^[^\s@:/]+@[^\s@:/]+$/;

function supportLine({ support }: Brand, words: Words): Html {
  if (support === undefined) return nothing;
  let contact = html`${support}`;
  if (webAddress.test(support)) contact = html`<a href="${support}">${support}</a>`;
  if (mailAddress.test(support)) contact = html`<a href="mailto:${support}">${support}</a>`;
  return html`<p class="support">${words.support} ${contact}</p>`;
}

export function writePage({ brand, assets }: Frame, shown: Shown): string {
  const { language, title, body, path, isFaulty = false, isWide = false, scripts = [] } = shown;
  const words = languages[language];
  const page = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${isFaulty ? `${words.errorTitle} · ` : ''}${title} · ${brand.name}</title>
<link rel="icon" href="${assets.mark}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
${scripts.map((script) => html`<script src="${script}" defer></script>\n`)}</head>
<body${isWide ? { html: ' class="wide"' } : nothing}>
<header><p class="brand"><img src="${assets.mark}" alt="" width="32" height="32">${brand.name}</p></header>
<main>
${body}
</main>
<footer>
${path === undefined ? nothing : languageLinks(path, language)}
${supportLine(brand, words)}
</footer>
</body>
</html>
`;
  return page.html;
}
