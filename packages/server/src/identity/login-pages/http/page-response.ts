// Sends pages: not cached, not framed, with a strict content security policy.
import type { FastifyReply } from 'fastify';
import { pageHeaders } from '../../../http/index.ts';
import { type LayoutOptions, type PageContent, renderPage } from '../html/page-layout.ts';
import type { PageContext } from './page-context.ts';

const unsafeSchemes = new Set(['javascript:', 'data:', 'blob:', 'about:', 'file:']);

/**
 * The source of an address for a content security policy: its origin, or the scheme of a mobile app.
 * Undefined for every other address; the browser then blocks the redirect.
 */
export function cspSource(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  // Addresses that contain code or content cannot be redirect addresses of an application.
  if (!/^[a-z][a-z0-9+.-]*:$/.test(protocol) || unsafeSchemes.has(protocol)) return undefined;
  if (protocol !== 'https:' && protocol !== 'http:') return protocol;
  // A policy cannot express some hosts, for example IPv6 addresses.
  return /^[a-z0-9.-]+(?::\d+)?$/.test(host) ? `${protocol}//${host}` : protocol;
}

/** Chrome applies `form-action` to the redirects after a form too. */
export function contentSecurityPolicy({
  formTarget,
  usesPasskey,
}: Pick<PageContent, 'formTarget' | 'usesPasskey'>): string {
  const target = cspSource(formTarget);
  return [
    "default-src 'none'",
    `script-src ${usesPasskey === true ? "'self'" : "'none'"}`,
    "style-src 'self'",
    "img-src 'self' data:",
    `form-action 'self'${target === undefined ? '' : ` ${target}`}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

export function pageHeadersFor(
  content: Pick<PageContent, 'formTarget' | 'usesPasskey'>,
): Record<string, string> {
  const { 'cross-origin-opener-policy': _, ...headers } = pageHeaders;
  return {
    // An application may open the sign-in in a pop-up window and wait for its result: the page must
    // not break that link, so no Cross-Origin-Opener-Policy.
    ...headers,
    'content-security-policy': contentSecurityPolicy(content),
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
  };
}

export type PageResponses = ReturnType<typeof createPageResponses>;

export function createPageResponses(
  layout: LayoutOptions & { readonly assets: { scripts: readonly string[] } },
) {
  return {
    sendPage({ language, path, reply }: PageContext, content: PageContent): FastifyReply {
      const scripts = content.usesPasskey === true ? layout.assets.scripts : [];
      // Not an HTTP authentication scheme: the user authenticates with the form of the page.
      if (content.status === 401) reply.header('www-authenticate', 'Form realm="switchyard"');
      return reply
        .code(content.status ?? 200)
        .headers(pageHeadersFor(content))
        .send(renderPage(layout, { path, ...content, language, scripts }));
    },

    /** After a form is processed: status 303, so that the back button does not send the form again. */
    redirect({ reply }: PageContext, address: string): FastifyReply {
      return reply
        .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
        .redirect(address, 303);
    },
  };
}
