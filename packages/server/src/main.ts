// Reads the settings and starts the platform; nothing else.
import { readSettings, SettingsFault } from './platform/index.ts';
import { startPlatform } from './start.ts';

/** EX_CONFIG of sysexits.h. */
const settingsExitCode = 78;

try {
  await startPlatform(readSettings(process.env));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof SettingsFault ? settingsExitCode : 1);
}
