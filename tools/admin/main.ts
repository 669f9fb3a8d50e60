// `switchyard` in a server installation: under `admin` it also has the commands that open the platform's database.
import { runProcess } from '../../packages/cli/src/run-process.ts';
import { serverCommands } from './server-commands.ts';

await runProcess(process.env, serverCommands);
