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

type PlainConnection = { readonly description: string; readonly advice: string };

/** The plain connection of each kind; false if the connection uses TLS or stays on this machine. */
const findPlainConnection: Readonly<
  Record<ConnectionKind, (values: Values) => PlainConnection | false>
> = {
  database: ({ databaseUrl: url }) =>
    url !== undefined &&
    isPlainDatabase(url) && {
      description:
        'SWITCHYARD_DATABASE_URL connects to another machine without TLS, or without a certificate check',
      advice: 'add sslmode=verify-full',
    },
  mail: ({ smtpUrl: url }) =>
    url?.startsWith('smtp://') === true &&
    !isLoopbackHost(hostOf(url)) && {
      description: 'SWITCHYARD_SMTP_URL connects to another machine without TLS at first (smtp://)',
      advice: 'use smtps://',
    },
  metrics: ({ metricsHost: host }) =>
    host !== undefined &&
    !isLoopbackHost(host) && {
      description: `SWITCHYARD_METRICS_HOST is ${host}, so metrics and health use unencrypted HTTP`,
      advice: 'use 127.0.0.1',
    },
  traces: ({ otlpEndpoint: url }) =>
    url?.startsWith('http:') === true &&
    !isLoopbackHost(hostOf(url)) && {
      description:
        'OTEL_EXPORTER_OTLP_ENDPOINT sends traces to another machine over unencrypted HTTP',
      advice: 'use https',
    },
};

export const plainConnectionRules = connectionKinds.map(
  (kind) =>
    (values: Values): string | false => {
      if (values.plainConnections?.has(kind) === true) return false;
      const plain = findPlainConnection[kind](values);
      return (
        plain &&
        `${plain.description}; ${plain.advice}, or allow it with SWITCHYARD_PLAIN_CONNECTIONS=${kind}`
      );
    },
);

/** Plain connections that production allows and an operator should know about. */
export function plainConnectionWarnings(values: Values): string[] {
  const allowed = connectionKinds.map((kind) => {
    const plain = findPlainConnection[kind](values);
    return plain === false ? false : plain.description;
  });
  const { host } = values;
  const proxied =
    values.tls === 'off' &&
    host !== undefined &&
    !isLoopbackHost(host) &&
    `SWITCHYARD_TLS is off: the connection between the proxy and ${host} is unencrypted HTTP`;
  return [...allowed, proxied].filter((sentence) => typeof sentence === 'string');
}
