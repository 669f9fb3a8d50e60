// A template tag for HTML that escapes every value, and the security headers of HTML pages.
import type { FastifyReply } from 'fastify';
import { escapeHtml } from '../../platform/index.ts';

/** Text that is escaped HTML. */
export type Html = { readonly html: string };

type HtmlInsert = string | number | Html | readonly Html[];

function renderInsert(value: HtmlInsert): string {
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'html' in value ? value.html : value.map(({ html: part }) => part).join('');
}

/** Escapes the inserted values, except values of type Html. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlInsert[]): Html {
  return {
    html: parts.reduce((text, part, index) => text + renderInsert(values[index - 1] ?? '') + part),
  };
}

/** No content of other origins, no inline content, no framing. */
const pagePolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': pagePolicy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'public, max-age=300',
};

/** Caches keep no page of an error: the next request can succeed. */
export function sendHtmlPage(reply: FastifyReply, page: Html): FastifyReply {
  reply.headers(pageHeaders);
  if (reply.statusCode >= 400) reply.header('cache-control', 'no-store');
  return reply.type('text/html; charset=utf-8').send(page.html);
}
