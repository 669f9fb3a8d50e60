/**
 * Checks the addresses that receive secrets: any host with TLS, and only this machine without TLS.
 */
import { invalidError } from '../support/device-error.ts';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function parseSecureUrl(text: string, name: string, scheme: 'https' | 'wss'): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plainProtocol = scheme === 'https' ? 'http:' : 'ws:';
  const isPlainOnLoopback = url?.protocol === plainProtocol && loopback.test(url.hostname);
  if (url === undefined || (url.protocol !== `${scheme}:` && !isPlainOnLoopback)) {
    throw invalidError('address_invalid', `${name} must be a ${scheme} address`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidError('address_invalid', `${name} must not hold credentials`);
  }
  return url;
}

/** @throws DeviceError address_invalid */
export const requireHttpsUrl = (text: string, name: string): URL =>
  parseSecureUrl(text, name, 'https');

/** @throws DeviceError address_invalid */
export const requireWssUrl = (text: string, name: string): URL => parseSecureUrl(text, name, 'wss');
