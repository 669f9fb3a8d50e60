// `switchyard` in a server installation: it also has the commands that need the platform's database or code.
import { runProcess } from '../../packages/cli/src/run-process.ts';
import { serverCommands } from './server-commands.ts';

await runProcess(process.env, serverCommands);
