// Plain (unencrypted) connections to other machines: which of them production refuses, and which the operator allows.

import { isLoopbackHost } from '../net/address-classes.ts';
import { isPlainDatabase } from './database-url.ts';
import { choices } from './value-readers.ts';

const connectionKinds = ['database', 'mail', 'metrics', 'traces'] as const;
type ConnectionKind = (typeof connectionKinds)[number];

export const plainConnectionSettings = {
  plainConnections: {
    ...choices(...connectionKinds),
    name: 'PLAIN_CONNECTIONS',
    description:
      'Connections to other machines for which `production` accepts less than full TLS. The platform logs a warning for each at the start. `database`: without a certificate check. `mail`: `smtp://`, which starts unencrypted and must use STARTTLS before it sends a mail. `metrics`: metrics and health over HTTP. `traces`: traces over HTTP.',
    defaultDescription: 'none: a plain connection to another machine is a settings error',
  },
} as const;

type Values = {
  readonly databaseUrl: string | undefined;
  readonly smtpUrl: string | undefined;
  readonly metricsHost: string;
  readonly otlpEndpoint: string | undefined;
  readonly tls: 'on' | 'off';
  readonly host: string | undefined;
  readonly plainConnections: ReadonlySet<ConnectionKind> | undefined;
};

/** A URL writes `::1` as `[::1]`. */
const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');

/** A sentence that describes the plain connection; false if it is not plain. */
const describePlainConnection: Readonly<
  Record<ConnectionKind, (values: Values) => string | false>
> = {
  database: ({ databaseUrl: url }) =>
    url !== undefined &&
    isPlainDatabase(url) &&
    'SWITCHYARD_DATABASE_URL connects to another machine without TLS, or without a certificate check; add sslmode=verify-full',
  mail: ({ smtpUrl: url }) =>
    url?.startsWith('smtp://') === true &&
    !isLoopbackHost(hostOf(url)) &&
    'SWITCHYARD_SMTP_URL connects to another machine without TLS at first (smtp://); use smtps://',
  metrics: ({ metricsHost: host }) =>
    host !== undefined &&
    !isLoopbackHost(host) &&
    `SWITCHYARD_METRICS_HOST is ${host}, so metrics and health would be unencrypted HTTP; use 127.0.0.1`,
  traces: ({ otlpEndpoint: url }) =>
    url?.startsWith('http:') === true &&
    !isLoopbackHost(hostOf(url)) &&
    'OTEL_EXPORTER_OTLP_ENDPOINT sends traces to another machine over unencrypted HTTP; use https',
};

export const plainConnectionRules = connectionKinds.map(
  (kind) =>
    (values: Values): string | false => {
      if (values.plainConnections?.has(kind) === true) return false;
      const sentence = describePlainConnection[kind](values);
      return sentence && `${sentence}, or allow it with SWITCHYARD_PLAIN_CONNECTIONS=${kind}`;
    },
);

/** Plain connections that production allows and an operator should know about. */
export function plainConnectionWarnings(values: Values): string[] {
  const allowed = connectionKinds.map((kind) => describePlainConnection[kind](values));
  const { host } = values;
  const proxied =
    values.tls === 'off' &&
    host !== undefined &&
    !isLoopbackHost(host) &&
    `SWITCHYARD_TLS is off: the connection between the proxy and ${host} is unencrypted HTTP`;
  return [...allowed, proxied].filter((sentence) => typeof sentence === 'string');
}
