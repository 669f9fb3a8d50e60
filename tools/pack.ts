// `npm run pack`: tarballs of the packages that are handed to others.
import { runPack } from './pack/run.ts';

process.exitCode = await runPack(process.argv.slice(2), process.stdout, process.stderr);
