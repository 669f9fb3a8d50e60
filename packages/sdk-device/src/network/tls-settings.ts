/** The certificate of a device and the certificate authority that it trusts. */
import { defined } from '@switchyard/contract';

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

/** Requires TLS 1.2 or later, like the device listener. */
export function tlsOptions(tls: DeviceTls): { minVersion: 'TLSv1.2' } & DeviceTls {
  const { ca, cert, key, passphrase } = tls;
  return {
    minVersion: 'TLSv1.2',
    ...defined({ ca, cert, key, passphrase }),
  };
}
