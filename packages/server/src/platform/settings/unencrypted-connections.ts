// Says which connections beyond this machine production would open without TLS, and which of them are allowed.

import { isLoopbackHost } from '../net/address-classes.ts';
import { isPlainDatabase } from './database-url.ts';
import { choices } from './value-readers.ts';

const connectionKinds = ['database', 'mail', 'metrics'] as const;
type ConnectionKind = (typeof connectionKinds)[number];

export const plainConnectionSettings = {
  plainConnections: {
    ...choices(...connectionKinds),
    name: 'PLAIN_CONNECTIONS',
    description:
      'Connections beyond this machine that `production` may open without TLS, each with a warning at the start: a `database` without a checked certificate, `mail` over `smtp://` (which still changes to TLS by STARTTLS before anything is sent), `metrics` and health over HTTP.',
    defaultDescription: 'none: each of them is a settings fault',
  },
} as const;

type Values = {
  readonly databaseUrl: string | undefined;
  readonly smtpUrl: string | undefined;
  readonly metricsHost: string;
  readonly tls: 'on' | 'off';
  readonly host: string | undefined;
  readonly plainConnections: ReadonlySet<ConnectionKind> | undefined;
};

/** The sentence about a connection that is plain; false where it is not. */
const describePlainConnection: Readonly<
  Record<ConnectionKind, (values: Values) => string | false>
> = {
  database: ({ databaseUrl: url }) =>
    url !== undefined &&
    isPlainDatabase(url) &&
    'SWITCHYARD_DATABASE_URL leads to another machine without TLS, or without checking its certificate; add sslmode=verify-full',
  mail: ({ smtpUrl: url }) =>
    url?.startsWith('smtp://') === true &&
    !isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/g, '')) &&
    'SWITCHYARD_SMTP_URL begins without TLS (smtp://) on another machine; use smtps://',
  metrics: ({ metricsHost: host }) =>
    host !== undefined &&
    !isLoopbackHost(host) &&
    `SWITCHYARD_METRICS_HOST is ${host}, where metrics and health would be plain HTTP; use 127.0.0.1`,
};

export const plainConnectionRules = connectionKinds.map(
  (kind) =>
    (values: Values): string | false => {
      if (values.plainConnections?.has(kind) === true) return false;
      const sentence = describePlainConnection[kind](values);
      return sentence && `${sentence}, or allow it by SWITCHYARD_PLAIN_CONNECTIONS=${kind}`;
    },
);

/** What production allows and an operator should know. */
export function plainConnectionWarnings(values: Values): string[] {
  const allowed = connectionKinds.map((kind) => describePlainConnection[kind](values));
  const { host } = values;
  const proxied =
    values.tls === 'off' &&
    host !== undefined &&
    !isLoopbackHost(host) &&
    `SWITCHYARD_TLS is off: between the proxy and ${host} the API is plain HTTP`;
  return [...allowed, proxied].filter((sentence) => typeof sentence === 'string');
}
