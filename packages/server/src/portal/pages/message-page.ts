// Renders the portal pages of the server itself, which are short and have no scripts.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { html, pageHeaders } from '../../http/index.ts';
import { chooseLanguage, type Translations } from '../../platform/index.ts';
import german from './locales/de.json' with { type: 'json' };
import english from './locales/en.json' with { type: 'json' };
import french from './locales/fr.json' with { type: 'json' };

type MessageTexts = typeof english;

export type MessageName = Exclude<keyof MessageTexts, 'signIn' | 'request'>;

export const messageTexts: Translations<MessageTexts> = { en: english, fr: french, de: german };

const statuses: Readonly<Record<MessageName, number>> = {
  building: 503,
  absent: 503,
  unknownClient: 404,
  elsewhere: 404,
  stale: 400,
  denied: 403,
  failed: 400,
  busy: 429,
  broken: 500,
};
const retrySeconds = 3;

export type PageLink = { readonly address: string; readonly text?: string };

export type MessagePageOptions = {
  /** Omitted if the page has no link. */
  readonly link?: PageLink;
  readonly retryAfter?: string;
};

export function sendMessagePage(
  request: FastifyRequest,
  reply: FastifyReply,
  name: MessageName,
  { link, retryAfter }: MessagePageOptions = {},
): FastifyReply {
  const language = chooseLanguage({ acceptLanguage: request.headers['accept-language'] });
  const words = messageTexts[language];
  const { title, text } = words[name];
  const comesByItself = name === 'building';
  if (comesByItself) reply.header('retry-after', String(retrySeconds));
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
  const page = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${comesByItself ? html`<meta http-equiv="refresh" content="${retrySeconds}">` : ''}
<title>${title} · Switchyard</title>
<link rel="icon" href="/docs/assets/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/assets/pages.css">
</head>
<body>
<header><span class="brand">Switchyard</span></header>
<main>
<h1>${title}</h1>
<p class="lead">${text}</p>
${link === undefined ? '' : html`<p><a href="${link.address}">${link.text ?? words.signIn}</a></p>`}
<p><small>${words.request} <code>${request.id}</code></small></p>
</main>
</body>
</html>
`;
  return reply
    .code(statuses[name])
    .headers({ ...pageHeaders, 'cache-control': 'no-store' })
    .header('vary', 'accept-language')
    .type('text/html; charset=utf-8')
    .send(page.html);
}
