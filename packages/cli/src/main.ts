/** Entry point of the command-line client. */
import { runProcess } from './run-process.ts';

await runProcess(process.env);
