// Errors in the settings of a link, with texts for the administrator.
import { isLoopbackHost } from '../../platform/index.ts';
import type { AcquirerLink } from './acquirer-spi.ts';

/** JSON Pointer (RFC 6901) of the invalid member, and the reason. */
export type LinkConfigurationError = { readonly pointer: string; readonly detail: string };

/** A setting prevents the opening of a link. The API returns the message to the administrator. */
export class InvalidLinkSettingError extends Error {
  override name = 'InvalidLinkSettingError';
  readonly pointer: string;

  constructor(pointer: string, detail: string) {
    super(detail);
    this.pointer = pointer;
  }
}

/** @throws Error if the host is not on loopback and TLS is off */
export function requireTls({ name, settings: { tls, host } }: AcquirerLink): void {
  if (tls !== true && !isLoopbackHost(host))
    throw new Error(`The acquirer link ${name} requires TLS, because its host is not on loopback.`);
}
