// `npm run format`: lets Biome format every file and sort its imports.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root.ts';

const biome = join(repositoryRoot, 'node_modules/@biomejs/biome/bin/biome');
const done = spawnSync(process.execPath, [biome, 'check', '--write', '.'], {
  cwd: repositoryRoot,
  stdio: 'inherit',
});
process.exitCode = done.status ?? 1;
