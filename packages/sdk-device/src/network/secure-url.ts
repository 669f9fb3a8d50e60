/**
 * Checks the addresses that receive secrets: any host with TLS, and only this machine without TLS.
 */
import { invalid } from '../support/device-error.ts';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

function demandUrl(text: string, name: string, scheme: 'https' | 'wss'): URL {
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

/** @throws DeviceError address_invalid */
export const demandHttps = (text: string, name: string): URL => demandUrl(text, name, 'https');

/** @throws DeviceError address_invalid */
export const demandWss = (text: string, name: string): URL => demandUrl(text, name, 'wss');
