// Reads the settings and starts the platform; nothing else.
import { readSettings, SchemaMismatchError, SettingsFault } from './platform/index.ts';
import { startPlatform } from './start.ts';

/** EX_CONFIG of sysexits.h: a restart does not help, so systemd does not try one. */
const configurationExitCode = 78;
const faultExitCode = 1;

try {
  await startPlatform(readSettings(process.env));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  const needsOperator = error instanceof SettingsFault || error instanceof SchemaMismatchError;
  process.exit(needsOperator ? configurationExitCode : faultExitCode);
}
