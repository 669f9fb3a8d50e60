// The HTML layout of every page: head, brand, content, language links and support contact.
import { type Html, html } from '../../../http/index.ts';
import type { Language } from '../../../platform/index.ts';
import { type PageTexts, pageTexts } from '../locales/page-texts.ts';

export type Brand = {
  /** Shown at the top of every page. */
  readonly name: string;
  /** An email address, a web address or a phone number. */
  readonly support?: string | undefined;
};

export type LayoutOptions = {
  readonly brand: Brand;
  /** Addresses of style sheet and logo, with a content hash, so that browsers cache them. */
  readonly assets: { readonly style: string; readonly logo: string };
};

export type PageView = {
  readonly language: Language;
  readonly title: string;
  readonly body: Html;
  /** The address of the page for the language links; missing if the page is shown only once. */
  readonly path?: string | undefined;
  readonly hasErrors?: boolean | undefined;
  /** Uses the wide layout. */
  readonly isWide?: boolean | undefined;
  readonly scripts?: readonly string[] | undefined;
};

export type PageContent = Omit<PageView, 'language'> & {
  readonly status?: number | undefined;
  /** The address outside this site to which the redirect after a form leads. */
  readonly formTarget?: string | undefined;
  readonly usesPasskey?: boolean | undefined;
};

export const emptyHtml: Html = { html: '' };

function languageLinks(path: string, current: Language): Html {
  const links = (Object.keys(pageTexts) as Language[]).map((language) => {
    const name = pageTexts[language].languageName;
    if (language === current) return html`<li><span aria-current="true">${name}</span></li>`;
    return html`<li><a href="${path}?lang=${language}" hreflang="${language}" lang="${language}">${name}</a></li>`;
  });
  return html`<nav aria-label="${pageTexts[current].languages}"><ul class="languages">${links}</ul></nav>`;
}

const urlPattern = /^https:\/\/[^\s]+$/;
const emailPattern = /^[^\s@:/]+@[^\s@:/]+$/;

function supportLine({ support }: Brand, texts: PageTexts): Html {
  if (support === undefined) return emptyHtml;
  let contact = html`${support}`;
  if (urlPattern.test(support)) contact = html`<a href="${support}">${support}</a>`;
  if (emailPattern.test(support)) contact = html`<a href="mailto:${support}">${support}</a>`;
  return html`<p class="support">${texts.support} ${contact}</p>`;
}

export function renderPage({ brand, assets }: LayoutOptions, view: PageView): string {
  const { language, title, body, path, hasErrors = false, isWide = false, scripts = [] } = view;
  const texts = pageTexts[language];
  const page = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${hasErrors ? `${texts.errorTitle} · ` : ''}${title} · ${brand.name}</title>
<link rel="icon" href="${assets.logo}" type="image/svg+xml">
<link rel="stylesheet" href="${assets.style}">
${scripts.map((script) => html`<script src="${script}" defer></script>\n`)}</head>
<body${isWide ? { html: ' class="wide"' } : emptyHtml}>
<header><p class="brand"><img src="${assets.logo}" alt="" width="32" height="32">${brand.name}</p></header>
<main>
${body}
</main>
<footer>
${path === undefined ? emptyHtml : languageLinks(path, language)}
${supportLine(brand, texts)}
</footer>
</body>
</html>
`;
  return page.html;
}
