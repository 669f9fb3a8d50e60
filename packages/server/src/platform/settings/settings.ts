// Reads the settings from the environment: all of them at once, with every fault in one refusal.
import { accessSync, constants, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isLoopbackHost } from '../net/address-classes.ts';
import { type Addresses, addressesOf, addressProductionRules } from './address-settings.ts';
import { certificateRules } from './certificate-rules.ts';
import { connectorProductionRules, connectorRules } from './connector-settings.ts';
import { nearestName } from './did-you-mean.ts';
import { hsmProductionRules, hsmRules } from './hsm-settings.ts';
import { demoPlatformKey, demoVaultKeys, type MasterKey, storedDemoKeys } from './master-keys.ts';
import { type Environment, type Setting, settingPrefix, settingsTable } from './settings-table.ts';
import { plainConnectionRules, plainConnectionWarnings } from './unencrypted-connections.ts';
import { ValueFault } from './value-readers.ts';

type Table = typeof settingsTable;
type Values = {
  [Key in keyof Table]: Table[Key] extends { default: string }
    ? ReturnType<Table[Key]['read']>
    : ReturnType<Table[Key]['read']> | undefined;
};
type Derived =
  | 'region'
  | keyof Addresses
  | 'platformKey'
  | 'vaultKey'
  | 'vaultKeyPrevious'
  | 'requestLog'
  | 'hsm'
  | 'clientCertificates';

export type Settings = Readonly<
  Omit<Values, Derived> &
    Addresses & {
      region: 'worldwide' | 'nar' | 'ind' | 'eur';
      platformKey: Buffer;
      /** Undefined without the role `cards`, and with another provider of keys. */
      vaultKey: Buffer | undefined;
      vaultKeyPrevious: Buffer | undefined;
      requestLog: 'off' | 'errors' | 'all';
      hsm: 'none' | 'software' | 'aws' | 'payshield';
      clientCertificates: 'on' | 'off';
      /** What the settings allow and an operator should know, a sentence each. */
      warnings: readonly string[];
    }
>;

export type Variables = Readonly<Record<string, string | undefined>>;

/** Every fault of the settings, each a sentence that names the variable. */
export class SettingsFault extends Error {
  override name = 'SettingsFault';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

/** @throws SettingsFault with all faults, never only the first. */
export function readSettings(env: Variables): Settings {
  const faults: string[] = [];
  // First of all: what a process without the role must not know is not even looked at.
  const roles = readSetting(env, settingsTable.roles, []) as Values['roles'] | undefined;
  const opensCards = roles?.has('cards') !== false;
  const entries = Object.entries<Setting<unknown>>(settingsTable).map(
    ([key, setting]) =>
      [
        key,
        setting.role === undefined || opensCards
          ? readSetting(env, setting, faults)
          : closedSetting(env, setting, faults),
      ] as const,
  );
  // The table has the type of each value; Object.fromEntries cannot know it.
  const values = Object.fromEntries(entries) as Values;
  const unknown = unknownNames(env);
  // Two versions share one settings file during an upgrade, and one of them may not know all names.
  const isStrict = values.environment !== 'production' || values.strictSettings !== 'off';
  if (isStrict) faults.push(...unknown);
  const dataDir = resolve(values.dataDir ?? '.');
  if (values.environment !== undefined) {
    // What is wrong in itself reads as absent to the rules: it is told once, not twice.
    const told = new Set(faults.map(firstWord));
    const broken = brokenRules({ ...values, dataDir }, env);
    faults.push(...broken.filter((fault) => !told.has(firstWord(fault))));
  }
  if (faults.length > 0) throw new SettingsFault(faults);
  const keys = masterKeysOf({ ...values, dataDir }, opensCards);
  return {
    ...values,
    dataDir,
    region: values.region ?? 'worldwide',
    ...addressesOf(values),
    ...keys,
    requestLog: values.requestLog ?? (values.environment === 'production' ? 'errors' : 'all'),
    hsm: values.hsm ?? (values.environment === 'production' ? 'none' : 'software'),
    clientCertificates:
      values.clientCertificates ?? (values.environment === 'production' ? 'off' : 'on'),
    warnings:
      values.environment === 'production' ? [...unknown, ...plainConnectionWarnings(values)] : [],
  };
}

/**
 * The same variables for a command that sees no card: without what is for the role `cards` alone, and with a
 * role that asks for nothing else, since it runs beside processes of any.
 */
export function withoutCards(env: Variables): Variables {
  const closed = Object.values<Setting<unknown>>(settingsTable)
    .filter(({ role }) => role === 'cards')
    .flatMap(({ name }) => [settingPrefix + name, `${settingPrefix}${name}_FILE`]);
  const kept = Object.entries(env).filter(([name]) => !closed.includes(name));
  return { ...Object.fromEntries(kept), [`${settingPrefix}ROLES`]: 'portal' };
}

/** The settings with the ports that were really taken, where 0 was asked for. */
export function withPorts(
  settings: Settings,
  ports: Partial<Pick<Settings, 'port' | 'devicePort' | 'acquirerPort' | 'metricsPort'>>,
): Settings {
  const port = ports.port ?? settings.port;
  const devicePort = ports.devicePort ?? settings.devicePort;
  return {
    ...settings,
    ...ports,
    baseUrl: withPort(settings.baseUrl, port),
    authUrl: withPort(settings.authUrl, port),
    connectorNodeUrl: withPort(settings.connectorNodeUrl, port),
    deviceAuthUrl: withPort(settings.deviceAuthUrl, devicePort),
  };
}

const withPort = (url: string, port: number) => url.replace(/:0$/, `:${port}`);

type MasterKeys = Pick<Settings, 'platformKey' | 'vaultKey' | 'vaultKeyPrevious'>;

function masterKeysOf(values: Values, opensCards: boolean): MasterKeys {
  const { environment, dataDir, vaultKeyProvider } = values;
  const platform = values.platformKey ?? madePlatformKey(environment, dataDir, opensCards);
  const isMade = opensCards && values.vaultKey === undefined && vaultKeyProvider === 'local';
  const made = isMade && environment !== 'production' ? demoVaultKeys(dataDir) : undefined;
  return {
    platformKey: platform.key,
    vaultKey: values.vaultKey?.key ?? made?.current.key,
    vaultKeyPrevious: values.vaultKeyPrevious?.key ?? made?.previous?.key,
  };
}

function madePlatformKey(
  environment: Environment,
  dataDir: string,
  opensCards: boolean,
): MasterKey {
  // The rules of production have asked for it.
  if (environment === 'production') throw new SettingsFault(['SWITCHYARD_PLATFORM_KEY is missing']);
  try {
    return demoPlatformKey(dataDir, opensCards);
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error;
    throw new SettingsFault([`SWITCHYARD_PLATFORM_KEY ${error.message}`]);
  }
}

/** Its default at most: the file of a secret is not opened, and a secret in the environment is a fault. */
function closedSetting(env: Variables, setting: Setting<unknown>, faults: string[]): unknown {
  const name = settingPrefix + setting.name;
  if (setting.secret === true && env[name] !== undefined) {
    faults.push(`${name} is for processes with the role ${setting.role}, and this one has another`);
  }
  return setting.default === undefined ? undefined : setting.read(setting.default);
}

/** Of the `switchyard` command, which may be used from the same shell. */
const commandPrefix = `${settingPrefix}CLI_`;

function unknownNames(env: Variables): string[] {
  const known = Object.values<Setting<unknown>>(settingsTable).flatMap(({ name, secret }) =>
    secret === true ? [name, `${name}_FILE`] : [name],
  );
  return Object.keys(env)
    .filter((name) => name.startsWith(settingPrefix) && !name.startsWith(commandPrefix))
    .map((name) => name.slice(settingPrefix.length))
    .filter((name) => !known.includes(name))
    .map(
      (name) =>
        `${settingPrefix}${name} is not known; the nearest is ${settingPrefix}${nearestName(name, known)}`,
    );
}

function readSetting(env: Variables, setting: Setting<unknown>, faults: string[]): unknown {
  const name = settingPrefix + setting.name;
  try {
    const given = givenText(env, setting);
    if (given === undefined) {
      return setting.default === undefined ? undefined : setting.read(setting.default);
    }
    if (given.trim() === '') throw new ValueFault('is empty');
    return setting.read(given);
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error;
    faults.push(`${name} ${error.message}`);
    return undefined;
  }
}

function givenText(env: Variables, setting: Setting<unknown>): string | undefined {
  const direct = env[settingPrefix + setting.name];
  const file = setting.secret === true ? env[`${settingPrefix}${setting.name}_FILE`] : undefined;
  if (file === undefined) return direct;
  if (direct !== undefined) throw new ValueFault('is set twice: as itself and as …_FILE');
  if (file.trim() === '') throw new ValueFault('cannot be read: …_FILE is empty');
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ValueFault(`cannot be read from ${file} (${why})`);
  }
}

type Rule = (values: Values) => string | false | undefined;

const rules: readonly Rule[] = [
  ({ environment, region }) =>
    environment !== 'demo' &&
    (region === undefined || region === 'worldwide') &&
    `SWITCHYARD_REGION must be nar, ind or eur in ${environment}`,
  ({ region, authUrl, baseUrl }) =>
    region === 'nar' &&
    (authUrl === undefined || authUrl === baseUrl) &&
    'SWITCHYARD_AUTH_URL must be set in the region nar, and differ from SWITCHYARD_BASE_URL',
  ({ tls, trustProxy }) =>
    tls === 'off' &&
    trustProxy === undefined &&
    'SWITCHYARD_TRUST_PROXY must be set where SWITCHYARD_TLS is off: the addresses of the proxy that ends TLS',
  ({ tlsCertFile, tlsKeyFile }) =>
    (tlsCertFile === undefined) !== (tlsKeyFile === undefined) &&
    'SWITCHYARD_TLS_CERT_FILE and SWITCHYARD_TLS_KEY_FILE must be set together',
  ({ smtpUrl, mailFrom }) =>
    smtpUrl !== undefined &&
    mailFrom === settingsTable.mailFrom.default &&
    'SWITCHYARD_MAIL_FROM must be set where SWITCHYARD_SMTP_URL is',
  ({ platformKey, vaultKey }) =>
    platformKey !== undefined &&
    vaultKey?.key.equals(platformKey.key) === true &&
    'SWITCHYARD_VAULT_KEY is the SWITCHYARD_PLATFORM_KEY: card data needs a key of its own',
  ({ vaultKeyProvider, vaultKmsKey, awsAccessKeyId, awsSecretAccessKey }) =>
    vaultKeyProvider === 'aws-kms' &&
    [vaultKmsKey, awsAccessKeyId, awsSecretAccessKey].includes(undefined) &&
    'SWITCHYARD_VAULT_KMS_KEY, SWITCHYARD_AWS_ACCESS_KEY_ID and SWITCHYARD_AWS_SECRET_ACCESS_KEY must be set with the key provider aws-kms',
  ({ vaultKmsUrl }) =>
    vaultKmsUrl?.startsWith('http:') === true &&
    !isLoopbackHost(new URL(vaultKmsUrl).hostname) &&
    'SWITCHYARD_VAULT_KMS_URL must be https beyond loopback',
  ({ vaultKeyProvider, vaultPkcs11Module, vaultPkcs11Token, vaultPkcs11Key, vaultPkcs11Pin }) =>
    vaultKeyProvider === 'pkcs11' &&
    [vaultPkcs11Module, vaultPkcs11Token, vaultPkcs11Key, vaultPkcs11Pin].includes(undefined) &&
    'SWITCHYARD_VAULT_PKCS11_MODULE, _TOKEN, _KEY and _PIN must be set with the key provider pkcs11',
  ({ tlsCertFile }) => unreadable('TLS_CERT_FILE', tlsCertFile),
  ({ tlsKeyFile }) => unreadable('TLS_KEY_FILE', tlsKeyFile),
  ({ deviceCaFile }) => unreadable('DEVICE_CA_FILE', deviceCaFile),
  ...certificateRules,
  ({ hsmKeysFile }) => unreadable('HSM_KEYS_FILE', hsmKeysFile),
  ({ hsmTlsCaFile }) => unreadable('HSM_TLS_CA_FILE', hsmTlsCaFile),
  ({ hsmTlsCertFile }) => unreadable('HSM_TLS_CERT_FILE', hsmTlsCertFile),
  ({ hsmTlsKeyFile }) => unreadable('HSM_TLS_KEY_FILE', hsmTlsKeyFile),
  ({ natsCaFile }) => unreadable('NATS_CA_FILE', natsCaFile),
  ({ natsCertFile }) => unreadable('NATS_CERT_FILE', natsCertFile),
  ({ natsKeyFile }) => unreadable('NATS_KEY_FILE', natsKeyFile),
  ...connectorRules,
  ...hsmRules,
];

const productionRules: readonly Rule[] = [
  ...addressProductionRules,
  ...plainConnectionRules,
  ({ databaseUrl }) =>
    databaseUrl === undefined &&
    'SWITCHYARD_DATABASE_URL must be set: the embedded database is for demo and test',
  ({ tls, tlsCertFile, tlsKeyFile }) =>
    tls !== 'off' &&
    tlsCertFile === undefined &&
    tlsKeyFile === undefined &&
    'SWITCHYARD_TLS_CERT_FILE and SWITCHYARD_TLS_KEY_FILE must be set: the local authority is for demo and test',
  ({ smtpUrl, roles }) =>
    smtpUrl === undefined &&
    (roles === undefined || roles.has('identity') || roles.has('jobs')) &&
    'SWITCHYARD_SMTP_URL must be set: people get their links by mail',
  ({ platformKey }) => platformKey === undefined && 'SWITCHYARD_PLATFORM_KEY must be set',
  ({ vaultKey, vaultKeyProvider, roles }) =>
    vaultKey === undefined &&
    vaultKeyProvider === 'local' &&
    (roles === undefined || roles.has('cards')) &&
    'SWITCHYARD_VAULT_KEY must be set',
  (values) => isDemoKey(values, 'platformKey') && 'SWITCHYARD_PLATFORM_KEY is a demo key',
  (values) => isDemoKey(values, 'vaultKey') && 'SWITCHYARD_VAULT_KEY is a demo key',
  ...connectorProductionRules,
  ...hsmProductionRules,
];

function isDemoKey(values: Values, name: 'platformKey' | 'vaultKey'): boolean {
  const given = values[name];
  if (given === undefined) return false;
  const stored = () => storedDemoKeys(values.dataDir, values.roles?.has('cards') !== false);
  return given.demo || stored().some(({ key }) => key.equals(given.key));
}

/** Rules between settings, and where each may be set. */
function brokenRules(values: Values, env: Variables): string[] {
  const { environment } = values;
  const misplaced = Object.values<Setting<unknown>>(settingsTable)
    .filter(({ name, environments }) => {
      const isSet = env[settingPrefix + name] !== undefined;
      return isSet && environments?.includes(environment) === false;
    })
    .map(
      ({ name, environments }) =>
        `${settingPrefix}${name} is for ${environments?.join(' and ')}, not for ${environment}`,
    );
  const applied = environment === 'production' ? [...rules, ...productionRules] : rules;
  const broken = applied.map((rule) => rule(values)).filter((fault) => typeof fault === 'string');
  return [...misplaced, ...broken];
}

function firstWord(sentence: string): string {
  return sentence.slice(0, sentence.indexOf(' '));
}

function unreadable(name: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    accessSync(file, constants.R_OK);
    return undefined;
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    return `${settingPrefix}${name} cannot be read from ${file} (${why})`;
  }
}
