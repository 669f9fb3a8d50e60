// `npm run ledger`: prints what the acquirer simulator holds on its side of the wire.
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { root } from '../test-runner/static-checks.ts';

const dataDir = resolve(process.env['SWITCHYARD_DATA_DIR'] ?? '.switchyard');
const simulator = join(root, 'packages/simulators/src/acquirer-host/main.ts');
const options = process.argv.slice(2);
const args = [simulator, 'ledger', '--data', join(dataDir, 'acquirer'), ...options];
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
