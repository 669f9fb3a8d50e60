// `npm run build-portal`: builds the pages of the portal where their sources have changed.

import { BuildFault, buildPortal } from './portal/build.ts';
import { root } from './test-runner/static-checks.ts';

try {
  const printLine = (line: string) => void process.stderr.write(`${line}\n`);
  const isNew = await buildPortal({ root, printLine });
  if (!isNew && process.argv.includes('--tell')) printLine('The portal is built already.');
} catch (error) {
  if (!(error instanceof BuildFault)) throw error;
  process.stderr.write(`switchyard: the portal could not be built: ${error.message}\n`);
  process.exitCode = 1;
}
