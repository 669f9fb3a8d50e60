// Reads the settings, looks whether the ports are free, and starts the platform; nothing else.
import {
  checkPorts,
  readSettings,
  SchemaMismatchError,
  type Settings,
  SettingsFault,
} from './platform/index.ts';

/** EX_CONFIG of sysexits.h: a restart does not help, so systemd does not try one. */
const configurationExitCode = 78;
const faultExitCode = 1;

async function requireFreePorts(settings: Settings): Promise<void> {
  try {
    await checkPorts(settings);
  } catch (error) {
    if (settings.environment !== 'production') {
      // Another copy on this directory is the likelier reason, and easier to mend.
      const { refuseSecondCopy } = await import('./demo/index.ts');
      await refuseSecondCopy(settings.dataDir);
    }
    throw error;
  }
}

try {
  const settings = readSettings(process.env);
  await requireFreePorts(settings);
  // What started this process builds the portal from here on.
  process.send?.('ports-checked');
  process.disconnect?.();
  // The whole platform is loaded once nothing stands against its start.
  const { startPlatform } = await import('./start.ts');
  await startPlatform(settings);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  const needsOperator = error instanceof SettingsFault || error instanceof SchemaMismatchError;
  process.exit(needsOperator ? configurationExitCode : faultExitCode);
}
