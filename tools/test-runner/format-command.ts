// `npm run format`: lets Biome format every file and sort its imports.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './static-checks.ts';

const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
const done = spawnSync(process.execPath, [biome, 'check', '--write', '.'], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = done.status ?? 1;
