// Tells whether a host is this very machine: the one rule for who may be spoken to without TLS.
import { isIPv4 } from 'node:net';

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
