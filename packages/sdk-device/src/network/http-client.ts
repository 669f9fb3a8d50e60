/** The HTTP client of this package: its limits, its errors, and the certificate of the device. */
import { createHttpClient, type HttpClient } from '@switchyard/sdk-core';
import { createDeviceError } from '../support/device-error.ts';

/**
 * The TLS settings of a device. `cert` and `key` are its own, for mutual TLS. `ca` is the
 * certificate authority of the platform, if Node does not know it.
 *
 * @example
 * const tls: DeviceTls = { ca: readFileSync('ca.pem'), cert: readFileSync('device.pem'), key };
 */
export type DeviceTls = {
  readonly ca?: string | Buffer | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  readonly passphrase?: string | undefined;
};

const responseBytesMax = 4_194_304;
const connectionsMax = 16;

export const createDeviceHttpClient = (tls: DeviceTls = {}): HttpClient =>
  createHttpClient({ tls, connectionsMax, responseBytesMax, createError: createDeviceError });
