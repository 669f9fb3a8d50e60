// Sends pages: never cached, never framed, talking to nobody but us, and leading on only where they must.
import type { FastifyReply } from 'fastify';
import { pageHeaders } from '../../../http/index.ts';
import { type Answer, type Frame, writePage } from '../html/page-layout.ts';
import type { Visit } from './page-context.ts';

const contentSchemes = new Set(['javascript:', 'data:', 'blob:', 'about:', 'file:']);

/**
 * What a policy may name of an address: its origin, or the scheme of an application on a phone.
 * An address that is neither is not named; the browser then stops the redirect.
 */
export function policySource(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  // Nothing that runs or holds content by itself can be where an application waits.
  if (!/^[a-z][a-z0-9+.-]*:$/.test(protocol) || contentSchemes.has(protocol)) return undefined;
  if (protocol !== 'https:' && protocol !== 'http:') return protocol;
  // A policy has no spelling for some hosts, such as those of IPv6.
  return /^[a-z0-9.-]+(?::\d+)?$/.test(host) ? `${protocol}//${host}` : protocol;
}

/** Chrome holds the redirects behind a form to `form-action` too. */
export function policyOf({
  leadsTo,
  usesPasskey,
}: Pick<Answer, 'leadsTo' | 'usesPasskey'>): string {
  const target = policySource(leadsTo);
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

export function headersOf(answer: Pick<Answer, 'leadsTo' | 'usesPasskey'>): Record<string, string> {
  const { 'cross-origin-opener-policy': _, ...headers } = pageHeaders;
  return {
    // An application may open the sign-in in a window of its own and wait for it there: the page must
    // not cut that off, so no Cross-Origin-Opener-Policy.
    ...headers,
    'content-security-policy': policyOf(answer),
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
  };
}

export type Answers = ReturnType<typeof createAnswers>;

export function createAnswers(frame: Frame & { readonly assets: { scripts: readonly string[] } }) {
  return {
    page({ language, path, reply }: Visit, answer: Answer): FastifyReply {
      const scripts = answer.usesPasskey === true ? frame.assets.scripts : [];
      // No scheme of HTTP's own: the form of the page is the way to prove oneself.
      if (answer.status === 401) reply.header('www-authenticate', 'Form realm="switchyard"');
      return reply
        .code(answer.status ?? 200)
        .headers(headersOf(answer))
        .send(writePage(frame, { path, ...answer, language, scripts }));
    },

    /** After a form has done its work: the way back leads to no second time. */
    goTo({ reply }: Visit, address: string): FastifyReply {
      return reply
        .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
        .redirect(address, 303);
    },
  };
}
