// `npm run pack`: writes tarballs of the published packages.
import { runPack } from './pack/run.ts';

process.exitCode = await runPack(process.argv.slice(2), process.stdout, process.stderr);
