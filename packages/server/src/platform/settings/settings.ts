// Reads all settings from the environment and reports every error at once.
import { accessSync, constants, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isLoopbackHost } from '../net/address-classes.ts';
import { type Addresses, addressProductionRules, resolveAddresses } from './address-settings.ts';
import { certificateRules } from './certificate-rules.ts';
import { connectorProductionRules, connectorRules } from './connector-settings.ts';
import { hsmProductionRules, hsmRules } from './hsm-settings.ts';
import {
  type MasterKey,
  readOrCreatePlatformKey,
  readOrCreateVaultKeys,
  readStoredDemoKeys,
} from './master-keys.ts';
import { nearestName } from './nearest-name.ts';
import { plainConnectionRules, plainConnectionWarnings } from './plain-connections.ts';
import {
  type Environment,
  isAbsentValue,
  type Setting,
  settingPrefix,
  settingsTable,
  variableName,
  variableNames,
} from './settings-table.ts';
import { ValueError } from './value-readers.ts';

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
      /** Undefined without the role `cards`, and with another key provider. */
      vaultKey: Buffer | undefined;
      vaultKeyPrevious: Buffer | undefined;
      requestLog: 'off' | 'errors' | 'all';
      hsm: 'none' | 'software' | 'aws' | 'payshield';
      clientCertificates: 'on' | 'off';
      /** Permitted settings that an operator should know about, one sentence each. */
      warnings: readonly string[];
    }
>;

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** Every error of the settings: one sentence each, which names the variable. */
export class SettingsError extends Error {
  override name = 'SettingsFault';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

/** @throws SettingsFault with all faults, never only the first. */
export function readSettings(env: EnvironmentVariables): Settings {
  const faults: string[] = [];
  // First: a process without the role must not read the secrets of the role.
  const roles = readSetting(env, settingsTable.roles, []) as Values['roles'] | undefined;
  const hasCardsRole = roles?.has('cards') !== false;
  const entries = Object.entries<Setting<unknown>>(settingsTable).map(
    ([key, setting]) =>
      [
        key,
        setting.role === undefined || hasCardsRole
          ? readSetting(env, setting, faults)
          : readSettingWithoutRole(env, setting, faults),
      ] as const,
  );
  // The table has the type of each value, which Object.fromEntries cannot infer.
  const values = Object.fromEntries(entries) as Values;
  const unknown = unknownNames(env);
  // An older version must also start with the settings file of a newer one.
  const isStrict = values.environment !== 'production' || values.strictSettings !== 'off';
  if (isStrict) faults.push(...unknown);
  const dataDir = resolve(values.dataDir ?? '.');
  if (values.environment !== undefined) {
    // For the rules a setting with an error is absent: report each setting once.
    const reportedNames = new Set(faults.map(firstWord));
    const broken = findBrokenRules({ ...values, dataDir }, env);
    faults.push(...broken.filter((fault) => !reportedNames.has(firstWord(fault))));
  }
  if (faults.length > 0) throw new SettingsError(faults);
  const keys = resolveMasterKeys({ ...values, dataDir }, hasCardsRole);
  return {
    ...values,
    dataDir,
    region: values.region ?? 'worldwide',
    ...resolveAddresses(values),
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
 * The variables for a command without card data: without the settings of the role `cards`, and with
 * a role that needs no others.
 */
export function omitCardSettings(env: EnvironmentVariables): EnvironmentVariables {
  const cardVariables = Object.values<Setting<unknown>>(settingsTable)
    .filter(({ role }) => role === 'cards')
    .flatMap(variableNames);
  const otherVariables = Object.entries(env).filter(([name]) => !cardVariables.includes(name));
  return { ...Object.fromEntries(otherVariables), [`${settingPrefix}ROLES`]: 'portal' };
}

/** The settings with the actual ports, if 0 was set. */
export function withActualPorts(
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

function resolveMasterKeys(values: Values, hasCardsRole: boolean): MasterKeys {
  const { environment, dataDir, vaultKeyProvider } = values;
  const platformMasterKey =
    values.platformKey ?? readDemoPlatformKey(environment, dataDir, hasCardsRole);
  const isGenerated = hasCardsRole && values.vaultKey === undefined && vaultKeyProvider === 'local';
  const generated =
    isGenerated && environment !== 'production' ? readOrCreateVaultKeys(dataDir) : undefined;
  return {
    platformKey: platformMasterKey.key,
    vaultKey: values.vaultKey?.key ?? generated?.current.key,
    vaultKeyPrevious: values.vaultKeyPrevious?.key ?? generated?.previous?.key,
  };
}

function readDemoPlatformKey(
  environment: Environment,
  dataDir: string,
  hasCardsRole: boolean,
): MasterKey {
  // The rules for production have checked it.
  if (environment === 'production') throw new SettingsError([describeMissingKey('PLATFORM_KEY')]);
  try {
    return readOrCreatePlatformKey(dataDir, hasCardsRole);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new SettingsError([`SWITCHYARD_PLATFORM_KEY ${error.message}`]);
  }
}

/** Only the default: the file of a secret is not read, and a secret in the environment is an error. */
function readSettingWithoutRole(
  env: EnvironmentVariables,
  setting: Setting<unknown>,
  faults: string[],
): unknown {
  const name = variableName(setting);
  if (setting.secret === true && env[name] !== undefined) {
    faults.push(`${name} is only for processes with the role ${setting.role}; remove it here`);
  }
  return setting.default === undefined ? undefined : setting.read(setting.default);
}

/** Variables of the `switchyard` command, which may run in the same shell. */
const commandPrefix = `${settingPrefix}CLI_`;

function unknownNames(env: EnvironmentVariables): string[] {
  const knownNames = Object.values<Setting<unknown>>(settingsTable).flatMap(variableNames);
  return Object.keys(env)
    .filter((name) => name.startsWith(settingPrefix) && !name.startsWith(commandPrefix))
    .filter((name) => !knownNames.includes(name))
    .map(
      (name) => `${name} is not a known setting; did you mean ${nearestName(name, knownNames)}?`,
    );
}

function readSetting(
  env: EnvironmentVariables,
  setting: Setting<unknown>,
  faults: string[],
): unknown {
  const name = variableName(setting);
  try {
    const text = readVariable(env, setting);
    if (text === undefined) {
      return setting.default === undefined ? undefined : setting.read(setting.default);
    }
    if (text.trim() === '') throw new ValueError('is empty');
    return setting.read(text);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    faults.push(`${name} ${error.message}`);
    return undefined;
  }
}

function readVariable(env: EnvironmentVariables, setting: Setting<unknown>): string | undefined {
  const name = variableName(setting);
  const direct = env[name];
  const file = setting.secret === true ? env[`${name}_FILE`] : undefined;
  if (file === undefined)
    return direct === undefined || isAbsentValue(setting, direct) ? undefined : direct;
  if (direct !== undefined) throw new ValueError('is set twice: directly and as …_FILE');
  if (file.trim() === '') throw new ValueError('cannot be read: …_FILE is empty');
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ValueError(`cannot be read from ${file} (${why})`);
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
    'SWITCHYARD_TRUST_PROXY must be set if SWITCHYARD_TLS is off: the addresses of the proxy that terminates TLS',
  ({ tlsCertFile, tlsKeyFile }) =>
    (tlsCertFile === undefined) !== (tlsKeyFile === undefined) &&
    'SWITCHYARD_TLS_CERT_FILE and SWITCHYARD_TLS_KEY_FILE must be set together',
  ({ smtpUrl, mailFrom }) =>
    smtpUrl !== undefined &&
    mailFrom === settingsTable.mailFrom.default &&
    'SWITCHYARD_MAIL_FROM must be set together with SWITCHYARD_SMTP_URL',
  ({ platformKey, vaultKey }) =>
    platformKey !== undefined &&
    vaultKey?.key.equals(platformKey.key) === true &&
    'SWITCHYARD_VAULT_KEY equals SWITCHYARD_PLATFORM_KEY: card data needs a separate key',
  ({ vaultKeyProvider, vaultKmsKey, awsAccessKeyId, awsSecretAccessKey }) =>
    vaultKeyProvider === 'aws-kms' &&
    [vaultKmsKey, awsAccessKeyId, awsSecretAccessKey].includes(undefined) &&
    'SWITCHYARD_VAULT_KMS_KEY, SWITCHYARD_AWS_ACCESS_KEY_ID and SWITCHYARD_AWS_SECRET_ACCESS_KEY must be set with the key provider aws-kms',
  ({ vaultKmsUrl }) =>
    vaultKmsUrl?.startsWith('http:') === true &&
    !isLoopbackHost(new URL(vaultKmsUrl).hostname) &&
    'SWITCHYARD_VAULT_KMS_URL must be https for other machines',
  ({ vaultKeyProvider, vaultPkcs11Module, vaultPkcs11Token, vaultPkcs11Key, vaultPkcs11Pin }) =>
    vaultKeyProvider === 'pkcs11' &&
    [vaultPkcs11Module, vaultPkcs11Token, vaultPkcs11Key, vaultPkcs11Pin].includes(undefined) &&
    'SWITCHYARD_VAULT_PKCS11_MODULE, _TOKEN, _KEY and _PIN must be set with the key provider pkcs11',
  ({ tlsCertFile }) => findUnreadableFile('TLS_CERT_FILE', tlsCertFile),
  ({ tlsKeyFile }) => findUnreadableFile('TLS_KEY_FILE', tlsKeyFile),
  ({ deviceCaFile }) => findUnreadableFile('DEVICE_CA_FILE', deviceCaFile),
  ...certificateRules,
  ({ hsmKeysFile }) => findUnreadableFile('HSM_KEYS_FILE', hsmKeysFile),
  ({ hsmTlsCaFile }) => findUnreadableFile('HSM_TLS_CA_FILE', hsmTlsCaFile),
  ({ hsmTlsCertFile }) => findUnreadableFile('HSM_TLS_CERT_FILE', hsmTlsCertFile),
  ({ hsmTlsKeyFile }) => findUnreadableFile('HSM_TLS_KEY_FILE', hsmTlsKeyFile),
  ({ natsCaFile }) => findUnreadableFile('NATS_CA_FILE', natsCaFile),
  ({ natsCertFile }) => findUnreadableFile('NATS_CERT_FILE', natsCertFile),
  ({ natsKeyFile }) => findUnreadableFile('NATS_KEY_FILE', natsKeyFile),
  ({ otlpCaFile }) => findUnreadableFile('OTEL_EXPORTER_OTLP_CERTIFICATE', otlpCaFile),
  ({ otlpClientCertFile }) =>
    findUnreadableFile('OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE', otlpClientCertFile),
  ({ otlpClientKeyFile }) => findUnreadableFile('OTEL_EXPORTER_OTLP_CLIENT_KEY', otlpClientKeyFile),
  ({ otlpClientCertFile, otlpClientKeyFile }) =>
    (otlpClientCertFile === undefined) !== (otlpClientKeyFile === undefined) &&
    'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY must be set together',
  ...connectorRules,
  ...hsmRules,
];

const describeMissingKey = (name: 'PLATFORM_KEY' | 'VAULT_KEY') =>
  `SWITCHYARD_${name} must be set: set SWITCHYARD_${name}_FILE to a file with 32 random bytes in base64, created with: openssl rand -base64 32`;

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
    'SWITCHYARD_SMTP_URL must be set: users receive links by mail',
  ({ platformKey }) => platformKey === undefined && describeMissingKey('PLATFORM_KEY'),
  ({ vaultKey, vaultKeyProvider, roles }) =>
    vaultKey === undefined &&
    vaultKeyProvider === 'local' &&
    (roles === undefined || roles.has('cards')) &&
    describeMissingKey('VAULT_KEY'),
  (values) => describeDemoKey(values, 'platformKey'),
  (values) => describeDemoKey(values, 'vaultKey'),
  ...connectorProductionRules,
  ...hsmProductionRules,
];

function isDemoKey(values: Values, name: 'platformKey' | 'vaultKey'): boolean {
  const configured = values[name];
  if (configured === undefined) return false;
  const stored = () => readStoredDemoKeys(values.dataDir, values.roles?.has('cards') !== false);
  return configured.demo || stored().some(({ key }) => key.equals(configured.key));
}

function describeDemoKey(values: Values, name: 'platformKey' | 'vaultKey'): string | undefined {
  try {
    if (!isDemoKey(values, name)) return undefined;
    return `${variableName(settingsTable[name])} is a demo key`;
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return `SWITCHYARD_DATA_DIR ${error.message}`;
  }
}

/** Rules between settings, and where each setting is allowed. */
function findBrokenRules(values: Values, env: EnvironmentVariables): string[] {
  const { environment } = values;
  const misplaced = Object.values<Setting<unknown>>(settingsTable)
    .filter(({ name, environments }) => {
      const isSet = env[variableName({ name })] !== undefined;
      return isSet && environments?.includes(environment) === false;
    })
    .map(
      ({ name, environments }) =>
        `${variableName({ name })} is for ${environments?.join(' and ')}, not for ${environment}`,
    );
  const applied = environment === 'production' ? [...rules, ...productionRules] : rules;
  const broken = applied.map((rule) => rule(values)).filter((fault) => typeof fault === 'string');
  return [...new Set([...misplaced, ...broken])];
}

function firstWord(sentence: string): string {
  return sentence.slice(0, sentence.indexOf(' '));
}

function findUnreadableFile(name: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    accessSync(file, constants.R_OK);
    return undefined;
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    return `${variableName({ name })} cannot be read from ${file} (${why})`;
  }
}
