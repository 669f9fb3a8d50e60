// The entry point: reads the settings, checks that the ports are free, and starts the platform.
import { ProblemError } from '@switchyard/contract';
import {
  buildVersion,
  createLog,
  readSettings,
  requireFreePorts,
  SchemaMismatchError,
  type Settings,
  SettingsError,
  settingsTable,
} from './platform/index.ts';

/** EX_CONFIG of sysexits.h, for which systemd is configured not to restart. */
const configurationExitCode = 78;
const faultExitCode = 1;
const levelsWithoutErrors: ReadonlySet<string | undefined> = new Set(['fatal', 'silent']);

async function checkPorts(settings: Settings): Promise<void> {
  try {
    await requireFreePorts(settings);
  } catch (error) {
    if (settings.environment !== 'production') {
      // Another process on the same data directory is the more likely reason.
      const { requireNoRunningDemo } = await import('./demo/index.ts');
      await requireNoRunningDemo(settings.dataDir);
    }
    throw error;
  }
}

/** The demo shows its terminal to a person: there the text on standard error is enough. */
function logStartFault(reason: string, exitCode: number): void {
  const { SWITCHYARD_ENVIRONMENT: environment = 'demo' } = process.env;
  if (environment === 'demo') return;
  if (levelsWithoutErrors.has(process.env['SWITCHYARD_LOG_LEVEL'])) return;
  const { SWITCHYARD_INSTANCE_NAME: instanceName = settingsTable.instanceName.default } =
    process.env;
  const log = createLog({ logLevel: 'error', instanceName });
  log.error({ reason, exitCode }, 'the platform did not start');
}

/** The channel closes when the parent process ends, also by SIGKILL. */
function stopWithParent(): void {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // The channel alone does not keep this process alive.
  process.channel?.unref();
}

/** The code of a process that SIGTERM ended. Linux ignores the signal in the first process of a container without a handler. */
const terminatedExitCode = 143;
const endBeforeStart = () => process.exit(terminatedExitCode);
process.once('SIGTERM', endBeforeStart);

if (process.argv.includes('--version')) {
  const { version, commit } = buildVersion;
  process.stdout.write(`${[version, commit].filter(Boolean).join(' ')}\n`);
  process.exit();
}

try {
  const settings = readSettings(process.env);
  await checkPorts(settings);
  // The parent process builds the portal and the documentation from here on.
  process.send?.('ports-checked');
  // With `node --watch` the channel belongs to Node, which learns from it which files are loaded.
  if (process.env['WATCH_REPORT_DEPENDENCIES'] === undefined) stopWithParent();
  // The platform is imported only after these checks have passed.
  const { startPlatform } = await import('./start.ts');
  process.off('SIGTERM', endBeforeStart);
  await startPlatform(settings, { verbose: process.argv.includes('--verbose') });
} catch (error) {
  // The text of a problem is for clients of the API.
  const fault = error instanceof ProblemError ? (error.cause ?? error) : error;
  const reason = fault instanceof Error ? fault.message : String(fault);
  const needsOperator = error instanceof SettingsError || error instanceof SchemaMismatchError;
  const exitCode = needsOperator ? configurationExitCode : faultExitCode;
  process.stderr.write(`${reason}\n`);
  logStartFault(reason, exitCode);
  process.exit(exitCode);
}
