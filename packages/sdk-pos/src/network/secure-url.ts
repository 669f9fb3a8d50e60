/**
 * Checks the addresses that receive secrets: any host with TLS, and only this machine without TLS.
 */
import { invalidError } from '../support/pos-error.ts';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** @throws PosError address_invalid */
export function requireSecureUrl(text: string, name: string, scheme: 'https' | 'wss'): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plainProtocol = scheme === 'https' ? 'http:' : 'ws:';
  const isPlainOnLoopback = url?.protocol === plainProtocol && loopback.test(url.hostname);
  if (url === undefined || (url.protocol !== `${scheme}:` && !isPlainOnLoopback)) {
    throw invalidError('address_invalid', `${name} must be a ${scheme} address`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidError('address_invalid', `${name} must not contain credentials`);
  }
  return url;
}

/** Returns the WebSocket address of a path on the platform. */
export function websocketUrl(baseUrl: string, path: string): string {
  const url = new URL(requireSecureUrl(baseUrl, 'baseUrl', 'https').origin);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = path;
  return url.href;
}
