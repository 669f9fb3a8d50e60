// The table of all settings: the source for reading, validation and docs/reference/settings.md.

import { hostname } from 'node:os';
import { defaultDataDirectory } from '@switchyard/contract';
import { addressSettings } from './address-settings.ts';
import { connectorSettings } from './connector-settings.ts';
import { databaseUrlReader } from './database-url.ts';
import { hsmSettings } from './hsm-settings.ts';
import { masterKeyReader } from './master-keys.ts';
import { plainConnectionSettings } from './plain-connections.ts';
import { tracingSettings } from './tracing-settings.ts';
import { trustedProxies } from './trusted-proxies.ts';
import {
  choice,
  choices,
  filePath,
  integer,
  smtpServer,
  text,
  type ValueReader,
} from './value-readers.ts';

export const settingPrefix = 'SWITCHYARD_';

const isStandardName = (name: string): boolean => name.startsWith('OTEL_');

/** The environment variable of a setting: with the prefix, unless OpenTelemetry defines its name. */
export const variableName = ({ name }: { readonly name: string }): string =>
  isStandardName(name) ? name : settingPrefix + name;

/** Also with the variable that names the file of a secret. */
export function variableNames(setting: Pick<Setting<unknown>, 'name' | 'secret'>): string[] {
  const name = variableName(setting);
  return setting.secret === true ? [name, `${name}_FILE`] : [name];
}

/** OpenTelemetry: an empty variable counts as absent. */
export const isAbsentValue = ({ name }: { readonly name: string }, text: string): boolean =>
  isStandardName(name) && text.trim() === '';

export type Environment = 'demo' | 'test' | 'production';

export type Setting<Value> = ValueReader<Value> & {
  /** Without the prefix of the platform. */
  name: string;
  description: string;
  /** Used if the variable is absent. A setting without a default is undefined then. */
  default?: string;
  /** For the documentation, if the default depends on other settings or on the machine. */
  defaultDescription?: string;
  /** Never repeated in an error. Also read from the file that `…_FILE` names. */
  secret?: true;
  /** Where the setting is allowed. Default: everywhere. */
  environments?: readonly Environment[];
  /** Only processes with this role read the setting; in another process it is an error. */
  role?: 'cards';
};

type SettingOptions<Value> = Omit<
  Setting<Value>,
  keyof ValueReader<Value> | 'name' | 'description' | 'default'
>;

function setting<Value>(
  name: string,
  reader: ValueReader<Value>,
  defaultText: string,
  description: string,
  options?: SettingOptions<Value>,
): Setting<Value> & { default: string } {
  return { ...reader, name, description, default: defaultText, ...options };
}

function optional<Value>(
  name: string,
  reader: ValueReader<Value>,
  description: string,
  options?: SettingOptions<Value>,
): Setting<Value> {
  return { ...reader, name, description, ...options };
}

const demoAndTest = ['demo', 'test'] as const;

export const settingsTable = {
  environment: setting(
    'ENVIRONMENT',
    choice('demo', 'test', 'production'),
    'demo',
    'Environment. `demo` and `test` start with example data and an embedded database. `production` refuses every setting that is not safe for real payments.',
  ),
  region: optional(
    'REGION',
    choice('worldwide', 'nar', 'ind', 'eur'),
    'Region of the platform: `nar` (North America), `ind` (India), `eur` (Europe). `worldwide` is for `demo` only. `nar` requires an `AUTH_URL` that differs from `BASE_URL`.',
    { defaultDescription: '`worldwide` in `demo`, else none' },
  ),
  ...addressSettings,
  ...plainConnectionSettings,
  strictSettings: setting(
    'STRICT_SETTINGS',
    choice('on', 'off'),
    'off',
    'Whether an unknown setting is an error in `production` instead of a warning. In `demo` and `test` it is always an error.',
  ),
  dataDir: setting(
    'DATA_DIR',
    filePath,
    defaultDataDirectory,
    'Directory of the embedded database, demo keys, mail, and the simulator’s ledger; relative to the current directory.',
  ),
  dialectsDir: optional(
    'DIALECTS_DIR',
    filePath,
    'Directory of additional acquirer host dialects, one `{name}.json` each.',
    { defaultDescription: '`{DATA_DIR}/dialects`' },
  ),
  acquirerCertificatesDir: optional(
    'ACQUIRER_CERTIFICATES_DIR',
    filePath,
    'Directory of the client certificates for acquirer links: `{name}.crt` and `{name}.key`, and `{name}.ca.crt` if the acquirer has its own authority. A sub-folder with the identifier of an organisation is for that organisation only.',
    { role: 'cards', defaultDescription: '`{DATA_DIR}/acquirer-certificates`' },
  ),
  databaseUrl: optional(
    'DATABASE_URL',
    databaseUrlReader,
    'URL of a PostgreSQL database (14 or newer) that replaces the embedded one; required in `production`. `connect_timeout` sets the connection time-out in seconds, at most 600; the default is 5. Of several hosts (`postgresql://user@db-1,db-2/name?target_session_attrs=read-write`) the platform uses the one that accepts writes.',
    { secret: true, defaultDescription: 'the embedded database in `DATA_DIR`' },
  ),
  databaseEngine: setting(
    'DATABASE_ENGINE',
    choice('auto', 'postgresql', 'citus'),
    'auto',
    'Whether the tables of payments are distributed by Citus. `auto`: if the database has the extension `citus`. With `citus` the platform does not start without the extension.',
  ),
  databaseConnections: setting(
    'DATABASE_CONNECTIONS',
    integer(1, 100),
    '8',
    'Number of database connections of this process for all statements except the authorisation of sales (`DATABASE_SALE_CONNECTIONS`).',
  ),
  databaseSaleConnections: setting(
    'DATABASE_SALE_CONNECTIONS',
    integer(1, 32),
    '4',
    'Number of additional database connections of this process, only for the authorisation of sales.',
  ),
  preparedStatements: setting(
    'PREPARED_STATEMENTS',
    choice('on', 'off'),
    'on',
    'Whether the platform uses named prepared statements and connection options. Use `off` behind a pooler such as pgbouncer.',
  ),
  postgresBinDir: optional(
    'POSTGRES_BIN_DIR',
    filePath,
    'Directory of `initdb` and `postgres` for the embedded database.',
    { environments: demoAndTest, defaultDescription: 'the binaries of the npm package' },
  ),
  roles: setting(
    'ROLES',
    choices('cards', 'identity', 'connector', 'portal', 'jobs'),
    'cards identity connector portal jobs',
    'Roles of this process. Only a process with `cards` has keys for cards and PINs.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'Lowest log level that is written.',
  ),
  acquirerTimeoutMs: setting(
    'ACQUIRER_TIMEOUT_MS',
    integer(100, 120_000),
    '10000',
    'Time-out for an acquirer response, in milliseconds. After the time-out the platform reverses the sale.',
  ),
  tls: setting(
    'TLS',
    choice('on', 'off'),
    'on',
    '`off` if a proxy terminates TLS; this requires `TRUST_PROXY`.',
  ),
  trustProxy: optional(
    'TRUST_PROXY',
    trustedProxies,
    'The proxies whose forwarding headers and `Client-Cert` the platform accepts: private ranges such as `10.0.0.0/8`, and single public addresses. A wider public range is refused.',
  ),
  clientCertificates: optional(
    'CLIENT_CERTIFICATES',
    choice('on', 'off'),
    'Whether the API listener requests a client certificate from devices; it accepts clients without one. The device listener always requests it.',
    {
      defaultDescription:
        '`on` in `demo` and `test`; `off` in `production`, because browsers would ask users for a certificate',
    },
  ),
  deviceCaFile: optional(
    'DEVICE_CA_FILE',
    filePath,
    'Certificates of the authorities of terminal manufacturers, or of your own authority, PEM. An organisation can claim (register as its own) a terminal with a certificate of such an authority. The platform also issues device certificates itself.',
  ),
  deviceCertificateDays: setting(
    'DEVICE_CERTIFICATE_DAYS',
    integer(1, 3650),
    '365',
    'Validity, in days, of certificates that the platform issues for devices.',
  ),
  tlsCertFile: optional('TLS_CERT_FILE', filePath, 'Certificate chain of the listeners, PEM.', {
    defaultDescription: 'issued by a local authority in `demo` and `test`',
  }),
  tlsKeyFile: optional(
    'TLS_KEY_FILE',
    filePath,
    'Private key of the certificate in `TLS_CERT_FILE`, PEM.',
    {
      defaultDescription: 'issued by a local authority in `demo` and `test`',
    },
  ),
  platformKey: optional(
    'PLATFORM_KEY',
    masterKeyReader,
    'Master key from which the keys for stored secrets, signatures and sessions are derived. It does not protect card data.',
    { secret: true, defaultDescription: 'created in `DATA_DIR` in `demo` and `test`' },
  ),
  vaultKeyProvider: setting(
    'VAULT_KEY_PROVIDER',
    choice('local', 'aws-kms', 'pkcs11'),
    'local',
    'Provider of the key that encrypts (wraps) the keys of stored card data: `local` (the `VAULT_KEY`), `aws-kms` or `pkcs11`.',
    { role: 'cards' },
  ),
  vaultKey: optional(
    'VAULT_KEY',
    masterKeyReader,
    'Key that wraps the keys of stored card data, for the provider `local`.',
    {
      secret: true,
      role: 'cards',
      defaultDescription: 'created in `DATA_DIR` in `demo` and `test`',
    },
  ),
  vaultKeyPrevious: optional(
    'VAULT_KEY_PREVIOUS',
    masterKeyReader,
    'Previous `VAULT_KEY`. Set it after you changed `VAULT_KEY`, and remove it when all keys are wrapped with the new one.',
    { secret: true, role: 'cards' },
  ),
  vaultKmsKey: optional(
    'VAULT_KMS_KEY',
    text(
      'ARN of a key, or of an alias, of AWS KMS',
      /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:(?:key|alias)\/[A-Za-z0-9/_-]{1,256}$/,
    ),
    'AWS KMS key, for the provider `aws-kms`.',
    { role: 'cards' },
  ),
  vaultKmsUrl: optional(
    'VAULT_KMS_URL',
    text('https URL, or http on loopback', /^https?:\/\/[A-Za-z0-9.:[\]-]{1,255}\/?$/),
    'AWS KMS endpoint, such as a private endpoint.',
    { role: 'cards', defaultDescription: '`https://kms.{region of the key}.amazonaws.com`' },
  ),
  vaultPkcs11Module: optional(
    'VAULT_PKCS11_MODULE',
    filePath,
    'Library of the PKCS#11 module, for the provider `pkcs11`.',
    { role: 'cards' },
  ),
  vaultPkcs11Token: optional(
    'VAULT_PKCS11_TOKEN',
    text('label of up to 32 characters', /^[^\p{Cc}]{1,32}$/u),
    'Label of the PKCS#11 token.',
    { role: 'cards' },
  ),
  vaultPkcs11Key: optional(
    'VAULT_PKCS11_KEY',
    text('label of up to 64 characters', /^[^\p{Cc}]{1,64}$/u),
    'Label of the AES-256 key in the PKCS#11 token.',
    { role: 'cards' },
  ),
  vaultPkcs11Pin: optional(
    'VAULT_PKCS11_PIN',
    text('PIN', /^[^\p{Cc}]{4,64}$/u),
    'User PIN of the PKCS#11 token.',
    { secret: true, role: 'cards' },
  ),
  vaultKeyRotationDays: setting(
    'VAULT_KEY_ROTATION_DAYS',
    integer(1, 1825),
    '365',
    'Days after which an organisation gets a new key for its cards. Stored cards are then re-encrypted with it.',
    { role: 'cards' },
  ),
  cardRetentionDays: setting(
    'CARD_RETENTION_DAYS',
    integer(30, 3650),
    '540',
    'Days after which the platform deletes a stored card that was not used. Sales with a deleted card cannot be refunded.',
    { role: 'cards' },
  ),
  cardAccessRetentionDays: setting(
    'CARD_ACCESS_RETENTION_DAYS',
    integer(365, 3650),
    '400',
    'Days for which the record of each access to a card number is stored.',
    { role: 'cards' },
  ),
  ...hsmSettings,
  ...connectorSettings,
  ...tracingSettings,
  overloadEventLoopLagMs: setting(
    'OVERLOAD_EVENT_LOOP_LAG_MS',
    integer(50, 60_000),
    '400',
    'Lag of the event loop in milliseconds. The server refuses sales with `overloaded` if two consecutive measurements are at or above this value. Other requests have other limits: reports 0.4 × this value, lists 0.6 ×, captures, refunds and cancels 3 ×. Use a higher value if other programs use the CPU of this machine.',
  ),
  smtpUrl: optional(
    'SMTP_URL',
    smtpServer,
    'Mail server, with percent-encoded user and password. Required in `production` if `ROLES` contains `identity` or `jobs`.',
    { secret: true, defaultDescription: 'mail is stored in files in `{DATA_DIR}/mail`' },
  ),
  mailFrom: setting(
    'MAIL_FROM',
    text(
      'mail address, or a name with an address in angle brackets',
      /^(?:[^<>\p{Cc}]{1,100} <[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,255}>|[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,255})$/u,
    ),
    'Switchyard <no-reply@localhost>',
    'Sender of mails; must be set together with `SMTP_URL`.',
  ),
  mailTimeoutMs: setting(
    'MAIL_TIMEOUT_MS',
    integer(100, 120_000),
    '10000',
    'Time-out for responses of the mail server, in milliseconds. The mail is retried later.',
  ),
  signInBrandName: setting(
    'SIGN_IN_BRAND_NAME',
    text('name of up to 60 characters', /^[^\p{Cc}]{1,60}$/u),
    'Switchyard',
    'Brand name at the top of the sign-in pages.',
  ),
  supportContact: optional(
    'SUPPORT_CONTACT',
    text('mail address, https address or text of up to 120 characters', /^[^\p{Cc}]{1,120}$/u),
    'Contact for users who cannot sign in, shown at the bottom of the sign-in pages.',
    { defaultDescription: 'no contact is shown' },
  ),
  realmKeyRotationDays: setting(
    'REALM_KEY_ROTATION_DAYS',
    integer(1, 3650),
    '90',
    'Days after which the signing keys for the tokens of a user domain are rotated.',
  ),
  requestLog: optional(
    'REQUEST_LOG',
    choice('off', 'errors', 'all'),
    'Which authenticated requests are stored in the request log of their organisation: none (`off`), refused ones (`errors`), or all.',
    { defaultDescription: '`all` in `demo` and `test`; `errors` in `production`' },
  ),
  requestLogRetentionDays: setting(
    'REQUEST_LOG_RETENTION_DAYS',
    integer(1, 400),
    '14',
    'Days for which the request log is stored.',
  ),
  requestLogRows: setting(
    'REQUEST_LOG_ROWS',
    integer(100, 10_000_000),
    '100000',
    'Maximum number of requests in the request log of one organisation; the platform deletes the oldest.',
  ),
  qrPaymentTimeoutSeconds: setting(
    'QR_PAYMENT_TIMEOUT_SECONDS',
    integer(30, 3600),
    '180',
    'Time in which a consumer can pay a QR payment, in seconds.',
  ),
  eventRetentionDays: setting(
    'EVENT_RETENTION_DAYS',
    integer(7, 3650),
    '30',
    'Days for which events are stored. Older events cannot be read with `GET /events/v1` or sent again to webhooks.',
  ),
  exportRetentionDays: setting(
    'EXPORT_RETENTION_DAYS',
    integer(1, 400),
    '7',
    'Days for which an export of a report can be downloaded.',
  ),
  simulators: setting(
    'SIMULATORS',
    choice('on', 'off'),
    'on',
    'Whether the demo starts the acquirer host simulator and the QR provider simulator. With `off`, an acquirer must listen at `ACQUIRER_PORT`.',
    { environments: demoAndTest },
  ),
  failPoint: optional(
    'FAIL_POINT',
    choice('after-intent', 'after-reroute', 'after-send', 'after-webhook'),
    'Step of a payment at which the process ends itself (SIGKILL), for recovery tests: after the request is stored (`after-intent`), rerouted to another acquirer (`after-reroute`) or sent (`after-send`), or after a webhook is sent (`after-webhook`).',
    { environments: demoAndTest },
  ),
  instanceName: setting(
    'INSTANCE_NAME',
    text('name of letters, digits, and . _ -', /^[A-Za-z0-9._-]{1,64}$/),
    `${
      hostname()
        .replace(/[^A-Za-z0-9._-]/g, '-')
        .slice(0, 48) || 'host'
    }-${process.pid}`,
    'Name of this process in logs and metrics.',
    { defaultDescription: 'host name and process id' },
  ),
};
