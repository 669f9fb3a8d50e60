// Builds sites whose sources have changed: `node tools/build-site.ts portal documentation`.

import { repositoryRoot } from './repository-root.ts';
import { BuildFault, buildSite } from './sites/build.ts';
import { sites } from './sites/sites.ts';

const printLine = (line: string) => void process.stderr.write(`${line}\n`);
const options = process.argv.slice(2);
const names = options.filter((option) => !option.startsWith('--'));

async function build(name: string): Promise<void> {
  const site = sites[name];
  if (site === undefined)
    throw new Error(`Unknown site ${name}. Use: ${Object.keys(sites).join(', ')}.`);
  try {
    const isNew = await buildSite(site, { root: repositoryRoot, printLine });
    if (!isNew && options.includes('--report-current'))
      printLine(`The build of ${site.name} is current.`);
  } catch (error) {
    if (!(error instanceof BuildFault)) throw error;
    process.stderr.write(`switchyard: ${site.name} could not be built: ${error.message}\n`);
    process.exitCode = 1;
  }
}

// All locks are taken at the start: the pages of a site that waits for another build are being built too.
await Promise.all(names.map(build));
