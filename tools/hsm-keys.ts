// `npm run hsm-keys`: brings keys into the software HSM by components, and lists them by check values.

import { runHsmKeys } from './hsm-keys/hsm-key-commands.ts';
import { openTerminal } from './hsm-keys/terminal.ts';

process.exitCode = await runHsmKeys(process.argv.slice(2), process.env, openTerminal());
