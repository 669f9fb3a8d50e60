/** The certificate of a device and the certificate authority that it trusts. */

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
