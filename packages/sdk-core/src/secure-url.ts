/**
 * Checks the addresses that receive secrets: any host with TLS, and only this machine without TLS.
 */
import type { CreateError } from './fault.ts';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const plainProtocols = { https: 'http:', wss: 'ws:' } as const;

/** Returns undefined for an address that is invalid or has no TLS. */
export function parseSecureUrl(text: string, scheme: 'https' | 'wss'): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlainOnLoopback = url?.protocol === plainProtocols[scheme] && loopback.test(url.hostname);
  return url?.protocol === `${scheme}:` || isPlainOnLoopback ? url : undefined;
}

/** Also refuses credentials in the address. @throws address_invalid */
export function requireSecureUrl(
  text: string,
  name: string,
  scheme: 'https' | 'wss',
  createError: CreateError,
): URL {
  const addressError = (message: string) =>
    createError({ kind: 'Invalid', message, code: 'address_invalid' });
  const url = parseSecureUrl(text, scheme);
  if (url === undefined) throw addressError(`${name} must be a ${scheme} address`);
  if (url.username !== '' || url.password !== '') {
    throw addressError(`${name} must not contain credentials`);
  }
  return url;
}
