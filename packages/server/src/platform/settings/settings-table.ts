// Lists every setting: the one table behind reading, refusing, and docs/reference/settings.md.
import { hostname } from 'node:os';
import { addressSettings } from './address-settings.ts';
import { connectorSettings } from './connector-settings.ts';
import { databaseUrlReader } from './database-url.ts';
import { hsmSettings } from './hsm-settings.ts';
import { masterKeyReader } from './master-keys.ts';
import { trustedProxies } from './trusted-proxies.ts';
import { plainConnectionSettings } from './unencrypted-connections.ts';
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

export type Environment = 'demo' | 'test' | 'production';

export type Setting<Value> = ValueReader<Value> & {
  /** Without the prefix. */
  name: string;
  description: string;
  /** Read when the variable is absent; a setting without one is undefined then. */
  default?: string;
  /** What the documentation says where the default depends on other settings or on the machine. */
  defaultDescription?: string;
  /** Never repeated in a fault; also read from the file that `…_FILE` names. */
  secret?: true;
  /** Where it may be set; absent means everywhere. */
  environments?: readonly Environment[];
  /** Read by processes with this role alone; in the environment of another it is a fault. */
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
    'How strict the platform is. `demo` and `test` bring seeded data and their own database; `production` refuses anything that is not fit for money.',
  ),
  region: optional(
    'REGION',
    choice('worldwide', 'nar', 'ind', 'eur'),
    'The region served. `worldwide` goes with `demo` only; `nar` needs its own `AUTH_URL`.',
    { defaultDescription: '`worldwide` in `demo`, else none' },
  ),
  ...addressSettings,
  ...plainConnectionSettings,
  strictSettings: setting(
    'STRICT_SETTINGS',
    choice('on', 'off'),
    'off',
    'Whether an unknown setting is a fault in `production` too, in place of a warning. `demo` and `test` always refuse it.',
  ),
  dataDir: setting(
    'DATA_DIR',
    filePath,
    '.switchyard',
    'Directory of the embedded database, demo keys, mail, and the simulator’s ledger; relative to the current directory.',
  ),
  dialectsDir: optional(
    'DIALECTS_DIR',
    filePath,
    'Directory of the tables of acquirers’ hosts, `{name}.json` each, beside those that are built in.',
    { defaultDescription: '`{DATA_DIR}/dialects`' },
  ),
  acquirerCertificatesDir: optional(
    'ACQUIRER_CERTIFICATES_DIR',
    filePath,
    'Directory of the certificates that acquirers are shown: `{name}.crt` and `{name}.key`, with `{name}.ca.crt` where an acquirer has an authority of its own; in a folder of an organisation’s identifier for that one alone.',
    { role: 'cards', defaultDescription: '`{DATA_DIR}/acquirer-certificates`' },
  ),
  databaseUrl: optional(
    'DATABASE_URL',
    databaseUrlReader,
    'PostgreSQL (14 or newer) to use instead of the embedded one; needed in `production`. Its `connect_timeout` says how many seconds a connection is waited for, 600 at most, else 5. Of several hosts (`postgresql://user@db-1,db-2/name?target_session_attrs=read-write`) the platform uses the one that accepts writes.',
    { secret: true, defaultDescription: 'the embedded database in `DATA_DIR`' },
  ),
  databaseConnections: setting(
    'DATABASE_CONNECTIONS',
    integer(1, 100),
    '8',
    'Connections of this process for everything but the hot statements.',
  ),
  databaseSaleConnections: setting(
    'DATABASE_SALE_CONNECTIONS',
    integer(1, 32),
    '4',
    'Connections of this process for the hot statements of the sale.',
  ),
  preparedStatements: setting(
    'PREPARED_STATEMENTS',
    choice('on', 'off'),
    'on',
    'Named prepared statements and connection options; `off` behind a pooler such as pgbouncer.',
  ),
  postgresBinDir: optional(
    'POSTGRES_BIN_DIR',
    filePath,
    'Directory with `initdb` and `postgres` to use for the embedded database.',
    { environments: demoAndTest, defaultDescription: 'the binaries of the npm package' },
  ),
  roles: setting(
    'ROLES',
    choices('cards', 'identity', 'connector', 'portal', 'jobs'),
    'cards identity connector portal jobs',
    'Which parts this process opens; only one with `cards` holds keys of cards and PINs.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    'The least level that is logged.',
  ),
  acquirerTimeoutMs: setting(
    'ACQUIRER_TIMEOUT_MS',
    integer(100, 120_000),
    '10000',
    'How long an acquirer may take to answer before the sale is reversed.',
  ),
  tls: setting(
    'TLS',
    choice('on', 'off'),
    'on',
    '`off` leaves TLS to a proxy and needs `TRUST_PROXY`.',
  ),
  trustProxy: optional(
    'TRUST_PROXY',
    trustedProxies,
    'The proxies whose forwarding headers and `Client-Cert` the platform accepts: private ranges such as `10.0.0.0/8`, and single public addresses. A wider public range is refused.',
  ),
  clientCertificates: optional(
    'CLIENT_CERTIFICATES',
    choice('on', 'off'),
    'Whether the API listener asks for the certificate of a device, and goes on without one. The device listener always asks.',
    { defaultDescription: '`on` in `demo` and `test`; `off` in `production`, for browsers' },
  ),
  deviceCaFile: optional(
    'DEVICE_CA_FILE',
    filePath,
    'Certificates of the authorities of terminal makers, or of your own, PEM: a terminal with a certificate of theirs can be claimed. The platform’s own authority signs certificates as well.',
  ),
  deviceCertificateDays: setting(
    'DEVICE_CERTIFICATE_DAYS',
    integer(1, 3650),
    '365',
    'How long a certificate lives that the platform signs for a device.',
  ),
  tlsCertFile: optional('TLS_CERT_FILE', filePath, 'Certificate chain of the listeners, PEM.', {
    defaultDescription: 'made by a local authority in `demo` and `test`',
  }),
  tlsKeyFile: optional('TLS_KEY_FILE', filePath, 'Private key of that certificate, PEM.', {
    defaultDescription: 'made by a local authority in `demo` and `test`',
  }),
  platformKey: optional(
    'PLATFORM_KEY',
    masterKeyReader,
    'The master key from which the keys of stored secrets, signing keys and sessions are derived; no card data lies under it.',
    { secret: true, defaultDescription: 'made in `DATA_DIR` in `demo` and `test`' },
  ),
  vaultKeyProvider: setting(
    'VAULT_KEY_PROVIDER',
    choice('local', 'aws-kms', 'pkcs11'),
    'local',
    'Who wraps the keys of stored card data: the `VAULT_KEY`, a key of AWS KMS, or a key in a PKCS#11 module.',
    { role: 'cards' },
  ),
  vaultKey: optional(
    'VAULT_KEY',
    masterKeyReader,
    'The key that wraps the keys of stored card data, with the provider `local`.',
    {
      secret: true,
      role: 'cards',
      defaultDescription: 'made in `DATA_DIR` in `demo` and `test`',
    },
  ),
  vaultKeyPrevious: optional(
    'VAULT_KEY_PREVIOUS',
    masterKeyReader,
    'The `VAULT_KEY` before this one, until everything under it is wrapped anew.',
    { secret: true, role: 'cards' },
  ),
  vaultKmsKey: optional(
    'VAULT_KMS_KEY',
    text(
      'ARN of a key, or of an alias, of AWS KMS',
      /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:(?:key|alias)\/[A-Za-z0-9/_-]{1,256}$/,
    ),
    'The key of AWS KMS, with the provider `aws-kms`.',
    { role: 'cards' },
  ),
  vaultKmsUrl: optional(
    'VAULT_KMS_URL',
    text('https URL, or http on loopback', /^https?:\/\/[A-Za-z0-9.:[\]-]{1,255}\/?$/),
    'Where AWS KMS answers, such as a private endpoint.',
    { role: 'cards', defaultDescription: '`https://kms.{region of the key}.amazonaws.com`' },
  ),
  vaultPkcs11Module: optional(
    'VAULT_PKCS11_MODULE',
    filePath,
    'The library of the PKCS#11 module, with the provider `pkcs11`.',
    { role: 'cards' },
  ),
  vaultPkcs11Token: optional(
    'VAULT_PKCS11_TOKEN',
    text('label of up to 32 characters', /^[^\p{Cc}]{1,32}$/u),
    'The label of its token.',
    { role: 'cards' },
  ),
  vaultPkcs11Key: optional(
    'VAULT_PKCS11_KEY',
    text('label of up to 64 characters', /^[^\p{Cc}]{1,64}$/u),
    'The label of the AES-256 key in that token.',
    { role: 'cards' },
  ),
  vaultPkcs11Pin: optional(
    'VAULT_PKCS11_PIN',
    text('PIN', /^[^\p{Cc}]{4,64}$/u),
    'The PIN of the user of that token.',
    { secret: true, role: 'cards' },
  ),
  vaultKeyRotationDays: setting(
    'VAULT_KEY_ROTATION_DAYS',
    integer(1, 1825),
    '365',
    'After how many days new cards of an organisation are sealed under a new key, and the old ones sealed anew.',
    { role: 'cards' },
  ),
  cardRetentionDays: setting(
    'CARD_RETENTION_DAYS',
    integer(30, 3650),
    '540',
    'How long a card is kept that is not used; until then its sales can be refunded.',
    { role: 'cards' },
  ),
  cardAccessRetentionDays: setting(
    'CARD_ACCESS_RETENTION_DAYS',
    integer(365, 3650),
    '400',
    'How long it is kept who had a card number opened.',
    { role: 'cards' },
  ),
  ...hsmSettings,
  ...connectorSettings,
  overloadEventLoopLagMs: setting(
    'OVERLOAD_EVENT_LOOP_LAG_MS',
    integer(50, 60_000),
    '400',
    'Lag of the event loop in milliseconds, measured twice in a row, from which the server refuses sales with `overloaded`. The server refuses reports at two fifths of the value, lists at three fifths, and requests that end a payment at three times the value. Use a higher value on a machine whose processor other programs use.',
  ),
  smtpUrl: optional(
    'SMTP_URL',
    smtpServer,
    'The server that takes our mail, with user and password percent-encoded; needed in `production` where `ROLES` has `identity` or `jobs`.',
    { secret: true, defaultDescription: 'mail is kept in files in `{DATA_DIR}/mail`' },
  ),
  mailFrom: setting(
    'MAIL_FROM',
    text(
      'mail address, or a name with an address in angle brackets',
      /^(?:[^<>\p{Cc}]{1,100} <[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,255}>|[^\s<>@]{1,64}@[A-Za-z0-9.-]{1,255})$/u,
    ),
    'Switchyard <no-reply@localhost>',
    'Who our mail comes from; to be set with `SMTP_URL`.',
  ),
  mailTimeoutMs: setting(
    'MAIL_TIMEOUT_MS',
    integer(100, 120_000),
    '10000',
    'How long the mail server may be silent before the mail is tried again later.',
  ),
  signInBrandName: setting(
    'SIGN_IN_BRAND_NAME',
    text('name of up to 60 characters', /^[^\p{Cc}]{1,60}$/u),
    'Switchyard',
    'The name at the top of the sign-in pages.',
  ),
  supportContact: optional(
    'SUPPORT_CONTACT',
    text('mail address, https address or text of up to 120 characters', /^[^\p{Cc}]{1,120}$/u),
    'Whom people can ask who cannot sign in; stands at the foot of the sign-in pages.',
    { defaultDescription: 'nobody is named' },
  ),
  realmKeyRotationDays: setting(
    'REALM_KEY_ROTATION_DAYS',
    integer(1, 3650),
    '90',
    'After how many days new keys sign the tokens of a user domain.',
  ),
  requestLog: optional(
    'REQUEST_LOG',
    choice('off', 'errors', 'all'),
    'Which requests of known callers are kept in the request log of their organisation: none, those that were refused, or all.',
    { defaultDescription: '`all` in `demo` and `test`; `errors` in `production`' },
  ),
  requestLogRetentionDays: setting(
    'REQUEST_LOG_RETENTION_DAYS',
    integer(1, 400),
    '14',
    'How long a line of the request log is kept.',
  ),
  requestLogRows: setting(
    'REQUEST_LOG_ROWS',
    integer(100, 10_000_000),
    '100000',
    'How many lines the request log of one organisation holds; the oldest make room.',
  ),
  qrPaymentTimeoutSeconds: setting(
    'QR_PAYMENT_TIMEOUT_SECONDS',
    integer(30, 3600),
    '180',
    'Time to pay by QR code.',
  ),
  eventRetentionDays: setting(
    'EVENT_RETENTION_DAYS',
    integer(7, 3650),
    '30',
    'How long events are kept for `GET /events/v1` and for deliveries that are asked for again.',
  ),
  exportRetentionDays: setting(
    'EXPORT_RETENTION_DAYS',
    integer(1, 400),
    '7',
    'How long an export of a report is kept to be fetched.',
  ),
  simulators: setting(
    'SIMULATORS',
    choice('on', 'off'),
    'on',
    'Whether the demo starts its acquirer host simulator and its provider of QR payments; with `off` an acquirer is expected at `ACQUIRER_PORT`.',
    { environments: demoAndTest },
  ),
  failPoint: optional(
    'FAIL_POINT',
    choice('after-intent', 'after-reroute', 'after-send', 'after-webhook'),
    'Where the process kills itself, to test recovery.',
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
    'Names this process in logs and metrics.',
    { defaultDescription: 'host name and process id' },
  ),
};
