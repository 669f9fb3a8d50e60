/** The TLS options of every connection. */
import { defined } from '@switchyard/contract';

export type TlsSettings = {
  readonly ca?: string | Buffer | undefined;
  readonly servername?: string | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  readonly passphrase?: string | undefined;
};

type TlsOptions = { minVersion: 'TLSv1.2' } & {
  [Name in keyof TlsSettings]?: NonNullable<TlsSettings[Name]>;
};

/** Requires TLS 1.2 or later, and ignores other members of the settings. */
export function tlsOptions({ ca, servername, cert, key, passphrase }: TlsSettings): TlsOptions {
  return { minVersion: 'TLSv1.2', ...defined({ ca, servername, cert, key, passphrase }) };
}
