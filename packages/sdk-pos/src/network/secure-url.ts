/**
 * Checks the addresses that receive secrets: any host with TLS, and only this machine without TLS.
 */
import { invalid } from '../support/pos-error.ts';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** @throws PosError address_invalid */
export function demandUrl(text: string, name: string, scheme: 'https' | 'wss'): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = scheme === 'https' ? 'http:' : 'ws:';
  const isPlainHere = url?.protocol === plain && loopback.test(url.hostname);
  if (url === undefined || (url.protocol !== `${scheme}:` && !isPlainHere)) {
    throw invalid('address_invalid', `${name} must be a ${scheme} address`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('address_invalid', `${name} must not hold credentials`);
  }
  return url;
}

/** Returns the WebSocket address of a path on the platform. */
export function socketUrl(baseUrl: string, path: string): string {
  const url = new URL(demandUrl(baseUrl, 'baseUrl', 'https').origin);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = path;
  return url.href;
}
