/** The certificate that a device shows, and whom it believes. */
import { defined } from '@switchyard/contract';

/**
 * TLS of a device. `cert` and `key` are its own, for mutual TLS; `ca` is the authority of the platform
 * where it is none that Node knows.
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

/** Nothing before TLS 1.2, as the device listener has it. */
export function tlsOptions(tls: DeviceTls): { minVersion: 'TLSv1.2' } & DeviceTls {
  const { ca, cert, key, passphrase } = tls;
  return {
    minVersion: 'TLSv1.2',
    ...defined({ ca, cert, key, passphrase }),
  };
}
