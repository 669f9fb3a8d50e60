// Checks the settings, the end dates of certificates and the disk of this machine.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readDataDirectory } from '@switchyard/contract';
import {
  type Clock,
  dayMs,
  type EnvironmentVariables,
  isoDay,
  omitCardSettings,
  parseCertificates,
  readSettings,
  type Settings,
  SettingsError,
} from '../../../packages/server/src/platform/index.ts';
import { attention, type Check, type CheckResult, describeError, ok, skipped } from './check.ts';

const warnBeforeDays = 30;
const minFreeBytes = 1024 ** 3;
const minFreeShare = 0.1;

function tryReadSettings(env: EnvironmentVariables): Settings | SettingsError {
  try {
    return readSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
}

export type UsableSettings = {
  readonly env: EnvironmentVariables;
  readonly settings: Settings;
  /** Whether the process has the role, also if `settings` omits the settings of cards. */
  readonly hasRole: (role: string) => boolean;
};

/** Without the named variables, and with TLS off if its certificate or key is one of them. */
function omitFaultyVariables(
  env: EnvironmentVariables,
  faults: readonly string[],
): EnvironmentVariables {
  const faulty = new Set(faults.map((fault) => fault.split(' ')[0] ?? ''));
  const needsNoTls = ['CERT', 'KEY'].some((one) => faulty.has(`SWITCHYARD_TLS_${one}_FILE`));
  const others = Object.entries(env).filter(
    ([name]) =>
      !faulty.has(name.replace(/_FILE$/, '')) &&
      !faulty.has(name) &&
      !(needsNoTls && name.startsWith('SWITCHYARD_TLS')),
  );
  const proxy = { SWITCHYARD_TLS: 'off', SWITCHYARD_TRUST_PROXY: '127.0.0.1' };
  return { ...Object.fromEntries(others), ...(needsNoTls ? proxy : undefined) };
}

/**
 * Unknown names are faults here, also where the start only warns.
 *
 * @returns also the settings for the other checks, without the faulty parts; undefined if they cannot be read
 */
export function checkSettings(env: EnvironmentVariables): {
  readonly usable: UsableSettings | undefined;
  readonly results: readonly CheckResult[];
} {
  const { SWITCHYARD_ROLES: roles = '' } = env;
  const hasRole = (role: string) => roles === '' || roles.split(/[\s,]+/).includes(role);
  const strict = tryReadSettings({ ...env, SWITCHYARD_STRICT_SETTINGS: 'on' });
  if (!(strict instanceof SettingsError)) {
    const results = strict.warnings.map((warning) => ok(`permitted: ${warning}`));
    return {
      usable: { env, settings: strict, hasRole },
      results: [ok('all settings are valid'), ...results],
    };
  }
  const withoutCards = omitCardSettings(env);
  const candidates = [
    env,
    omitFaultyVariables(env, strict.faults),
    withoutCards,
    omitFaultyVariables(withoutCards, strict.faults),
  ];
  const [usable] = candidates.flatMap((variables) => {
    const settings = tryReadSettings(variables);
    return settings instanceof SettingsError ? [] : [{ env: variables, settings, hasRole }];
  });
  return {
    usable,
    results: strict.faults.map((fault) =>
      attention(fault, 'Correct the setting, or the file that it names.'),
    ),
  };
}

type CertificateFile = { readonly name: string; readonly file: string; readonly advice: string };

function checkCertificate({ name, file, advice }: CertificateFile, clock: Clock): CheckResult {
  try {
    const ends = parseCertificates(readFileSync(file, 'utf8')).map(({ validToDate }) =>
      validToDate.getTime(),
    );
    if (ends.length === 0)
      return attention(`${name}: ${file} has no certificate`, 'Write a certificate in PEM to it.');
    const end = Math.min(...ends);
    const days = Math.floor((end - clock.now()) / dayMs);
    if (days >= warnBeforeDays) return ok(`${name}: valid until ${isoDay(end)}`);
    const verb = days < 0 ? 'expired' : 'expires';
    return attention(`${name}: ${file} ${verb} on ${isoDay(end)}`, advice);
  } catch (error) {
    return attention(`${name}: ${file}: ${describeError(error)}`, 'Correct the file.');
  }
}

function certificateFiles(
  env: EnvironmentVariables,
  settings: Settings | undefined,
): readonly CertificateFile[] {
  // From the variables, because an expired certificate makes the settings invalid.
  const settingFiles = [
    'SWITCHYARD_TLS_CERT_FILE',
    'SWITCHYARD_DEVICE_CA_FILE',
    'SWITCHYARD_NATS_CA_FILE',
    'SWITCHYARD_NATS_CERT_FILE',
    'SWITCHYARD_HSM_TLS_CA_FILE',
    'SWITCHYARD_HSM_TLS_CERT_FILE',
    'OTEL_EXPORTER_OTLP_CERTIFICATE',
    'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
  ].flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  const folder =
    settings?.acquirerCertificatesDir ??
    (settings && join(settings.dataDir, 'acquirer-certificates'));
  const acquirers = folder === undefined ? [] : globSync('**/*.crt', { cwd: folder });
  return [
    ...settingFiles.map(([name, file]) => ({
      name,
      file,
      advice: 'Replace the file, and restart the processes one after another.',
    })),
    ...acquirers.map((name) => ({
      name,
      file: join(folder ?? '', name),
      advice: 'Replace the file. Its links load it within ten seconds.',
    })),
  ];
}

function checkCertificates(
  env: EnvironmentVariables,
  settings: Settings | undefined,
  clock: Clock,
): readonly CheckResult[] {
  const files = certificateFiles(env, settings);
  if (files.length === 0) return [skipped('no setting names a certificate')];
  return files.map((file) => checkCertificate(file, clock));
}

async function checkDisk(folder: string): Promise<readonly CheckResult[]> {
  // Before the first start.
  if (!existsSync(folder)) return [skipped(`${folder} does not exist yet`)];
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const finding = `this account cannot read and write ${folder} (${(error as NodeJS.ErrnoException).code})`;
    return [attention(finding, 'Give it access: the platform records its last payments there.')];
  }
  const { bavail, blocks, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const text = `${folder} has ${(free / 1024 ** 3).toFixed(1)} GiB free (${Math.round((bavail / blocks) * 100)} %)`;
  const isLow = free < minFreeBytes || bavail / blocks < minFreeShare;
  return [isLow ? attention(text, 'Free space on this disk, or enlarge it.') : ok(text)];
}

export const machineChecks = (
  env: EnvironmentVariables,
  settings: Settings | undefined,
  clock: Clock,
): readonly Check[] => [
  { name: 'certificates', run: () => checkCertificates(env, settings, clock) },
  // From the variable, because a folder without access makes the settings invalid.
  { name: 'disk', run: () => checkDisk(resolve(readDataDirectory(env))) },
];
