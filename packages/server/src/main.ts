// The entry point: reads the settings, checks that the ports are free, and starts the platform.
import {
  readSettings,
  requireFreePorts,
  SchemaMismatchError,
  type Settings,
  SettingsError,
} from './platform/index.ts';

/** EX_CONFIG of sysexits.h, for which systemd is configured not to restart. */
const configurationExitCode = 78;
const faultExitCode = 1;

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

try {
  const settings = readSettings(process.env);
  await checkPorts(settings);
  // The parent process builds the portal and the documentation from here on.
  process.send?.('ports-checked');
  // With `node --watch` the channel belongs to Node, which learns from it which files are loaded.
  if (process.env['WATCH_REPORT_DEPENDENCIES'] === undefined) process.disconnect?.();
  // The platform is imported only after these checks have passed.
  const { startPlatform } = await import('./start.ts');
  await startPlatform(settings, { verbose: process.argv.includes('--verbose') });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  const needsOperator = error instanceof SettingsError || error instanceof SchemaMismatchError;
  process.exit(needsOperator ? configurationExitCode : faultExitCode);
}
