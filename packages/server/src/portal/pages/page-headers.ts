// Sets the security headers of the portal pages: own content only, no framing, no caching.
import { pageHeaders } from '../../http/index.ts';

/** Styles that scripts add need the nonce; the build puts the nonce where the scripts read it. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}

export function documentHeaders(nonce: string): Record<string, string> {
  return {
    ...pageHeaders,
    'content-security-policy': policyOf(nonce),
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'cache-control': 'no-store',
  };
}

export const assetHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};
